//go:build wasip1

package wasm

import (
	"errors"

	"portcullis/internal/abi"
	"portcullis/internal/bindings/portcullis_plugin_agent_tools"
	"portcullis/internal/bindings/portcullis_plugin_checkpoint"
	"portcullis/internal/bindings/portcullis_plugin_client"
	"portcullis/internal/bindings/portcullis_plugin_output"
	"portcullis/internal/bindings/portcullis_plugin_state"
	wit "portcullis/internal/bindings/portcullis_plugin_types"
)

const cancelled = "the call was cancelled"

func refused(denial wit.Denial) error {
	return abi.Refuse(denial.Capability, denial.Target, denial.Remedy)
}

func exhausted(exhaustion wit.Exhaustion) error {
	return abi.Exhaust(exhaustion.Budget, exhaustion.Limit)
}

func outputError(err portcullis_plugin_output.OutputError) error {
	switch err.Tag() {
	case portcullis_plugin_output.OutputErrorClosed:
		return abi.Cancel("nobody reads the output any more")
	case portcullis_plugin_output.OutputErrorExhausted:
		return exhausted(err.Exhausted())
	}
	return abi.Fail(nil, "the content cannot be sent: %s", err.Invalid())
}

func checkpointError(err portcullis_plugin_checkpoint.CheckpointError) error {
	if err.Tag() == portcullis_plugin_checkpoint.CheckpointErrorNotOpened {
		return abi.Fail(nil, "a call must ask for what was saved before it saves")
	}
	return abi.Fail(nil, "a checkpoint has at most %d bytes", err.TooLarge())
}

func clientError(err portcullis_plugin_client.ClientError) error {
	switch err.Tag() {
	case portcullis_plugin_client.ClientErrorUnsupported:
		// Only the name: the host passes it to the client as a requirement of the tool.
		return &abi.Error{Kind: abi.Unsupported, Text: err.Unsupported()}
	case portcullis_plugin_client.ClientErrorDenied:
		return refused(err.Denied())
	case portcullis_plugin_client.ClientErrorInvalid:
		return abi.Fail(nil, "the question cannot be asked: %s", err.Invalid())
	case portcullis_plugin_client.ClientErrorDeclined:
		return abi.Fail(abi.ErrDeclined, "the client's side declined the question: %s", err.Declined())
	case portcullis_plugin_client.ClientErrorNotAnswered:
		return abi.Fail(nil, "the form was not filled in: %s", err.NotAnswered())
	case portcullis_plugin_client.ClientErrorTimeout:
		return abi.Fail(abi.ErrTimeout, "the client did not answer within %d ms", err.Timeout())
	case portcullis_plugin_client.ClientErrorExhausted:
		return exhausted(err.Exhausted())
	case portcullis_plugin_client.ClientErrorCancelled:
		return abi.Cancel(cancelled)
	}
	return abi.Fail(nil, "the client failed to answer: %s", err.Failed())
}

func agentError(err portcullis_plugin_agent_tools.AgentError) error {
	switch err.Tag() {
	case portcullis_plugin_agent_tools.AgentErrorUnknownTool:
		return abi.Fail(abi.ErrUnknownTool, "there is no agent tool `%s`", err.UnknownTool())
	case portcullis_plugin_agent_tools.AgentErrorNotSupported:
		return &abi.Error{Kind: abi.Unsupported, Text: "agent tools are not supported: " + err.NotSupported()}
	case portcullis_plugin_agent_tools.AgentErrorDenied:
		return refused(err.Denied())
	case portcullis_plugin_agent_tools.AgentErrorDeclined:
		return abi.Fail(abi.ErrDeclined, "declined: %s", err.Declined())
	case portcullis_plugin_agent_tools.AgentErrorCycle:
		return abi.Fail(nil, "`%s` is already being called in this chain", err.Cycle())
	case portcullis_plugin_agent_tools.AgentErrorTimeout:
		return abi.Fail(abi.ErrTimeout, "no answer within %d ms", err.Timeout())
	case portcullis_plugin_agent_tools.AgentErrorExhausted:
		return exhausted(err.Exhausted())
	case portcullis_plugin_agent_tools.AgentErrorCancelled:
		return abi.Cancel(cancelled)
	case portcullis_plugin_agent_tools.AgentErrorInvalidArguments:
		return abi.Fail(nil, "invalid arguments: %s", err.InvalidArguments())
	case portcullis_plugin_agent_tools.AgentErrorToolError:
		return abi.Fail(abi.ErrToolFailed, "the agent tool failed: %s", abi.AllText(contentsFrom(err.ToolError().Content)))
	}
	return abi.Fail(nil, "the agent tool broke: %s", err.Failed())
}

func stateError(err portcullis_plugin_state.StateError) error {
	switch err.Tag() {
	case portcullis_plugin_state.StateErrorDenied:
		return refused(err.Denied())
	case portcullis_plugin_state.StateErrorInvalid:
		return abi.Fail(nil, "it cannot be kept or read: %s", err.Invalid())
	case portcullis_plugin_state.StateErrorExhausted:
		return exhausted(err.Exhausted())
	case portcullis_plugin_state.StateErrorConflict:
		return abi.Fail(abi.ErrConflict, "%v", abi.ErrConflict)
	}
	return abi.Fail(nil, "nothing is kept: %s", err.Failed())
}

// ToolError converts a tool's error for the host.
func ToolError(err error) wit.ToolError {
	var known *abi.Error
	if !errors.As(err, &known) {
		return wit.MakeToolErrorFailed(err.Error())
	}
	switch known.Kind {
	case abi.InvalidArguments:
		return wit.MakeToolErrorInvalidArguments(known.Text)
	case abi.Cancelled:
		return wit.MakeToolErrorCancelled()
	case abi.Denied:
		return wit.MakeToolErrorDenied(wit.Denial{Capability: known.Capability, Target: known.Target, Remedy: known.Remedy})
	case abi.Exhausted:
		return wit.MakeToolErrorExhausted(wit.Exhaustion{Budget: known.Budget, Limit: known.Limit})
	case abi.Unsupported:
		return wit.MakeToolErrorUnsupported(known.Text)
	}
	// With what a tool has put around it.
	return wit.MakeToolErrorFailed(err.Error())
}
