package portcullis

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"portcullis/internal/abi"
)

// Option is what else there is to say of a tool.
type Option func(*abi.Tool)

// Title is a name for people.
func Title(title string) Option { return func(tool *abi.Tool) { tool.Title = title } }

// Takes says how long calls usually take.
func Takes(execution Execution) Option { return func(tool *abi.Tool) { tool.Execution = execution } }

func hint(of func(*abi.Tool) **bool, value bool) Option {
	return func(tool *abi.Tool) { *of(tool) = &value }
}

// Hints for the client, which trusts none of them.
var (
	ReadOnly       = hint(func(tool *abi.Tool) **bool { return &tool.ReadOnly }, true)
	NotReadOnly    = hint(func(tool *abi.Tool) **bool { return &tool.ReadOnly }, false)
	Destructive    = hint(func(tool *abi.Tool) **bool { return &tool.Destructive }, true)
	NotDestructive = hint(func(tool *abi.Tool) **bool { return &tool.Destructive }, false)
	Idempotent     = hint(func(tool *abi.Tool) **bool { return &tool.Idempotent }, true)
	NotIdempotent  = hint(func(tool *abi.Tool) **bool { return &tool.Idempotent }, false)
	OpenWorld      = hint(func(tool *abi.Tool) **bool { return &tool.OpenWorld }, true)
	NotOpenWorld   = hint(func(tool *abi.Tool) **bool { return &tool.OpenWorld }, false)
)

// Nothing is for tools that have no arguments, or nothing to return.
type Nothing = struct{}

// plugin is everything that was registered, in that order.
type plugin struct {
	tools     []tool
	resources []resource
	prompts   []prompt

	completions []completion
	reconcile   func(ctx context.Context, doubt Doubt) Verdict
}

var registered plugin

func init() { abi.TheGuest = &registered }

type tool struct {
	name   string
	define func() abi.Tool
	call   func(ctx context.Context, arguments []byte) (Result, error)
}

type resource struct {
	definition abi.Resource
	read       func(ctx context.Context, variables map[string]string) (any, error)
}

type prompt struct {
	definition abi.Prompt
	get        func(ctx context.Context, arguments map[string]string) ([]Message, error)
}

// Tool registers a tool. A is a struct whose fields are the arguments. R is text, Content, []Content, Result, Nothing, or a
// struct: the structured result, which is also there as text. Tags of fields:
//
//	json:"name"            the name; a pointer is optional
//	doc:"Whom to greet."   the description
//	min:"1" max:"40"       bounds of a number, of a text's length, of a list's
//	enum:"plain,loud"      the words that a text may be
//	default:"plain"        what a missing argument is: a text as it is, anything else as JSON
func Tool[A, R any](name, about string, call func(ctx context.Context, arguments A) (R, error), options ...Option) {
	if abi.Renew != nil {
		// Calls begin with this memory: what is found out about the types here, they know.
		var arguments A
		_ = read([]byte("{}"), reflect.ValueOf(&arguments))
		var returned *R
		_, _ = encode(returned)
	}
	// Not made at once: a call has no use of it.
	define := func() abi.Tool {
		definition := abi.Tool{Name: name, Description: about, InputSchema: schemaOf(reflect.TypeFor[A](), forInput)}
		if isRecord(reflect.TypeFor[R]()) {
			definition.OutputSchema = schemaOf(reflect.TypeFor[R](), forOutput)
		}
		for _, option := range options {
			option(&definition)
		}
		return definition
	}
	registered.tools = append(registered.tools, tool{name, define, func(ctx context.Context, text []byte) (Result, error) {
		var arguments A
		if err := read(text, reflect.ValueOf(&arguments)); err != nil {
			return Result{}, Invalid(err.Error())
		}
		returned, err := call(ctx, arguments)
		if err != nil {
			return Result{}, err
		}
		return resultOf(returned)
	}})
}

func isRecord(of reflect.Type) bool {
	return of.Kind() == reflect.Struct && of.NumField() > 0 && of != reflect.TypeFor[Content]() && of != reflect.TypeFor[Result]()
}

