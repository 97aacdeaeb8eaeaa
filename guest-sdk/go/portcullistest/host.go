// Package portcullistest calls the tools of a plugin natively, by `go test`, with a host that records what they send and
// answers what they ask.
//
//	host := portcullistest.New()
//	host.Accept(map[string]any{"name": "Ada"})
//	result, err := host.Call("order", nil)
package portcullistest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"portcullis"
	"portcullis/internal/abi"
)

// Report is a report of progress.
type Report struct {
	Done, Total float64
	Message     string
}

// Asked is a question: a form with its schema, a page or an account to connect, or a request to the model; otherwise for the roots.
type Asked struct {
	Key, Message, Schema, URL, Connection string
	Sample                                *portcullis.SampleRequest
}

// Called is a call of an agent's tool.
type Called struct {
	Name, Arguments string
	Options         portcullis.CallOptions
}

// Host is a host of tests. Whatever it was not told of is not supported, not granted or not there; keeping values, publishing and events are
// granted unless Refused names them.
type Host struct {
	// Info is what calls are told of themselves.
	Info portcullis.CallInfo
	// AgentTools has the tools of the agent's side that are granted: what they return is their structured content. Their errors are
	// failures of the tool, unless they are errors of this SDK.
	AgentTools map[string]func(arguments json.RawMessage) (any, error)
	// Web answers requests; without it they are not granted.
	Web func(request portcullis.Request) (portcullis.Response, error)
	// Roots are those of the client's workspace; nil if it cannot say.
	Roots []portcullis.Root
	// Connections answer requests with the accounts that are granted; nil is one that is not connected yet. The URL is path and query.
	Connections map[string]func(request portcullis.Request) (portcullis.Response, error)
	// Messages are those that were sent to the call.
	Messages []string
	// Checkpoint is what was saved last; set it to go on from there.
	Checkpoint []byte
	// Stored is what is kept.
	Stored map[string][]byte
	// Refused are capabilities that are not granted: `state`, `publish`, `events`.
	Refused []string
	// Gone says that the call is cancelled: its output is not read any more, and nothing is answered.
	Gone bool

	// Chunks, Reports, Logged, Asked, Called and Sent are what tools have sent and asked.
	Chunks  [][]portcullis.Content
	Reports []Report
	Logged  []string
	Asked   []Asked
	Called  []Called
	Sent    []portcullis.Request
	// Published, Prompts and Events are what tools have left behind; Events are `name payload`.
	Published map[string]portcullis.Publication
	Prompts   map[string]portcullis.Published
	Events    []string

	answers  []formAnswer
	samples  []portcullis.SampleAnswer
	restored bool
	once     map[string]bool
	versions map[string]uint64
	version  uint64
}

type formAnswer struct {
	answer abi.Answer
	filled string
}

// New makes a host on which everything is kept in memory, and nobody answers yet.
func New() *Host {
	return &Host{
		Info:      portcullis.CallInfo{ID: "test", Principal: "local", DeadlineMS: 30_000},
		Stored:    map[string][]byte{},
		Published: map[string]portcullis.Publication{},
		Prompts:   map[string]portcullis.Published{},
		versions:  map[string]uint64{},
		once:      map[string]bool{},
	}
}

// Accept is the user's next answer: the form filled in.
func (h *Host) Accept(filled any) {
	text, err := json.Marshal(filled)
	if err != nil {
		panic(err)
	}
	h.answers = append(h.answers, formAnswer{abi.Accepted, string(text)})
}

// Decline is the user's next answer: no.
func (h *Host) Decline() { h.answers = append(h.answers, formAnswer{answer: abi.Declined}) }

// Close is the user's next answer: the form closed.
func (h *Host) Close() { h.answers = append(h.answers, formAnswer{answer: abi.Closed}) }

// Say is the model's next answer.
func (h *Host) Say(text string) {
	h.samples = append(h.samples, abi.NewSampled(portcullis.Says(portcullis.Assistant, portcullis.Text(text)), "test", "endTurn"))
}

// Use is the model's next answer: it asks for tools.
func (h *Host) Use(uses ...portcullis.ToolUse) {
	turn := portcullis.SampleTurn{Role: portcullis.Assistant}
	for _, use := range uses {
		turn.Parts = append(turn.Parts, portcullis.SamplePart{Use: &use})
	}
	h.samples = append(h.samples, abi.NewSampled(turn, "test", "toolUse"))
}

// begin makes the context of a call, which runs until its end.
func (h *Host) begin() (ctx context.Context, end func()) {
	running.begin(h)
	return portcullis.WithHost(context.Background(), h), func() { running.end(h) }
}

// Call calls a tool with arguments that are written as JSON; nil are none. The host of a real call has checked them against the
// schema of the tool.
func (h *Host) Call(tool string, arguments any) (portcullis.Result, error) {
	if arguments == nil {
		arguments = portcullis.Nothing{}
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return portcullis.Result{}, err
	}
	ctx, end := h.begin()
	defer end()
	return portcullis.Calls{}.Tool(ctx, h.Info, tool, string(text))
}

// Read reads a resource.
func (h *Host) Read(uri string) ([]portcullis.Content, error) {
	ctx, end := h.begin()
	defer end()
	return portcullis.Calls{}.Read(ctx, h.Info, uri)
}

// Get gets a prompt.
func (h *Host) Get(prompt string, arguments map[string]string) ([]portcullis.Message, error) {
	ctx, end := h.begin()
	defer end()
	return portcullis.Calls{}.Get(ctx, h.Info, prompt, arguments)
}

