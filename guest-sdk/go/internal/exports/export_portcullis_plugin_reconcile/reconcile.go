//go:build wasip1

// Package export_portcullis_plugin_reconcile is what the generated bindings call for the interface `reconcile`.
package export_portcullis_plugin_reconcile

import (
	"portcullis/internal/abi"
	reconcile "portcullis/internal/bindings/portcullis_plugin_reconcile"
	wit "portcullis/internal/bindings/portcullis_plugin_types"
	"portcullis/internal/wasm"

	witTypes "portcullis/internal/wit/types"
)

// Reconcile finds out what has become of an effect.
func Reconcile(call wit.CallContext, name, arguments string, inDoubt reconcile.EffectInDoubt) reconcile.Verdict {
	verdict := abi.Entered().Reconcile(wasm.CallFrom(call), name, arguments, effectFrom(inDoubt))
	switch {
	case verdict.NotDone:
		return reconcile.MakeVerdictNotDone()
	// A status that is none says nothing.
	case verdict.Response != nil && verdict.Response.Status >= 100 && verdict.Response.Status < 600 && inDoubt.Effect.Tag() == reconcile.EffectHttp:
		response := reconcile.HttpResponse{Status: uint16(verdict.Response.Status), Body: verdict.Response.Body}
		for _, header := range verdict.Response.Headers {
			response.Headers = append(response.Headers, witTypes.Tuple2[string, []uint8]{F0: header.Name, F1: []byte(header.Value)})
		}
		return reconcile.MakeVerdictDone(reconcile.MakeAnswerHttp(response))
	case verdict.Result != nil && inDoubt.Effect.Tag() == reconcile.EffectAgentTool:
		return reconcile.MakeVerdictDone(reconcile.MakeAnswerAgentTool(wit.ToolResult{
			Content:    wasm.Contents(verdict.Result.Content),
			Structured: wasm.Maybe(verdict.Result.Structured),
			IsError:    verdict.Result.IsError,
		}))
	}
	return reconcile.MakeVerdictUnknown()
}

func effectFrom(inDoubt reconcile.EffectInDoubt) abi.Effect {
	effect := abi.Effect{Step: inDoubt.Step, Name: inDoubt.Name}
	switch inDoubt.Effect.Tag() {
	case reconcile.EffectHttp:
		http := inDoubt.Effect.Http()
		effect.Request = &abi.Request{Method: http.Method, URL: http.Url}
		for _, header := range http.Headers {
			effect.Request.Headers = append(effect.Request.Headers, abi.Header{Name: header.F0, Value: string(header.F1)})
		}
	case reconcile.EffectAgentTool:
		called := inDoubt.Effect.AgentTool()
		effect.AgentTool = &abi.NamedCall{Name: called.Name, Arguments: called.Arguments}
	}
	return effect
}
