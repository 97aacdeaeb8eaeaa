//go:build wasip1

package wasm

import (
	"portcullis/internal/abi"
	client "portcullis/internal/bindings/portcullis_plugin_client"
	wit "portcullis/internal/bindings/portcullis_plugin_types"

	witTypes "portcullis/internal/wit/types"
)

const defaultTokens = 1000

func (host) Supported() abi.Abilities {
	can := client.Supported()
	return abi.Abilities{Form: can.Form, URL: can.Url, Sample: can.Sample, SampleTools: can.SampleTools, Roots: can.Roots}
}

func (host) Ask(question abi.Question) (abi.Answered, error) {
	key := Maybe(question.Key)
	switch {
	case question.Form != nil:
		return answeredFrom(client.ElicitForm(key, formOf(*question.Form)), formFrom)
	case question.Page != nil:
		return answeredFrom(client.ElicitUrl(key, pageOf(*question.Page)), pageFrom)
	case question.Sample != nil:
		return answeredFrom(client.Sample(key, sampleOf(*question.Sample)), sampledFrom)
	}
	return answeredFrom(client.ListRoots(key), rootsFrom)
}

func answeredFrom[T any](answered witTypes.Result[T, client.ClientError], from func(T) abi.Answered) (abi.Answered, error) {
	if answered.IsErr() {
		return abi.Answered{Answer: abi.Closed}, clientError(answered.Err())
	}
	return from(answered.Ok()), nil
}

func (host) AskMany(questions []abi.Question) ([]abi.Answered, error) {
	all := make([]client.KeyedQuestion, len(questions))
	for i, question := range questions {
		asked := client.MakeQuestionRoots()
		switch {
		case question.Form != nil:
			asked = client.MakeQuestionForm(formOf(*question.Form))
		case question.Page != nil:
			asked = client.MakeQuestionUrl(pageOf(*question.Page))
		case question.Sample != nil:
			asked = client.MakeQuestionSample(sampleOf(*question.Sample))
		}
		all[i] = client.KeyedQuestion{Key: question.Key, Question: asked}
	}
	given := client.AskMany(all)
	if given.IsErr() {
		return nil, clientError(given.Err())
	}
	answers := given.Ok()
	answered := make([]abi.Answered, len(questions))
	for i := range answered {
		if i >= len(answers) || answers[i].Tag() != all[i].Question.Tag() {
			return nil, abi.Fail(nil, "the client failed to answer: the host answered another question")
		}
		switch answers[i].Tag() {
		case client.AnswerForm:
			answered[i] = formFrom(answers[i].Form())
		case client.AnswerUrl:
			answered[i] = pageFrom(answers[i].Url())
		case client.AnswerSample:
			answered[i] = sampledFrom(answers[i].Sample())
		default:
			answered[i] = rootsFrom(answers[i].Roots())
		}
	}
	return answered, nil
}

func formOf(form abi.Form) client.Form {
	return client.Form{Message: form.Message, Schema: form.Schema}
}

func pageOf(page abi.Page) client.Url {
	target := client.MakeUrlTargetAddress(page.URL)
	if page.Connection != "" {
		target = client.MakeUrlTargetConnect(page.Connection)
	}
	return client.Url{Message: page.Message, Target: target}
}

func sampleOf(request abi.Sample) client.SampleRequest {
	made := client.SampleRequest{
		SystemPrompt:  Maybe(request.SystemPrompt),
		MaxTokens:     request.MaxTokens,
		Temperature:   Optional(request.Temperature),
		StopSequences: request.StopAt,
		Model: client.ModelPreferences{
			Hints:        request.PreferModels,
			Cost:         Optional(request.Cost),
			Speed:        Optional(request.Speed),
			Intelligence: Optional(request.Intelligence),
		},
		ToolChoice: witTypes.None[client.ToolChoice](),
		Purpose:    Maybe(request.Purpose),
	}
	if request.MaxTokens == 0 {
		made.MaxTokens = defaultTokens
	}
	if request.ToolChoice != abi.ToolsUnset {
		// In the order of the WIT, after none.
		made.ToolChoice = witTypes.Some(client.ToolChoice(request.ToolChoice - 1))
	}
	for _, tool := range request.Tools {
		made.Tools = append(made.Tools, client.SampleTool{Name: tool.Name, Description: Maybe(tool.Description), InputSchema: tool.InputSchema})
	}
	for _, turn := range request.All() {
		message := client.SampleMessage{Role: wit.Role(turn.Role)}
		for _, part := range turn.Parts {
			message.Content = append(message.Content, partOf(part))
		}
		made.Messages = append(made.Messages, message)
	}
	return made
}

func partOf(part abi.SamplePart) client.SampleContent {
	switch {
	case part.Use != nil:
		return client.MakeSampleContentToolUse(client.ToolUse{Id: part.Use.ID, Name: part.Use.Name, Input: part.Use.Input})
	case part.Outcome != nil:
		outcome := client.ToolOutcome{Id: part.Outcome.ID, Content: Contents(part.Outcome.Content), IsError: part.Outcome.IsError}
		outcome.Structured = witTypes.None[string]()
		return client.MakeSampleContentToolResult(outcome)
	case part.Content == nil:
		return client.MakeSampleContentText("")
	}
	blob := wit.Blob{MimeType: part.Content.MimeType, Data: part.Content.Data}
	switch part.Content.Kind {
	case abi.ImageContent:
		return client.MakeSampleContentImage(blob)
	case abi.AudioContent:
		return client.MakeSampleContentAudio(blob)
	}
	return client.MakeSampleContentText(part.Content.Text)
}

func partFrom(part client.SampleContent) abi.SamplePart {
	switch part.Tag() {
	case client.SampleContentText:
		return abi.SamplePart{Content: &abi.Content{Text: part.Text()}}
	case client.SampleContentImage:
		blob := part.Image()
		return abi.SamplePart{Content: &abi.Content{Kind: abi.ImageContent, MimeType: blob.MimeType, Data: blob.Data}}
	case client.SampleContentAudio:
		blob := part.Audio()
		return abi.SamplePart{Content: &abi.Content{Kind: abi.AudioContent, MimeType: blob.MimeType, Data: blob.Data}}
	case client.SampleContentToolUse:
		use := part.ToolUse()
		return abi.SamplePart{Use: &abi.ToolUse{ID: use.Id, Name: use.Name, Input: use.Input}}
	}
	outcome := part.ToolResult()
	return abi.SamplePart{Outcome: &abi.ToolOutcome{ID: outcome.Id, Content: contentsFrom(outcome.Content), IsError: outcome.IsError}}
}

func formFrom(answer client.FormAnswer) abi.Answered {
	answered := abi.Answered{Answer: abi.Answer(answer.Tag())}
	if answered.Answer == abi.Accepted {
		answered.Filled = answer.Accepted()
	}
	return answered
}

func pageFrom(consent client.Consent) abi.Answered { return abi.Answered{Answer: abi.Answer(consent)} }

func sampledFrom(answer client.SampleAnswer) abi.Answered {
	turn := abi.SampleTurn{Role: abi.Role(answer.Role)}
	for _, part := range answer.Content {
		turn.Parts = append(turn.Parts, partFrom(part))
	}
	return abi.Answered{Sampled: abi.NewSampled(turn, answer.Model, answer.StopReason.SomeOr(""))}
}

func rootsFrom(roots []client.Root) abi.Answered {
	var answered abi.Answered
	for _, root := range roots {
		answered.Roots = append(answered.Roots, abi.Root{URI: root.Uri, Name: root.Name.SomeOr("")})
	}
	return answered
}
