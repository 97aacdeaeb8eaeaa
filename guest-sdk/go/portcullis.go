// Package portcullis is for plugins of Portcullis, in Go. A plugin registers its tools, resources and prompts when it is
// initialised:
//
//	func init() {
//		portcullis.Tool("greet", "Greets somebody.", greet, portcullis.ReadOnly)
//	}
//
//	type greeting struct {
//		Name string `json:"name" doc:"Whom to greet." min:"1" max:"40"`
//	}
//
//	func greet(ctx context.Context, greeting greeting) (string, error) {
//		return "Hello, " + greeting.Name + "!", nil
//	}
//
//	func main() {}
//
// Each call has an instance of its own: nothing in memory survives it. Tests use the package portcullistest.
package portcullis

import (
	"context"

	"portcullis/internal/abi"
)

// The types that the SDK and hosts have in common.
type (
	Role          = abi.Role
	Content       = abi.Content
	Result        = abi.Result
	CallInfo      = abi.Call
	Message       = abi.Message
	Error         = abi.Error
	Execution     = abi.Execution
	SampleRequest = abi.Sample
	SampleAnswer  = abi.Sampled
	SampleTurn    = abi.SampleTurn
	SamplePart    = abi.SamplePart
	SampleTool    = abi.SampleTool
	ToolUse       = abi.ToolUse
	Abilities     = abi.Abilities
	Consent       = abi.Answer
	Root          = abi.Root
	CallOptions   = abi.CallOptions
	AgentTool     = abi.AgentTool
	AgentOutcome  = abi.AgentOutcome
	Publication   = abi.Publication
	Published     = abi.PublishedPrompt
	Effect        = abi.Effect
	NamedCall     = abi.NamedCall
	Verdict       = abi.Verdict
	AgentResult   = abi.AgentResult
	Entry         = abi.Entry
	Header        = abi.Header
	Request       = abi.Request
	Response      = abi.Response
	Received      = abi.Received
)

// Roles, executions, what may come of waiting for a message, answers of a user, and whether a model uses tools.
const (
	User       = abi.User
	Assistant  = abi.Assistant
	Inline     = abi.Inline
	MayRunLong = abi.MayRunLong
	TaskOnly   = abi.TaskOnly
	GotMessage = abi.GotMessage
	Ended      = abi.Ended
	TimedOut   = abi.TimedOut

	Accepted = abi.Accepted
	Declined = abi.Declined
	Closed   = abi.Closed

	ToolsAuto     = abi.ToolsAuto
	ToolsRequired = abi.ToolsRequired
	ToolsNone     = abi.ToolsNone
)

// What errors.Is finds in errors of the host.
var (
	ErrConflict    = abi.ErrConflict
	ErrTimeout     = abi.ErrTimeout
	ErrDeclined    = abi.ErrDeclined
	ErrToolFailed  = abi.ErrToolFailed
	ErrUnknownTool = abi.ErrUnknownTool
	ErrStatus      = abi.ErrStatus
	// ErrNotConnected calls for Connect.
	ErrNotConnected = abi.ErrNotConnected
	ErrNotPublished = abi.ErrNotPublished
	// ErrNotFound is what the function of a resource returns if there is none.
	ErrNotFound = abi.NotFound
)

// Invalid makes an error about arguments that match the schema but are not valid: which and why.
func Invalid(why string) error { return &Error{Kind: abi.InvalidArguments, Text: why} }

// Unsupported makes an error about something that this host or client does not offer: its name.
func Unsupported(what string) error { return &Error{Kind: abi.Unsupported, Text: what} }

// Denied makes an error about authority that was not granted, such as `filesystem` and a path.
func Denied(capability, target string) error { return abi.Refuse(capability, target, "") }

// Text makes a text.
func Text(text string) Content { return Content{Kind: abi.TextContent, Text: text} }

// Image makes an image, such as `image/png`.
func Image(mimeType string, data []byte) Content {
	return Content{Kind: abi.ImageContent, MimeType: mimeType, Data: data}
}

// Audio makes a sound, such as `audio/wav`.
func Audio(mimeType string, data []byte) Content {
	return Content{Kind: abi.AudioContent, MimeType: mimeType, Data: data}
}

// Link makes a link to a resource that the client may read.
func Link(uri, name string) Content { return Content{Kind: abi.LinkContent, URI: uri, Name: name} }

// ResourceText makes a resource with a text in place.
func ResourceText(uri, mimeType, text string) Content {
	return Content{Kind: abi.ResourceContent, URI: uri, MimeType: mimeType, Text: text}
}

// ResourceBytes makes a resource with bytes in place.
func ResourceBytes(uri, mimeType string, data []byte) Content {
	return Content{Kind: abi.ResourceContent, URI: uri, MimeType: mimeType, Data: data, IsBytes: true}
}

// Failure makes a result that reports a failure by content, which tells the model what went wrong.
func Failure(content ...Content) Result { return Result{Content: content, IsError: true} }

type key uint8

const (
	hostKey key = iota
	infoKey
	cancelKey
)

// hostOf is the host of a call: that of the context, or of the call that runs.
func hostOf(ctx context.Context) abi.Host {
	if host, has := ctx.Value(hostKey).(abi.Host); has {
		return host
	}
	if host := abi.Running(); host != nil {
		return host
	}
	panic("portcullis: there is no host; tests call tools by the package portcullistest, and tools whose tests run at once pass on their context")
}

// WithHost is for the package portcullistest.
func WithHost(ctx context.Context, host abi.Host) context.Context {
	return context.WithValue(ctx, hostKey, host)
}

// Call is what the call of this context is told of itself.
func Call(ctx context.Context) CallInfo {
	info, _ := ctx.Value(infoKey).(CallInfo)
	return info
}

// during makes the context of a call. It is cancelled when the call is, as soon as the plugin can notice: when it sends or asks
// something.
func during(ctx context.Context, call abi.Call) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, infoKey, call))
	return context.WithValue(ctx, cancelKey, cancel), cancel
}

// noticed cancels the context if an error says that the call is cancelled.
func noticed(ctx context.Context, err error) error {
	if err, is := err.(*Error); is && err.Kind == abi.Cancelled {
		if cancel, has := ctx.Value(cancelKey).(context.CancelFunc); has {
			cancel()
		}
	}
	return err
}
