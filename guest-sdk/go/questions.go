package portcullis

import (
	"context"
	"reflect"

	"portcullis/internal/abi"
)

// Question is one of several that are asked at once: a Form, Confirmation, ModelQuestion, Page or RootsQuestion. It has its answer
// afterwards.
type Question interface {
	asked() abi.Question
	answered(answer abi.Answered) error
}

// AskMany asks all of these at once, and waits for all answers. It is an error if one has none. Each needs a key.
func AskMany(ctx context.Context, questions ...Question) error {
	asked := make([]abi.Question, len(questions))
	for i, question := range questions {
		asked[i] = question.asked()
	}
	answers, err := hostOf(ctx).AskMany(asked)
	if err != nil {
		return noticed(ctx, err)
	}
	for i, question := range questions {
		if err := question.answered(answers[i]); err != nil {
			return err
		}
	}
	return nil
}

func ask(ctx context.Context, question Question) error {
	answer, err := hostOf(ctx).Ask(question.asked())
	if err != nil {
		return noticed(ctx, err)
	}
	return question.answered(answer)
}

// Form is a form of T, as Ask describes it.
type Form[T any] struct {
	key, message string
	Answer       Answer[T]
}

// NewForm makes a form.
func NewForm[T any](key, message string) *Form[T] { return &Form[T]{key: key, message: message} }

func (f *Form[T]) asked() abi.Question {
	return abi.Question{Key: f.key, Form: &abi.Form{Message: f.message, Schema: schemaOf(reflect.TypeFor[T](), forForm)}}
}

func (f *Form[T]) answered(answer abi.Answered) error {
	f.Answer.answer = answer.Answer
	if answer.Answer != abi.Accepted {
		return nil
	}
	if err := read([]byte(answer.Filled), reflect.ValueOf(&f.Answer.Filled)); err != nil {
		return abi.Fail(nil, "the client's answer is not what was expected: %v", err)
	}
	return nil
}

// Confirmation is a question for a yes.
type Confirmation struct {
	form *Form[confirmation]
	Yes  bool
}

// NewConfirm makes a question for a yes.
func NewConfirm(key, message string) *Confirmation {
	return &Confirmation{form: NewForm[confirmation](key, message)}
}

func (c *Confirmation) asked() abi.Question { return c.form.asked() }

func (c *Confirmation) answered(answer abi.Answered) error {
	err := c.form.answered(answer)
	c.Yes = err == nil && c.form.Answer.Accepted()
	return err
}

// ModelQuestion is a request to the client's model.
type ModelQuestion struct {
	request SampleRequest
	Answer  SampleAnswer
}

// NewSample makes a request to the client's model.
func NewSample(request SampleRequest) *ModelQuestion { return &ModelQuestion{request: request} }

func (m *ModelQuestion) asked() abi.Question {
	return abi.Question{Key: m.request.Key, Sample: &m.request}
}

func (m *ModelQuestion) answered(answer abi.Answered) error {
	m.Answer = answer.Sampled
	return nil
}

// Page is a page that the user is asked to open.
type Page struct {
	page   abi.Question
	Answer Consent
}

// NewPage makes a question to open a page, whose host must be granted.
func NewPage(key, message, url string) *Page {
	return &Page{page: abi.Question{Key: key, Page: &abi.Page{Message: message, URL: url}}}
}

func (p *Page) asked() abi.Question { return p.page }

func (p *Page) answered(answer abi.Answered) error {
	p.Answer = answer.Answer
	return nil
}

// RootsQuestion asks for the folders and repositories that the user works in.
type RootsQuestion struct {
	key   string
	Roots []Root
}

// NewRoots makes a question for them.
func NewRoots(key string) *RootsQuestion { return &RootsQuestion{key: key} }

func (r *RootsQuestion) asked() abi.Question { return abi.Question{Key: r.key} }

func (r *RootsQuestion) answered(answer abi.Answered) error {
	r.Roots = answer.Roots
	return nil
}
