package portcullis

import (
	"context"
	"reflect"

	"portcullis/internal/abi"
)

// Answer is what a user did with a form.
type Answer[T any] struct {
	answer abi.Answer
	// Filled is the form, if it was accepted.
	Filled T
}

// Accepted says whether the user has filled in and sent the form.
func (a Answer[T]) Accepted() bool { return a.answer == abi.Accepted }

// Closed says whether the user has closed the form without an answer.
func (a Answer[T]) Closed() bool { return a.answer == abi.Closed }

// OrStop is the form, or an error that ends the tool.
func (a Answer[T]) OrStop() (T, error) {
	switch a.answer {
	case abi.Accepted:
		return a.Filled, nil
	case abi.Closed:
		return a.Filled, abi.Fail(ErrDeclined, "the user closed the question without an answer")
	}
	return a.Filled, abi.Fail(ErrDeclined, "the user declined")
}

// Ask asks the user to fill in a form, and waits. T is a struct of texts, numbers, truths, and lists of words, with the tags of
// Tool and `title` and `format` (email, uri, date, date-time). The key names the question, and may be empty.
func Ask[T any](ctx context.Context, key, message string) (Answer[T], error) {
	var answer Answer[T]
	text, what, err := hostOf(ctx).AskForm(key, message, schemaOf(reflect.TypeFor[T](), forForm))
	answer.answer = what
	if err != nil || what != abi.Accepted {
		return answer, noticed(ctx, err)
	}
	if err := read([]byte(text), reflect.ValueOf(&answer.Filled)); err != nil {
		return answer, abi.Fail(nil, "the client's answer is not what was expected: %v", err)
	}
	return answer, nil
}

// A required box: sending an empty form must not count as a yes.
type confirmation struct {
	Confirmed bool `json:"confirmed" title:"Yes, confirmed"`
}

// Confirm asks the user for a yes. Anything else is an error, which ends the tool.
func Confirm(ctx context.Context, key, message string) error {
	answer, err := Ask[confirmation](ctx, key, message)
	if err != nil {
		return err
	}
	if !answer.Accepted() || !answer.Filled.Confirmed {
		return abi.Fail(ErrDeclined, "the user did not confirm")
	}
	return nil
}

// Sample asks the client's model, and waits.
func Sample(ctx context.Context, request SampleRequest) (SampleAnswer, error) {
	answer, err := hostOf(ctx).Sample(request)
	return answer, noticed(ctx, err)
}
