// Package abi has what the SDK and its two hosts, the real one and that of tests, have in common.
package abi

import "strings"

// Role is who a piece of content is for, or who says it.
type Role uint8

// User and Assistant are the roles.
const (
	User Role = iota
	Assistant
)

// ContentKind is the kind of a piece of content.
type ContentKind uint8

// The kinds of content, in the order of the WIT.
const (
	TextContent ContentKind = iota
	ImageContent
	AudioContent
	LinkContent
	ResourceContent
)

// Content is a piece of content. Make one with Text, Image and the like, and set what else it has.
type Content struct {
	Kind ContentKind
	// Text is a text, or a resource's.
	Text string
	// Data is an image, a sound, or a resource's bytes.
	Data []byte
	// IsBytes says that a resource has Data instead of Text.
	IsBytes     bool
	MimeType    string
	URI         string
	Name        string
	Title       string
	Description string
	// Size of what a link leads to, in bytes; 0 if unknown.
	Size uint64
	// Audience is whom the content is for; nobody means both.
	Audience []Role
	// Priority is from 0 to 1; nil if it has none.
	Priority *float64
	// LastModified is a time of RFC 3339, if it is known.
	LastModified string
}

// Execution says how long calls of a tool usually take.
type Execution uint8

// The kinds of execution.
const (
	Inline Execution = iota
	MayRunLong
	TaskOnly
)

// Tool is the definition of a tool.
type Tool struct {
	Name, Title, Description                     string
	InputSchema, OutputSchema                    string
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
	Execution                                    Execution
}

// Call is what a call is told of itself. Texts are empty if there are none.
type Call struct {
	ID, Principal                              string
	CorrelationID, IdempotencyKey, Traceparent string
	// DeadlineMS is the time from the start of the call until it is stopped, in milliseconds.
	DeadlineMS uint64
}

// Result is what a tool returns.
type Result struct {
	Content []Content
	// Structured is JSON, if there is any.
	Structured string
	IsError    bool
}

// Resource is the definition of a resource, or of a pattern of them.
type Resource struct {
	URI, Name, Title, Description, MimeType string
}

// Prompt is the definition of a prompt.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
}

// Message is a message of a prompt.
type Message struct {
	Role    Role
	Content Content
}

// Guest is what the plugin offers.
type Guest interface {
	Tools() []Tool
	CallTool(call Call, name, arguments string) (Result, error)
	Resources(patterns bool) []Resource
	Read(call Call, uri string) ([]Content, error)
	Prompts() []Prompt
	Get(call Call, name string, arguments map[string]string) ([]Message, error)
	Complete(call Call, of Reference, argument, value string, others map[string]string) ([]string, error)
	Reconcile(call Call, tool, arguments string, effect Effect) Verdict
}

// TheGuest is the plugin of this component.
var TheGuest Guest

// Renew is there in a component that begins with the memory of its build: it renews what must differ between instances.
var Renew func()

// Entered is the plugin, for an export that is called.
func Entered() Guest {
	if Renew != nil {
		Renew()
		Renew = nil
	}
	return TheGuest
}

// CallOptions are options of a call of an agent's tool.
type CallOptions struct {
	// TimeoutMS of 0 is as long as the call may take.
	TimeoutMS uint64
	Purpose   string
	// Chunks forwards the tool's chunks as chunks of this call.
	Chunks bool
}

// AgentCall is a call of an agent's tool, with an object of arguments as JSON.
type AgentCall struct {
	Name, Arguments string
	Options         CallOptions
}

// AgentOutcome is what came of one of several calls.
type AgentOutcome struct {
	Result AgentResult
	Err    error
}

// AgentTool is a tool of the agent's side that can be called now. Without a structured result, its output schema is empty.
type AgentTool struct {
	Name, Title, Description, InputSchema, OutputSchema string
}

// AgentResult is the answer of an agent's tool. It is untrusted.
type AgentResult struct {
	Content []Content
	// Structured is JSON, if there is any.
	Structured string
	// Private answers must not be passed on.
	Private bool
	// Edited are the arguments that the tool ran with, if they were changed.
	Edited string
}

// Entry is a kept value.
type Entry struct {
	Value   []byte
	Version uint64
}

// Header is a header of HTTP.
type Header struct {
	Name, Value string
}

// Request is a request to another server.
type Request struct {
	// Method is GET if it is empty, or POST if there is a body.
	Method  string
	URL     string
	Headers []Header
	Body    []byte
	// TimeoutMS of 0 is the time of the grant.
	TimeoutMS uint64
	// MaxBody is how much of the answer is read; 0 means 4 MiB.
	MaxBody int
}

// Response is the answer of another server, with any status.
type Response struct {
	Status  int
	Headers []Header
	Body    []byte
	// Truncated says that the body was cut at MaxBody.
	Truncated bool
}

// Received is what came of waiting for a message.
type Received uint8

// What may come of waiting.
const (
	GotMessage Received = iota
	Ended
	TimedOut
)

// Host is what a tool may use while it runs. Errors are of the type Error.
type Host interface {
	Emit(content []Content) (uint64, error)
	// Progress has a total of 0 if it is unknown.
	Progress(done, total float64, message string)
	Log(level uint8, message string)
	FuelLeft() (uint64, bool)
	DeadlineLeft() uint64
	NextMessage() (string, bool)
	// Receive waits without a limit if there is no timeout.
	Receive(timeoutMS *uint64) (string, Received)
	Restored() ([]byte, bool)
	Save(state []byte) error
	Supported() Abilities
	Ask(question Question) (Answered, error)
	// AskMany fails as a whole.
	AskMany(questions []Question) ([]Answered, error)
	CallTool(call AgentCall) (AgentResult, error)
	// CallTools has an outcome for each call.
	CallTools(calls []AgentCall) []AgentOutcome
	ListTools() []AgentTool
	StateGet(key string) (*Entry, error)
	StateSet(key string, value []byte) (uint64, error)
	// StateSwap wants that there is no value if there is no version.
	StateSwap(key string, version *uint64, value []byte) (uint64, error)
	StateRemove(key string) (bool, error)
	StateKeys(prefix, after string) ([]string, error)
	Send(request Request) (Response, error)
	Connected(connection string) (bool, error)
	SendAs(connection string, request Request) (Response, error)
	Publish(publication Publication) (string, error)
	Append(publication Publication) (string, error)
	Unpublish(path string) error
	PublishPrompt(prompt PublishedPrompt) error
	UnpublishPrompt(name string) error
	SendEvent(name, payload, once string) (bool, error)
}

// Running is the host of what has no context of a call: that of this component; in tests that of the call that runs, or nil.
var Running = func() Host { return nil }

// AllText is the texts of some content, a line each.
func AllText(content []Content) string {
	var texts []string
	for _, piece := range content {
		if piece.Kind == TextContent {
			texts = append(texts, piece.Text)
		}
	}
	return strings.Join(texts, "\n")
}
