//go:build wasip1

package wasm

import (
	"portcullis/internal/abi"
	"portcullis/internal/bindings/portcullis_plugin_agent_tools"
)

func optionsOf(options abi.CallOptions) portcullis_plugin_agent_tools.CallOptions {
	return portcullis_plugin_agent_tools.CallOptions{
		TimeoutMs: unless(options.TimeoutMS, 0),
		Purpose:   Maybe(options.Purpose),
		Chunks:    options.Chunks,
	}
}

func resultFrom(result portcullis_plugin_agent_tools.AgentResult) abi.AgentResult {
	return abi.AgentResult{
		Content:    contentsFrom(result.Content),
		Structured: result.Structured.SomeOr(""),
		Private:    result.Private,
		Edited:     result.Edited.SomeOr(""),
	}
}

func (host) CallTool(call abi.AgentCall) (abi.AgentResult, error) {
	called := portcullis_plugin_agent_tools.Call(call.Name, call.Arguments, optionsOf(call.Options))
	if called.IsErr() {
		return abi.AgentResult{}, agentError(called.Err())
	}
	return resultFrom(called.Ok()), nil
}

func (host) CallTools(calls []abi.AgentCall) []abi.AgentOutcome {
	all := make([]portcullis_plugin_agent_tools.AgentCall, len(calls))
	for i, call := range calls {
		all[i] = portcullis_plugin_agent_tools.AgentCall{Name: call.Name, Arguments: call.Arguments, Options: optionsOf(call.Options)}
	}
	called := portcullis_plugin_agent_tools.CallMany(all)
	outcomes := make([]abi.AgentOutcome, len(calls))
	for i := range outcomes {
		switch {
		case i >= len(called):
			outcomes[i].Err = abi.Cancel(cancelled)
		case called[i].IsErr():
			outcomes[i].Err = agentError(called[i].Err())
		default:
			outcomes[i].Result = resultFrom(called[i].Ok())
		}
	}
	return outcomes
}

func (host) ListTools() []abi.AgentTool {
	var tools []abi.AgentTool
	for _, tool := range portcullis_plugin_agent_tools.ListTools() {
		tools = append(tools, abi.AgentTool{
			Name:         tool.Name,
			Title:        tool.Title.SomeOr(""),
			Description:  tool.Description,
			InputSchema:  tool.InputSchema,
			OutputSchema: tool.OutputSchema.SomeOr(""),
		})
	}
	return tools
}
