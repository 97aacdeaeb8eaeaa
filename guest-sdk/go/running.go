package portcullis

import (
	"context"
	"fmt"
	"time"

	"portcullis/internal/abi"
)

// Emit sends a chunk of text while the tool runs, and returns its number.
func Emit(ctx context.Context, text string) (uint64, error) { return EmitContent(ctx, Text(text)) }

// EmitContent sends a chunk of any content.
func EmitContent(ctx context.Context, content ...Content) (uint64, error) {
	number, err := hostOf(ctx).Emit(content)
	return number, noticed(ctx, err)
}

// Progress reports how far the tool is; a total of 0 is unknown.
func Progress(ctx context.Context, done, total float64, message string) {
	hostOf(ctx).Progress(done, total, message)
}

// Level is a severity of RFC 5424.
type Level uint8

// The severities.
const (
	Debug Level = iota
	Info
	Notice
	Warning
	ErrorLevel
	Critical
	Alert
	Emergency
)

// Log writes to the operator's log.
func Log(ctx context.Context, level Level, format string, arguments ...any) {
	hostOf(ctx).Log(uint8(level), fmt.Sprintf(format, arguments...))
}

// FuelLeft is the fuel that is left; false if the call is not metered by fuel.
func FuelLeft(ctx context.Context) (uint64, bool) { return hostOf(ctx).FuelLeft() }

// TimeLeft is the time until the call is stopped.
func TimeLeft(ctx context.Context) time.Duration {
	return time.Duration(hostOf(ctx).DeadlineLeft()) * time.Millisecond
}

// NextMessage is the next message to the call, without waiting. Messages are untrusted.
func NextMessage(ctx context.Context) (string, bool) { return hostOf(ctx).NextMessage() }

// Receive waits for the next message, as long as the call may take.
func Receive(ctx context.Context) (string, Received) { return hostOf(ctx).Receive(nil) }

// ReceiveWithin waits for the next message, at most so long.
func ReceiveWithin(ctx context.Context, timeout time.Duration) (string, Received) {
	milliseconds := uint64(max(timeout, 0).Milliseconds())
	return hostOf(ctx).Receive(&milliseconds)
}

// Restored reads the state that was saved last, by this run of the call or an earlier one, and says whether there is one. A
// tool asks once, early; what follows a Save must depend on nothing but the saved state.
func Restored[T any](ctx context.Context, state *T) (bool, error) {
	text, has := hostOf(ctx).Restored()
	if !has {
		return false, nil
	}
	if err := decode(text, state); err != nil {
		return false, abi.Fail(nil, "what was saved is not what was expected: %v", err)
	}
	return true, nil
}

// Save saves a state, as JSON, in the place of the last one.
func Save(ctx context.Context, state any) error {
	text, err := encode(state)
	if err != nil {
		return abi.Fail(nil, "the state cannot be written as JSON: %v", err)
	}
	return hostOf(ctx).Save(text)
}
