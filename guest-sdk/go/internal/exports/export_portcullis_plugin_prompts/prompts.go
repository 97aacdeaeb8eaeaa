//go:build wasip1

// Package export_portcullis_plugin_prompts is what the generated bindings call for the interface `prompts`.
package export_portcullis_plugin_prompts

import (
	"portcullis/internal/abi"
	prompts "portcullis/internal/bindings/portcullis_plugin_prompts"
	wit "portcullis/internal/bindings/portcullis_plugin_types"
	"portcullis/internal/wasm"

	witTypes "portcullis/internal/wit/types"
)

// ListPrompts lists the plugin's prompts.
func ListPrompts() []prompts.Prompt {
	var list []prompts.Prompt
	for _, prompt := range abi.Entered().Prompts() {
		var arguments []prompts.PromptArgument
		for _, argument := range prompt.Arguments {
			arguments = append(arguments, prompts.PromptArgument{
				Name:        argument.Name,
				Title:       wasm.Maybe(argument.Title),
				Description: wasm.Maybe(argument.Description),
				Required:    argument.Required,
			})
		}
		list = append(list, prompts.Prompt{
			Name:        prompt.Name,
			Title:       wasm.Maybe(prompt.Title),
			Description: wasm.Maybe(prompt.Description),
			Arguments:   arguments,
		})
	}
	return list
}

// GetPrompt gets a prompt.
func GetPrompt(call wit.CallContext, name string, arguments []witTypes.Tuple2[string, string]) witTypes.Result[prompts.PromptResult, wit.ToolError] {
	given := make(map[string]string, len(arguments))
	for _, argument := range arguments {
		given[argument.F0] = argument.F1
	}
	said, err := abi.Entered().Get(wasm.CallFrom(call), name, given)
	if err != nil {
		return witTypes.Err[prompts.PromptResult](wasm.ToolError(err))
	}
	result := prompts.PromptResult{Description: witTypes.None[string]()}
	for _, message := range said {
		result.Messages = append(result.Messages, prompts.PromptMessage{Role: wit.Role(message.Role), Content: wasm.ContentOf(message.Content)})
	}
	return witTypes.Ok[prompts.PromptResult, wit.ToolError](result)
}
