//go:build wasip1

// Package export_portcullis_plugin_completions is what the generated bindings call for the interface `completions`.
package export_portcullis_plugin_completions

import (
	"portcullis/internal/abi"
	completions "portcullis/internal/bindings/portcullis_plugin_completions"
	wit "portcullis/internal/bindings/portcullis_plugin_types"
	"portcullis/internal/wasm"

	witTypes "portcullis/internal/wit/types"
)

// The most that a client gets.
const most = 100

// Complete suggests values of an argument.
func Complete(call wit.CallContext, reference completions.Reference, argument, value string, others []witTypes.Tuple2[string, string]) witTypes.Result[completions.Completion, wit.ToolError] {
	var of abi.Reference
	if reference.Tag() == completions.ReferencePrompt {
		of.Prompt = reference.Prompt()
	} else {
		of.Template = reference.ResourceTemplate()
	}
	filled := make(map[string]string, len(others))
	for _, other := range others {
		filled[other.F0] = other.F1
	}
	values, err := abi.Entered().Complete(wasm.CallFrom(call), of, argument, value, filled)
	if err != nil {
		return witTypes.Err[completions.Completion](wasm.ToolError(err))
	}
	return witTypes.Ok[completions.Completion, wit.ToolError](completions.Completion{
		Values:  values[:min(most, len(values))],
		Total:   witTypes.Some(uint64(len(values))),
		HasMore: len(values) > most,
	})
}
