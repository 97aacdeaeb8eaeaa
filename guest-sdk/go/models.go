package portcullis

import (
	"reflect"

	"portcullis/internal/abi"
)

// ModelTool is a tool that a model may ask for, for SampleRequest.Tools. A is a struct, as that of Tool. The plugin runs it: for
// each of the answer's Uses it adds an outcome to the conversation.
//
//	for _, use := range answer.Uses {
//		asked, err := portcullis.ArgumentsOf[lookup](use)
//		...
//		outcomes.Parts = append(outcomes.Parts, portcullis.Succeeded(use, portcullis.Text(found)))
//	}
//	request.Turns = append(request.All(), answer.Turn, outcomes)
func ModelTool[A any](name, about string) SampleTool {
	schema := structSchema(reflect.TypeFor[A](), forInput, nil)
	return SampleTool{Name: name, Description: about, InputSchema: schema.String()}
}

// ArgumentsOf reads the arguments that a model chose. Models make mistakes.
func ArgumentsOf[A any](use ToolUse) (A, error) {
	var arguments A
	if err := read([]byte(use.Input), reflect.ValueOf(&arguments)); err != nil {
		return arguments, abi.Fail(nil, "the model's arguments of `%s` are not what was expected: %v", use.Name, err)
	}
	return arguments, nil
}

// Succeeded is what came of a tool that the model asked for.
func Succeeded(use ToolUse, content ...Content) SamplePart {
	return SamplePart{Outcome: &abi.ToolOutcome{ID: use.ID, Content: content}}
}

// Failed is that a tool failed which the model asked for, and why.
func Failed(use ToolUse, why string) SamplePart {
	return SamplePart{Outcome: &abi.ToolOutcome{ID: use.ID, Content: []Content{Text(why)}, IsError: true}}
}

// Says makes a turn of texts, images and sounds.
func Says(role Role, content ...Content) SampleTurn {
	turn := SampleTurn{Role: role}
	for _, piece := range content {
		turn.Parts = append(turn.Parts, SamplePart{Content: &piece})
	}
	return turn
}
