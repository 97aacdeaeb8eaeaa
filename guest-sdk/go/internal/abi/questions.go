package abi

// Answer is what a user did with a form or a page.
type Answer uint8

// The answers of a user.
const (
	Accepted Answer = iota
	Declined
	Closed
)

// Question is a question to the client: one of these, or none for the roots of its workspace.
type Question struct {
	Key    string
	Form   *Form
	Page   *Page
	Sample *Sample
}

// Form is filled in by the user.
type Form struct {
	Message, Schema string
}

// Page is opened by the user, or an account connected there.
type Page struct {
	Message, URL, Connection string
}

// Answered is the answer to a question, of its kind.
type Answered struct {
	// Answer is of a form or page; Filled, if it was accepted, is JSON.
	Answer  Answer
	Filled  string
	Sampled Sampled
	Roots   []Root
}

// Root is a folder or repository that the user works in. Its name may be empty.
type Root struct {
	URI, Name string
}

// ToolChoice says whether a model may, must or must not use tools.
type ToolChoice uint8

// The choices; ToolsUnset leaves it to the client.
const (
	ToolsUnset ToolChoice = iota
	ToolsAuto
	ToolsRequired
	ToolsNone
)

// SampleTool is a tool that a model may ask for; the plugin runs it.
type SampleTool struct {
	Name, Description, InputSchema string
}

// ToolUse is a tool that a model asks for, and the JSON of arguments that it chose. Models make mistakes.
type ToolUse struct {
	ID, Name, Input string
}

// ToolOutcome is what came of a tool that a model asked for.
type ToolOutcome struct {
	ID      string
	Content []Content
	IsError bool
}

// SamplePart is a part of a turn: one of these.
type SamplePart struct {
	// Content is a text, an image or a sound.
	Content *Content
	Use     *ToolUse
	Outcome *ToolOutcome
}

// SampleTurn is what one side says.
type SampleTurn struct {
	Role  Role
	Parts []SamplePart
}

// Sample is a request to the client's model. It has a message or turns.
type Sample struct {
	Key, SystemPrompt, Purpose string
	// Turns are the conversation so far.
	Turns []SampleTurn
	// Message is what the user says after it.
	Message string
	// MaxTokens is at most as many as the operator granted; 0 means 1000.
	MaxTokens    uint32
	Temperature  *float64
	StopAt       []string
	PreferModels []string
	// Cost, Speed and Intelligence say how much each matters, from 0 to 1.
	Cost, Speed, Intelligence *float64
	// Tools are for clients whose models use tools.
	Tools      []SampleTool
	ToolChoice ToolChoice
}

// Sampled is what a model said.
type Sampled struct {
	Text, Model string
	// StopReason is empty if it is not known.
	StopReason string
	// Uses are the tools that the model asks for.
	Uses []ToolUse
	// Turn is all of it, to go on with.
	Turn SampleTurn
}

// NewSampled makes an answer of what the model said.
func NewSampled(turn SampleTurn, model, stopReason string) Sampled {
	sampled := Sampled{Model: model, StopReason: stopReason, Turn: turn}
	var texts []Content
	for _, part := range turn.Parts {
		if part.Content != nil {
			texts = append(texts, *part.Content)
		}
		if part.Use != nil {
			sampled.Uses = append(sampled.Uses, *part.Use)
		}
	}
	sampled.Text = AllText(texts)
	return sampled
}

// All are the turns with the message.
func (s Sample) All() []SampleTurn {
	if s.Message == "" && len(s.Turns) > 0 {
		return s.Turns
	}
	words := Content{Text: s.Message}
	return append(append([]SampleTurn{}, s.Turns...), SampleTurn{Role: User, Parts: []SamplePart{{Content: &words}}})
}

// Abilities are what the client can answer.
type Abilities struct {
	Form, URL, Sample, SampleTools, Roots bool
}