func resultOf(returned any) (Result, error) {
	switch returned := returned.(type) {
	case string:
		return Result{Content: []Content{Text(returned)}}, nil
	case Content:
		return Result{Content: []Content{returned}}, nil
	case []Content:
		return Result{Content: returned}, nil
	case Result:
		return returned, nil
	case Nothing:
		return Result{}, nil
	}
	text, err := encode(returned)
	if err != nil {
		return Result{}, fmt.Errorf("the result cannot be written as JSON: %w", err)
	}
	result := Result{Content: []Content{Text(string(text))}}
	if isRecord(reflect.TypeOf(returned)) {
		result.Structured = string(text)
	}
	return result, nil
}

// Resource registers a resource. What its function returns is a text, bytes, or anything else as JSON; ErrNotFound says that
// there is none.
func Resource(uri, name, about, mimeType string, read func(ctx context.Context) (any, error)) {
	add(uri, name, about, mimeType, func(ctx context.Context, _ map[string]string) (any, error) { return read(ctx) })
}

// Template registers resources by a pattern, such as `guide://city/{name}`. A variable is one or more characters but `/?#`.
func Template(pattern, name, about, mimeType string, read func(ctx context.Context, variables map[string]string) (any, error)) {
	if !isPattern(pattern) {
		panic(fmt.Sprintf("portcullis: the pattern %q has no variable; that is a Resource", pattern))
	}
	add(pattern, name, about, mimeType, read)
}

func add(uri, name, about, mimeType string, read func(ctx context.Context, variables map[string]string) (any, error)) {
	definition := abi.Resource{URI: uri, Name: name, Description: about, MimeType: mimeType}
	registered.resources = append(registered.resources, resource{definition, read})
}

// Prompt registers a prompt. A is a struct of texts, or of pointers to texts that are optional.
func Prompt[A any](name, title, about string, get func(ctx context.Context, arguments A) ([]Message, error)) {
	definition := abi.Prompt{Name: name, Title: title, Description: about}
	for _, field := range fieldsOf(reflect.TypeFor[A]()) {
		if field.of.Kind() != reflect.String {
			panic(fmt.Sprintf("portcullis: the argument `%s` of the prompt `%s` is no text", field.name, name))
		}
		required := !field.optional && field.fallback == nil
		argument := abi.PromptArgument{Name: field.name, Title: field.tags.Get("title"), Description: field.tags.Get("doc"), Required: required}
		definition.Arguments = append(definition.Arguments, argument)
	}
	registered.prompts = append(registered.prompts, prompt{definition, func(ctx context.Context, given map[string]string) ([]Message, error) {
		var arguments A
		if err := read(mustEncode(given), reflect.ValueOf(&arguments)); err != nil {
			return nil, Invalid(err.Error())
		}
		return get(ctx, arguments)
	}})
}

// UserSays makes a message of the user.
func UserSays(text string) Message { return Message{Role: User, Content: Text(text)} }

// AssistantSays makes a message of the model.
func AssistantSays(text string) Message { return Message{Role: Assistant, Content: Text(text)} }

func (p *plugin) Tools() []abi.Tool {
	tools := make([]abi.Tool, len(p.tools))
	for i, tool := range p.tools {
		tools[i] = tool.define()
	}
	return tools
}

// CallTool runs a tool of the plugin.
func (p *plugin) CallTool(call abi.Call, name, arguments string) (abi.Result, error) {
	return p.callTool(context.Background(), call, name, arguments)
}

func (p *plugin) callTool(ctx context.Context, call abi.Call, name, arguments string) (abi.Result, error) {
	ctx, cancel := during(ctx, call)
	defer cancel()
	for _, tool := range p.tools {
		if tool.name == name {
			return tool.call(ctx, []byte(arguments))
		}
	}
	return abi.Result{}, Unsupported(fmt.Sprintf("this plugin has no tool named `%s`", name))
}

func isPattern(uri string) bool { return strings.Contains(uri, "{") }

func (p *plugin) Resources(patterns bool) []abi.Resource {
	var resources []abi.Resource
	for _, resource := range p.resources {
		if isPattern(resource.definition.URI) == patterns {
			resources = append(resources, resource.definition)
		}
	}
	return resources
}