// Complete suggests values of an argument of a prompt; `others` are filled in already.
func (h *Host) Complete(prompt, argument, value string, others map[string]string) ([]string, error) {
	ctx, end := h.begin()
	defer end()
	return portcullis.Calls{}.Complete(ctx, h.Info, prompt, "", argument, portcullis.Typed{Value: value, Others: others})
}

// CompleteTemplate suggests values of a variable of a template.
func (h *Host) CompleteTemplate(pattern, variable, value string) ([]string, error) {
	ctx, end := h.begin()
	defer end()
	return portcullis.Calls{}.Complete(ctx, h.Info, "", pattern, variable, portcullis.Typed{Value: value})
}

// Reconcile asks what has become of an effect of a call.
func (h *Host) Reconcile(doubt portcullis.Doubt) portcullis.Verdict {
	ctx, end := h.begin()
	defer end()
	return portcullis.Calls{}.Reconcile(ctx, h.Info, doubt)
}

// ChunkTexts are the texts of all chunks, each chunk's joined.
func (h *Host) ChunkTexts() []string {
	var texts []string
	for _, chunk := range h.Chunks {
		texts = append(texts, portcullis.AllText(chunk))
	}
	return texts
}

// Emit is for tools.
func (h *Host) Emit(content []abi.Content) (uint64, error) {
	if h.Gone {
		return 0, abi.Cancel("nobody reads the output any more")
	}
	h.Chunks = append(h.Chunks, content)
	return uint64(len(h.Chunks) - 1), nil
}

// Progress is for tools.
func (h *Host) Progress(done, total float64, message string) {
	h.Reports = append(h.Reports, Report{done, total, message})
}

// Log is for tools.
func (h *Host) Log(_ uint8, message string) { h.Logged = append(h.Logged, message) }

// FuelLeft is for tools.
func (h *Host) FuelLeft() (uint64, bool) { return 1_000_000, true }

// DeadlineLeft is for tools.
func (h *Host) DeadlineLeft() uint64 { return h.Info.DeadlineMS }

// NextMessage is for tools.
func (h *Host) NextMessage() (string, bool) {
	if len(h.Messages) == 0 {
		return "", false
	}
	next := h.Messages[0]
	h.Messages = h.Messages[1:]
	return next, true
}

// Receive is for tools.
func (h *Host) Receive(timeoutMS *uint64) (string, abi.Received) {
	if next, has := h.NextMessage(); has {
		return next, abi.GotMessage
	}
	if timeoutMS != nil {
		return "", abi.TimedOut
	}
	return "", abi.Ended
}

// Restored is for tools.
func (h *Host) Restored() ([]byte, bool) {
	h.restored = true
	return h.Checkpoint, h.Checkpoint != nil
}

// Save is for tools.
func (h *Host) Save(state []byte) error {
	const most = 256 << 10
	if !h.restored {
		return abi.Fail(nil, "a call must ask for what was saved before it saves")
	}
	if len(state) > most {
		return abi.Fail(nil, "a checkpoint has at most %d bytes", most)
	}
	h.Checkpoint = state
	return nil
}

// StateGet is for tools.
func (h *Host) StateGet(key string) (*abi.Entry, error) {
	if err := h.checkKey(key); err != nil {
		return nil, err
	}
	value, has := h.Stored[key]
	if !has {
		return nil, nil
	}
	return &abi.Entry{Value: value, Version: h.versions[key]}, nil
}

// StateSet is for tools.
func (h *Host) StateSet(key string, value []byte) (uint64, error) {
	if err := h.checkKey(key); err != nil {
		return 0, err
	}
	h.version++
	h.Stored[key], h.versions[key] = value, h.version
	return h.version, nil
}

// StateSwap is for tools.
func (h *Host) StateSwap(key string, version *uint64, value []byte) (uint64, error) {
	_, has := h.Stored[key]
	if has != (version != nil) || has && h.versions[key] != *version {
		return 0, abi.Fail(abi.ErrConflict, "%v", abi.ErrConflict)
	}
	return h.StateSet(key, value)
}

// StateRemove is for tools.
func (h *Host) StateRemove(key string) (bool, error) {
	if err := h.checkKey(key); err != nil {
		return false, err
	}
	_, has := h.Stored[key]
	delete(h.Stored, key)
	return has, nil
}

// StateKeys is for tools.
func (h *Host) StateKeys(prefix, after string) ([]string, error) {
	const page = 100
	var keys []string
	for key := range h.Stored {
		if strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys[:min(page, len(keys))], nil
}

func (h *Host) checkKey(key string) error {
	if err := h.refused("state", key); err != nil {
		return err
	}
	if len(key) > 256 || !madeOf(key, "._:/-") {
		return abi.Fail(nil, "it cannot be kept or read: %q is no key", key)
	}
	return nil
}

// refused says whether the call is cancelled, or a capability not granted.
func (h *Host) refused(capability, target string) error {
	if h.Gone {
		return abi.Cancel("the call was cancelled")
	}
	if slices.Contains(h.Refused, capability) {
		return abi.Refuse(capability, target, "")
	}
	return nil
}

// Send is for tools.
func (h *Host) Send(request abi.Request) (abi.Response, error) {
	h.Sent = append(h.Sent, request)
	if err := h.refused("http", request.URL); err != nil {
		return abi.Response{}, err
	}
	if h.Web == nil {
		return abi.Response{}, abi.Refuse("http", fmt.Sprintf("%s %s", request.Method, request.URL), "")
	}
	response, err := h.Web(request)
	return cut(response, request.MaxBody), err
}

func cut(response abi.Response, most int) abi.Response {
	if most > 0 && len(response.Body) > most {
		response.Body, response.Truncated = response.Body[:most], true
	}
	return response
}
