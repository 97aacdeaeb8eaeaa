package portcullis

import (
	"context"

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
func (a Answer[T]) OrStop() (T, error) { return a.Filled, orStop(a.answer) }

func orStop(answer abi.Answer) error {
	switch answer {
	case abi.Accepted:
		return nil
	case abi.Closed:
		return abi.Fail(ErrDeclined, "the user closed the question without an answer")
	}
	return abi.Fail(ErrDeclined, "the user declined")
}

// Ask asks the user to fill in a form, and waits. T is a struct of texts, numbers, truths, and lists of words, with the tags of
// Tool and `title` and `format` (email, uri, date, date-time). The key names the question, and may be empty.
func Ask[T any](ctx context.Context, key, message string) (Answer[T], error) {
	form := NewForm[T](key, message)
	err := ask(ctx, form)
	return form.Answer, err
}

// Clients show a form without fields as two buttons: to accept it is to say yes.
type confirmation struct{}

// Confirm asks the user for a yes. Anything else is an error, which ends the tool.
func Confirm(ctx context.Context, key, message string) error {
	question := NewConfirm(key, message)
	if err := ask(ctx, question); err != nil {
		return err
	}
	if !question.Yes {
		return abi.Fail(ErrDeclined, "the user did not confirm")
	}
	return nil
}

// Sample asks the client's model, and waits.
func Sample(ctx context.Context, request SampleRequest) (SampleAnswer, error) {
	question := NewSample(request)
	err := ask(ctx, question)
	return question.Answer, err
}

// OpenURL asks the user to open a page, whose host must be granted. The answer is whether the user agreed, not what happened
// there.
func OpenURL(ctx context.Context, key, message, url string) (Consent, error) {
	question := NewPage(key, message, url)
	err := ask(ctx, question)
	return question.Answer, err
}

// Connect asks the user to connect an account, so that SendAs can use it. Anything else is an error, which ends the tool.
func Connect(ctx context.Context, key, message, connection string) error {
	question := &Page{page: abi.Question{Key: key, Page: &abi.Page{Message: message, Connection: connection}}}
	if err := ask(ctx, question); err != nil {
		return err
	}
	return orStop(question.Answer)
}

// Roots are the folders and repositories that the user works in.
func Roots(ctx context.Context, key string) ([]Root, error) {
	question := NewRoots(key)
	err := ask(ctx, question)
	return question.Roots, err
}

// Supported is what the client can answer.
func Supported(ctx context.Context) Abilities { return hostOf(ctx).Supported() }
