//go:build wasip1

package wasm

import (
	"portcullis/internal/abi"
	"portcullis/internal/bindings/portcullis_plugin_agent_tools"
	"portcullis/internal/bindings/portcullis_plugin_checkpoint"
	"portcullis/internal/bindings/portcullis_plugin_client"
	"portcullis/internal/bindings/portcullis_plugin_log"
	"portcullis/internal/bindings/portcullis_plugin_meter"
	"portcullis/internal/bindings/portcullis_plugin_output"
	"portcullis/internal/bindings/portcullis_plugin_progress"
	"portcullis/internal/bindings/portcullis_plugin_state"
	"portcullis/internal/bindings/portcullis_plugin_steering"
	wit "portcullis/internal/bindings/portcullis_plugin_types"

	witTypes "portcullis/internal/wit/types"
)

func init() { abi.TheHost = host{} }

type host struct{}

func (host) Emit(content []abi.Content) (uint64, error) {
	sent := portcullis_plugin_output.Emit(Contents(content))
	if sent.IsErr() {
		return 0, outputError(sent.Err())
	}
	return sent.Ok(), nil
}

func (host) Progress(done, total float64, message string) {
	portcullis_plugin_progress.Report(done, unless(total, 0), Maybe(message))
}

func (host) Log(level uint8, message string) { portcullis_plugin_log.Write(level, message) }

func (host) FuelLeft() (uint64, bool) {
	left := portcullis_plugin_meter.FuelLeft()
	return left.SomeOr(0), left.IsSome()
}

func (host) DeadlineLeft() uint64 { return portcullis_plugin_meter.DeadlineLeft() }

func (host) NextMessage() (string, bool) {
	next := portcullis_plugin_steering.Next()
	return next.SomeOr(""), next.IsSome()
}

func (host) Receive(timeoutMS *uint64) (string, abi.Received) {
	received := portcullis_plugin_steering.Receive(Optional(timeoutMS))
	if received.Tag() == portcullis_plugin_steering.ReceivedMessage {
		return received.Message(), abi.GotMessage
	}
	return "", abi.Received(received.Tag())
}

func (host) Restored() ([]byte, bool) {
	restored := portcullis_plugin_checkpoint.Restored()
	return restored.SomeOr(nil), restored.IsSome()
}

func (host) Save(state []byte) error {
	if saved := portcullis_plugin_checkpoint.Save(state); saved.IsErr() {
		return checkpointError(saved.Err())
	}
	return nil
}

func (host) AskForm(key, message, schema string) (string, abi.Answer, error) {
	answered := portcullis_plugin_client.ElicitForm(Maybe(key), portcullis_plugin_client.Form{Message: message, Schema: schema})
	if answered.IsErr() {
		return "", abi.Closed, clientError(answered.Err())
	}
	answer := answered.Ok()
	if answer.Tag() == portcullis_plugin_client.FormAnswerAccepted {
		return answer.Accepted(), abi.Accepted, nil
	}
	return "", abi.Answer(answer.Tag()), nil
}

const defaultTokens = 1000

func (host) Sample(request abi.Sample) (abi.Sampled, error) {
	if request.MaxTokens == 0 {
		request.MaxTokens = defaultTokens
	}
	words := []portcullis_plugin_client.SampleContent{portcullis_plugin_client.MakeSampleContentText(request.Message)}
	answered := portcullis_plugin_client.Sample(Maybe(request.Key), portcullis_plugin_client.SampleRequest{
		Messages:      []portcullis_plugin_client.SampleMessage{{Role: wit.RoleUser, Content: words}},
		SystemPrompt:  Maybe(request.SystemPrompt),
		MaxTokens:     request.MaxTokens,
		Temperature:   Optional(request.Temperature),
		StopSequences: request.StopAt,
		Model: portcullis_plugin_client.ModelPreferences{
			Hints:        request.PreferModels,
			Cost:         witTypes.None[float64](),
			Speed:        witTypes.None[float64](),
			Intelligence: witTypes.None[float64](),
		},
		ToolChoice: witTypes.None[uint8](),
		Purpose:    Maybe(request.Purpose),
	})
	if answered.IsErr() {
		return abi.Sampled{}, clientError(answered.Err())
	}
	answer := answered.Ok()
	var texts []abi.Content
	for _, piece := range answer.Content {
		if piece.Tag() == portcullis_plugin_client.SampleContentText {
			texts = append(texts, abi.Content{Text: piece.Text()})
		}
	}
	return abi.Sampled{Text: abi.AllText(texts), Model: answer.Model, StopReason: answer.StopReason.SomeOr("")}, nil
}

func (host) CallTool(name, arguments string, options abi.CallOptions) (abi.AgentResult, error) {
	called := portcullis_plugin_agent_tools.Call(name, arguments, portcullis_plugin_agent_tools.CallOptions{
		TimeoutMs: unless(options.TimeoutMS, 0),
		Purpose:   Maybe(options.Purpose),
		Chunks:    options.Chunks,
	})
	if called.IsErr() {
		return abi.AgentResult{}, agentError(called.Err())
	}
	result := called.Ok()
	return abi.AgentResult{
		Content:    contentsFrom(result.Content),
		Structured: result.Structured.SomeOr(""),
		Private:    result.Private,
		Edited:     result.Edited.SomeOr(""),
	}, nil
}

func (host) StateGet(key string) (*abi.Entry, error) {
	got := portcullis_plugin_state.Get(key)
	if got.IsErr() {
		return nil, stateError(got.Err())
	}
	if found := got.Ok(); found.IsSome() {
		return &abi.Entry{Value: found.Some().Value, Version: found.Some().Version}, nil
	}
	return nil, nil
}

func (host) StateSet(key string, value []byte) (uint64, error) {
	return orStateError(portcullis_plugin_state.Set(key, value))
}

func (host) StateSwap(key string, version *uint64, value []byte) (uint64, error) {
	return orStateError(portcullis_plugin_state.Swap(key, Optional(version), value))
}

func (host) StateRemove(key string) (bool, error) {
	return orStateError(portcullis_plugin_state.Remove(key))
}

func (host) StateKeys(prefix, after string) ([]string, error) {
	return orStateError(portcullis_plugin_state.Keys(prefix, Maybe(after)))
}

func orStateError[T any](result witTypes.Result[T, portcullis_plugin_state.StateError]) (T, error) {
	if result.IsErr() {
		var nothing T
		return nothing, stateError(result.Err())
	}
	return result.Ok(), nil
}
