package abi

import (
	"errors"
	"fmt"
)

// ErrorKind is as what an error ends a call.
type ErrorKind uint8

// The kinds, in the order of the WIT.
const (
	InvalidArguments ErrorKind = iota
	Failed
	Cancelled
	Denied
	Exhausted
	Unsupported
)

// Error ends a call as what it is. Any other error ends it as failed, with its text.
type Error struct {
	Kind ErrorKind
	// Text is a sentence for the model.
	Text string
	// Cause is what errors.Is finds, if a tool can do something about it.
	Cause error
	// Capability, Target and Remedy are of a refusal.
	Capability, Target, Remedy string
	// Budget and Limit are of a limit that was reached.
	Budget uint8
	Limit  uint64
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Cause }

// What errors.Is finds in errors of the host.
var (
	ErrConflict    = errors.New("somebody else changed it meanwhile")
	ErrTimeout     = errors.New("no answer in time")
	ErrDeclined    = errors.New("it was declined")
	ErrToolFailed  = errors.New("the agent's tool reported a failure")
	ErrUnknownTool = errors.New("the agent's side has no such tool")
	ErrStatus      = errors.New("the status is none of success")
	// ErrNotConnected calls for Connect.
	ErrNotConnected = errors.New("the account is not connected")
	ErrNotPublished = errors.New("nothing is published under this name")
)

// Fail makes an error that ends the call as failed.
func Fail(cause error, format string, arguments ...any) *Error {
	return &Error{Kind: Failed, Cause: cause, Text: fmt.Sprintf(format, arguments...)}
}

// Cancel makes an error that ends the call as cancelled.
func Cancel(text string) *Error { return &Error{Kind: Cancelled, Text: text} }

// Refuse makes an error about authority that was not granted.
func Refuse(capability, target, remedy string) *Error {
	text := fmt.Sprintf("denied: %s does not allow `%s`", capability, target)
	if remedy != "" {
		text += ". " + remedy
	}
	return &Error{Kind: Denied, Text: text, Capability: capability, Target: target, Remedy: remedy}
}

// In the order of the WIT.
var budgets = [][2]string{
	{"fuel", ""},
	{"CPU time", " ms"},
	{"time", " ms"},
	{"memory", " bytes"},
	{"output", " bytes"},
	{"output", " chunks"},
	{"questions to the client", " questions"},
	{"what a model may write", " tokens"},
	{"what may be stored", ""},
	{"calls of agent tools", " calls"},
	{"nesting of calls", " levels"},
	{"arguments", " bytes"},
	{"results of agent tools", " bytes"},
	{"waiting for agent tools", " ms"},
}

// Exhaust makes an error about a limit that was reached.
func Exhaust(budget uint8, limit uint64) *Error {
	name := [2]string{"something", ""}
	if int(budget) < len(budgets) {
		name = budgets[budget]
	}
	return &Error{Kind: Exhausted, Budget: budget, Limit: limit, Text: fmt.Sprintf("the limit on %s is reached: %d%s", name[0], limit, name[1])}
}

// NotFound is the error of a resource that is not there.
var NotFound = errors.New("there is no such resource")
