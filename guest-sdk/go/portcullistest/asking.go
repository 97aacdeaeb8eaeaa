package portcullistest

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"portcullis/internal/abi"
)

// Supported is for tools.
func (h *Host) Supported() abi.Abilities {
	asked, sampled := len(h.answers) > 0, len(h.samples) > 0
	return abi.Abilities{Form: asked, URL: asked, Sample: sampled, SampleTools: sampled, Roots: h.Roots != nil}
}

// Ask is for tools.
func (h *Host) Ask(question abi.Question) (abi.Answered, error) {
	if err := h.refused("client", question.Key); err != nil {
		return abi.Answered{Answer: abi.Closed}, err
	}
	asked := Asked{Key: question.Key, Sample: question.Sample}
	switch {
	case question.Sample != nil:
		asked.Message = question.Sample.Message
		h.Asked = append(h.Asked, asked)
		if len(h.samples) == 0 {
			return abi.Answered{}, &abi.Error{Kind: abi.Unsupported, Text: "sampling"}
		}
		next := h.samples[0]
		h.samples = h.samples[1:]
		return abi.Answered{Sampled: next}, nil
	case question.Form != nil:
		asked.Message, asked.Schema = question.Form.Message, question.Form.Schema
		return h.answer(asked, "elicitation.form")
	case question.Page != nil:
		asked.Message, asked.URL, asked.Connection = question.Page.Message, question.Page.URL, question.Page.Connection
		return h.answer(asked, "elicitation.url")
	}
	h.Asked = append(h.Asked, asked)
	if h.Roots == nil {
		return abi.Answered{}, &abi.Error{Kind: abi.Unsupported, Text: "roots"}
	}
	return abi.Answered{Roots: h.Roots}, nil
}

func (h *Host) answer(asked Asked, ability string) (abi.Answered, error) {
	h.Asked = append(h.Asked, asked)
	if len(h.answers) == 0 {
		return abi.Answered{Answer: abi.Closed}, &abi.Error{Kind: abi.Unsupported, Text: ability}
	}
	next := h.answers[0]
	h.answers = h.answers[1:]
	return abi.Answered{Answer: next.answer, Filled: next.filled}, nil
}

// AskMany is for tools.
func (h *Host) AskMany(questions []abi.Question) ([]abi.Answered, error) {
	var answers []abi.Answered
	for _, question := range questions {
		if question.Key == "" {
			return nil, abi.Fail(nil, "the question cannot be asked: each of several needs a key")
		}
		answer, err := h.Ask(question)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// CallTool is for tools.
func (h *Host) CallTool(call abi.AgentCall) (abi.AgentResult, error) {
	h.Called = append(h.Called, Called{call.Name, call.Arguments, call.Options})
	if err := h.refused("agent-tools", call.Name); err != nil {
		return abi.AgentResult{}, err
	}
	tool, granted := h.AgentTools[call.Name]
	if !granted {
		return abi.AgentResult{}, abi.Refuse("agent-tools", call.Name, "")
	}
	returned, err := tool(json.RawMessage(call.Arguments))
	if err != nil {
		return abi.AgentResult{}, agentError(err)
	}
	if text, is := returned.(string); is {
		return abi.AgentResult{Content: []abi.Content{{Text: text}}}, nil
	}
	structured, err := json.Marshal(returned)
	return abi.AgentResult{Structured: string(structured)}, err
}

// agentError keeps what an author says by an error of the SDK; anything else is a failure of the tool.
func agentError(err error) error {
	var own *abi.Error
	if errors.As(err, &own) {
		return own
	}
	for _, cause := range []error{abi.ErrTimeout, abi.ErrDeclined, abi.ErrUnknownTool} {
		if errors.Is(err, cause) {
			return abi.Fail(cause, "%v", err)
		}
	}
	return abi.Fail(abi.ErrToolFailed, "the agent tool failed: %v", err)
}

// CallTools is for tools.
func (h *Host) CallTools(calls []abi.AgentCall) []abi.AgentOutcome {
	outcomes := make([]abi.AgentOutcome, len(calls))
	for i, call := range calls {
		outcomes[i].Result, outcomes[i].Err = h.CallTool(call)
	}
	return outcomes
}

// ListTools is for tools.
func (h *Host) ListTools() []abi.AgentTool {
	var tools []abi.AgentTool
	for _, name := range slices.Sorted(maps.Keys(h.AgentTools)) {
		tools = append(tools, abi.AgentTool{Name: name, InputSchema: "{}"})
	}
	return tools
}
