package portcullis

import (
	"context"

	"portcullis/internal/abi"
)

// Doubt is an effect of a call of which nobody knows whether it has happened, since the host ended meanwhile.
type Doubt struct {
	Effect
	// Tool is the tool of the call, Arguments its arguments as JSON.
	Tool, Arguments string
}

// Read reads the call's arguments.
func (d Doubt) Read(arguments any) error { return decode([]byte(d.Arguments), arguments) }

// Unknown says that nobody knows: the call ends with an error.
func Unknown() Verdict { return Verdict{} }

// NotDone says that it has not happened, so that the host does it now.
func NotDone() Verdict { return Verdict{NotDone: true} }

// DoneWith says that a request has happened; the call goes on with this answer, of at most 64 KiB.
func DoneWith(response Response) Verdict { return Verdict{Response: &response} }

// DoneWithResult says that the agent's tool has run; the call goes on with this result.
func DoneWithResult(result Result) Verdict { return Verdict{Result: &result} }

// Reconcile registers the function that finds out, once. It runs for at most ten seconds with what the plugin was granted, and can
// neither call tools nor ask the client.
func Reconcile(find func(ctx context.Context, doubt Doubt) Verdict) { registered.reconcile = find }

// Reconcile finds out what has become of an effect.
func (p *plugin) Reconcile(call abi.Call, tool, arguments string, effect abi.Effect) abi.Verdict {
	return p.findOut(context.Background(), call, Doubt{effect, tool, arguments})
}

func (p *plugin) findOut(ctx context.Context, call abi.Call, doubt Doubt) Verdict {
	if p.reconcile == nil {
		return Unknown()
	}
	ctx, cancel := during(ctx, call)
	defer cancel()
	return p.reconcile(ctx, doubt)
}
