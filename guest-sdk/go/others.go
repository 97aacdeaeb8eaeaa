package portcullis

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"portcullis/internal/abi"
)

// CallTool calls a tool of the agent's side, waits, and reads its structured content, or else its text, as R. A string as R is
// the text.
func CallTool[R any](ctx context.Context, name string, arguments any, options ...CallOptions) (R, error) {
	result, err := CallToolRaw(ctx, name, arguments, options...)
	if err != nil {
		var nothing R
		return nothing, err
	}
	return ReadResult[R](result)
}

// ReadResult reads a result as CallTool does.
func ReadResult[R any](result AgentResult) (R, error) {
	var read R
	text := result.Structured
	if text == "" {
		text = AllText(result.Content)
	}
	if err := decode([]byte(text), &read); err != nil {
		if value := reflect.ValueOf(&read).Elem(); value.Kind() == reflect.String && result.Structured == "" {
			value.SetString(text)
			return read, nil
		}
		return read, abi.Fail(nil, "the agent tool's answer is not what was expected: %v", err)
	}
	return read, nil
}

// CallToolRaw is as CallTool, without reading the result.
func CallToolRaw(ctx context.Context, name string, arguments any, options ...CallOptions) (AgentResult, error) {
	call := AgentCall{Name: name, Arguments: arguments}
	for _, call.Options = range options {
	}
	made, err := call.made()
	if err != nil {
		return AgentResult{}, err
	}
	result, err := hostOf(ctx).CallTool(made)
	return result, noticed(ctx, err)
}

// AgentCall is one of several calls of the agent's tools. Its arguments are written as JSON.
type AgentCall struct {
	Name      string
	Arguments any
	Options   CallOptions
}

func (c AgentCall) made() (abi.AgentCall, error) {
	text, err := encode(c.Arguments)
	if err != nil {
		return abi.AgentCall{}, abi.Fail(nil, "invalid arguments: %v", err)
	}
	return abi.AgentCall{Name: c.Name, Arguments: string(text), Options: c.Options}, nil
}

// CallTools makes several calls at once, as many at a time as the operator allows, and waits for all. A failure does not stop the
// others; the rest of the fuel is split evenly among them.
func CallTools(ctx context.Context, calls ...AgentCall) []AgentOutcome {
	outcomes := make([]AgentOutcome, len(calls))
	var made []abi.AgentCall
	var places []int
	for i, call := range calls {
		one, err := call.made()
		if err != nil {
			outcomes[i].Err = err
			continue
		}
		made, places = append(made, one), append(places, i)
	}
	for i, outcome := range hostOf(ctx).CallTools(made) {
		outcome.Err = noticed(ctx, outcome.Err)
		outcomes[places[i]] = outcome
	}
	return outcomes
}

// AgentTools are the tools that CallTool can reach now.
func AgentTools(ctx context.Context) []AgentTool { return hostOf(ctx).ListTools() }

// AllText is the texts of some content, a line each.
func AllText(content []Content) string { return abi.AllText(content) }

// Store keeps values between calls, each user's apart.
type Store struct{ host abi.Host }

// State is the store of the plugin, for the user of the call.
func State(ctx context.Context) Store { return Store{hostOf(ctx)} }

// Get is the value under a key; nil if there is none.
func (s Store) Get(key string) (*Entry, error) { return s.host.StateGet(key) }

// Set stores a value.
func (s Store) Set(key string, value []byte) error {
	_, err := s.host.StateSet(key, value)
	return err
}

// Swap stores a value if the current one has this version, or, for nil, if there is none; otherwise ErrConflict.
func (s Store) Swap(key string, version *uint64, value []byte) (uint64, error) {
	return s.host.StateSwap(key, version, value)
}

// Remove removes a value, and says whether there was one.
func (s Store) Remove(key string) (bool, error) { return s.host.StateRemove(key) }

// Keys are all keys that begin with a prefix, in order.
func (s Store) Keys(prefix string) ([]string, error) {
	var keys []string
	for after := ""; ; after = keys[len(keys)-1] {
		page, err := s.host.StateKeys(prefix, after)
		if err != nil || len(page) == 0 {
			return keys, err
		}
		keys = append(keys, page...)
	}
}

// Each further try means that another call has got its change in.
const tries = 32

// Update changes a value that is kept as JSON, safely beside other calls: `change` runs again if another was first. It gets nil
// if there is no value.
func Update[T any](ctx context.Context, key string, change func(old *T) T) (T, error) {
	var changed T
	store := State(ctx)
	for range tries {
		entry, err := store.Get(key)
		if err != nil {
			return changed, err
		}
		var old *T
		var version *uint64
		if entry != nil {
			old, version = new(T), &entry.Version
			if err := decode(entry.Value, old); err != nil {
				return changed, abi.Fail(nil, "it cannot be kept or read: what is kept is not what was expected: %v", err)
			}
		}
		changed = change(old)
		text, err := encode(changed)
		if err != nil {
			return changed, abi.Fail(nil, "it cannot be kept or read: the value cannot be written as JSON: %v", err)
		}
		if _, err = store.Swap(key, version, text); !errors.Is(err, ErrConflict) {
			return changed, err
		}
	}
	return changed, abi.Fail(ErrConflict, "%v", ErrConflict)
}

// Send sends a request to another server that the operator granted, and reads the answer, with any status.
func Send(ctx context.Context, request Request) (*Response, error) {
	response, err := hostOf(ctx).Send(request)
	if err != nil {
		return nil, noticed(ctx, err)
	}
	return &response, nil
}

// SendJSON is as Send, with a value as the body.
func SendJSON(ctx context.Context, request Request, body any) (*Response, error) {
	request, err := withJSON(request, body)
	if err != nil {
		return nil, err
	}
	return Send(ctx, request)
}

func withJSON(request Request, body any) (Request, error) {
	text, err := encode(body)
	if err != nil {
		return request, abi.Fail(nil, "the request cannot be sent: the body cannot be written as JSON: %v", err)
	}
	request.Body = text
	request.Headers = append([]Header{{Name: "content-type", Value: "application/json"}}, request.Headers...)
	return request, nil
}

// HeaderOf is the first header of this name, in any case.
func HeaderOf(response *Response, name string) (string, bool) {
	for _, header := range response.Headers {
		if strings.EqualFold(header.Name, name) {
			return header.Value, true
		}
	}
	return "", false
}

// CheckStatus is an error if the status is none of success.
func CheckStatus(response *Response) error {
	if response.Status >= 200 && response.Status < 300 {
		return nil
	}
	return abi.Fail(ErrStatus, "the other server answered with status %d", response.Status)
}