// Read reads a resource of the plugin.
func (p *plugin) Read(call abi.Call, uri string) ([]abi.Content, error) {
	return p.readResource(context.Background(), call, uri)
}

func (p *plugin) readResource(ctx context.Context, call abi.Call, uri string) ([]abi.Content, error) {
	ctx, cancel := during(ctx, call)
	defer cancel()
	for _, resource := range p.resources {
		variables, matches := match(resource.definition.URI, uri)
		if !matches {
			continue
		}
		found, err := resource.read(ctx, variables)
		if err != nil {
			return nil, err
		}
		mimeType := resource.definition.MimeType
		switch found := found.(type) {
		case string:
			return []Content{ResourceText(uri, mimeType, found)}, nil
		case []byte:
			return []Content{ResourceBytes(uri, mimeType, found)}, nil
		case []Content:
			return found, nil
		}
		text, err := encode(found)
		if err != nil {
			return nil, fmt.Errorf("the resource cannot be written as JSON: %w", err)
		}
		if mimeType == "" {
			mimeType = "application/json"
		}
		return []Content{ResourceText(uri, mimeType, string(text))}, nil
	}
	return nil, ErrNotFound
}

func (p *plugin) Prompts() []abi.Prompt {
	prompts := make([]abi.Prompt, len(p.prompts))
	for i, prompt := range p.prompts {
		prompts[i] = prompt.definition
	}
	return prompts
}

// Get gets a prompt of the plugin.
func (p *plugin) Get(call abi.Call, name string, arguments map[string]string) ([]abi.Message, error) {
	return p.getPrompt(context.Background(), call, name, arguments)
}

func (p *plugin) getPrompt(ctx context.Context, call abi.Call, name string, arguments map[string]string) ([]abi.Message, error) {
	ctx, cancel := during(ctx, call)
	defer cancel()
	for _, prompt := range p.prompts {
		if prompt.definition.Name == name {
			return prompt.get(ctx, arguments)
		}
	}
	return nil, Unsupported(fmt.Sprintf("this plugin has no prompt named `%s`", name))
}

// Calls is what the package portcullistest runs: what was registered, in a context of the test.
type Calls struct{}

// Tool runs a tool.
func (Calls) Tool(ctx context.Context, info CallInfo, name, arguments string) (Result, error) {
	return registered.callTool(ctx, info, name, arguments)
}

// Read reads a resource.
func (Calls) Read(ctx context.Context, info CallInfo, uri string) ([]Content, error) {
	return registered.readResource(ctx, info, uri)
}

// Get gets a prompt.
func (Calls) Get(ctx context.Context, info CallInfo, name string, arguments map[string]string) ([]Message, error) {
	return registered.getPrompt(ctx, info, name, arguments)
}

// Complete suggests values of an argument of a prompt, or of a variable of a template.
func (Calls) Complete(ctx context.Context, info CallInfo, prompt, template, argument string, typed Typed) ([]string, error) {
	return registered.complete(ctx, info, abi.Reference{Prompt: prompt, Template: template}, argument, typed)
}

// Reconcile finds out what has become of an effect.
func (Calls) Reconcile(ctx context.Context, info CallInfo, doubt Doubt) Verdict {
	return registered.findOut(ctx, info, doubt)
}

// Offers says which interfaces a component of this plugin exports, and refuses tags and types that have no schema. `portcullis
// build` asks it natively.
func Offers() string {
	var offers []string
	if len(registered.Tools()) > 0 {
		offers = append(offers, "tools")
	}
	if len(registered.resources) > 0 {
		offers = append(offers, "resources")
	}
	if len(registered.prompts) > 0 {
		offers = append(offers, "prompts")
	}
	for _, completion := range registered.completions {
		completion.check(&registered)
	}
	if len(registered.completions) > 0 {
		offers = append(offers, "completions")
	}
	if registered.reconcile != nil {
		offers = append(offers, "reconcile")
	}
	return strings.Join(offers, " ")
}
