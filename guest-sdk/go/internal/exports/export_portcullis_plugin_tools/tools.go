//go:build wasip1

// Package export_portcullis_plugin_tools is what the generated bindings call for the interface `tools`.
package export_portcullis_plugin_tools

import (
	"portcullis/internal/abi"
	wit "portcullis/internal/bindings/portcullis_plugin_types"
	"portcullis/internal/wasm"

	witTypes "portcullis/internal/wit/types"
)

// ListTools lists the plugin's tools.
func ListTools() []wit.Tool {
	var tools []wit.Tool
	for _, tool := range abi.Entered().Tools() {
		tools = append(tools, wit.Tool{
			Name:         tool.Name,
			Title:        wasm.Maybe(tool.Title),
			Description:  tool.Description,
			InputSchema:  tool.InputSchema,
			OutputSchema: wasm.Maybe(tool.OutputSchema),
			Annotations: wit.ToolAnnotations{
				ReadOnly:    wasm.Optional(tool.ReadOnly),
				Destructive: wasm.Optional(tool.Destructive),
				Idempotent:  wasm.Optional(tool.Idempotent),
				OpenWorld:   wasm.Optional(tool.OpenWorld),
			},
			Execution: wit.Execution(tool.Execution),
		})
	}
	return tools
}

// CallTool runs a tool.
func CallTool(call wit.CallContext, name string, arguments string) witTypes.Result[wit.ToolResult, wit.ToolError] {
	result, err := abi.Entered().CallTool(wasm.CallFrom(call), name, arguments)
	if err != nil {
		return witTypes.Err[wit.ToolResult](wasm.ToolError(err))
	}
	return witTypes.Ok[wit.ToolResult, wit.ToolError](wit.ToolResult{
		Content:    wasm.Contents(result.Content),
		Structured: wasm.Maybe(result.Structured),
		IsError:    result.IsError,
	})
}
