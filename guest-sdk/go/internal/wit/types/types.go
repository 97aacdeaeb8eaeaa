// Package wit_types has the types that generated bindings use: this is what the package of the same name of the bindings'
// generator offers, as far as sync-typed worlds need it.
package wit_types

// The tags of options and results.
const (
	OptionNone = 0
	OptionSome = 1
	ResultOk   = 0
	ResultErr  = 1
)

// Option is a value that may be missing.
type Option[T any] struct {
	has   bool
	value T
}

// Some makes an option with a value.
func Some[T any](value T) Option[T] { return Option[T]{true, value} }

// None makes an option without one.
func None[T any]() Option[T] { return Option[T]{} }

// Tag is OptionNone or OptionSome.
func (o Option[T]) Tag() uint8 {
	if o.has {
		return OptionSome
	}
	return OptionNone
}

// IsSome says whether there is a value.
func (o Option[T]) IsSome() bool { return o.has }

// IsNone says whether there is none.
func (o Option[T]) IsNone() bool { return !o.has }

// Some is the value, which there must be.
func (o Option[T]) Some() T {
	if !o.has {
		panic("portcullis: there is no value")
	}
	return o.value
}

// SomeOr is the value, or another.
func (o Option[T]) SomeOr(otherwise T) T {
	if o.has {
		return o.value
	}
	return otherwise
}

// Result is a value or an error.
type Result[T, E any] struct {
	isErr bool
	ok    T
	err   E
}

// Ok makes a result with a value.
func Ok[T, E any](value T) Result[T, E] { return Result[T, E]{ok: value} }

// Err makes a result with an error.
func Err[T, E any](err E) Result[T, E] { return Result[T, E]{isErr: true, err: err} }

// Tag is ResultOk or ResultErr.
func (r Result[T, E]) Tag() uint8 {
	if r.isErr {
		return ResultErr
	}
	return ResultOk
}

// IsOk says whether there is a value.
func (r Result[T, E]) IsOk() bool { return !r.isErr }

// IsErr says whether there is an error.
func (r Result[T, E]) IsErr() bool { return r.isErr }

// Ok is the value, which there must be.
func (r Result[T, E]) Ok() T {
	if r.isErr {
		panic("portcullis: there is an error instead of a value")
	}
	return r.ok
}

// Err is the error, which there must be.
func (r Result[T, E]) Err() E {
	if !r.isErr {
		panic("portcullis: there is a value instead of an error")
	}
	return r.err
}

// Unit is no value.
type Unit struct{}

// Tuple2 is a pair.
type Tuple2[A, B any] struct {
	F0 A
	F1 B
}
