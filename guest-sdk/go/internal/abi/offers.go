package abi

// Reference is what an argument belongs to: the name of a prompt, or the pattern of a template.
type Reference struct {
	Prompt, Template string
}

// Effect is an effect of a call of which nobody knows whether it has happened: a request, a call of an agent's tool, or, if it is
// neither, something else.
type Effect struct {
	// Step is its number, Name such as `http.handle`.
	Step, Name string
	Request    *Request
	AgentTool  *NamedCall
}

// NamedCall is a tool of the agent and its arguments as JSON.
type NamedCall struct {
	Name, Arguments string
}

// Verdict is what has become of an effect in doubt.
type Verdict struct {
	// NotDone lets the host do it now. Without it and without an answer, nobody knows.
	NotDone bool
	// Response or Result is the answer with which the call goes on, if it has happened.
	Response *Response
	Result   *Result
}

// Publication is a resource of the call's user, which stays for a day, or until the host restarts.
type Publication struct {
	// Path has segments of `[A-Za-z0-9._-]` with `/` between them.
	Path string
	// Text is its body, or else Data.
	Text string
	Data []byte
	// IsBytes says that the body is Data.
	IsBytes                      bool
	Title, Description, MimeType string
	Audience                     []Role
	Priority                     *float64
	// TTLMS of 0 is a day, in milliseconds.
	TTLMS uint64
}

// PublishedPrompt is a prompt of the call's user. In its messages, which are texts, `{{name}}` becomes the value of an argument.
type PublishedPrompt struct {
	Name, Title, Description string
	Arguments                []string
	Messages                 []Message
	// TTLMS of 0 is a day, in milliseconds.
	TTLMS uint64
}
