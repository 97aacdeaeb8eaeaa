//go:build wasip1

package wasm

import (
	"portcullis/internal/abi"
	"portcullis/internal/bindings/portcullis_plugin_checkpoint"
	"portcullis/internal/bindings/portcullis_plugin_log"
	"portcullis/internal/bindings/portcullis_plugin_meter"
	"portcullis/internal/bindings/portcullis_plugin_output"
	"portcullis/internal/bindings/portcullis_plugin_progress"
	"portcullis/internal/bindings/portcullis_plugin_state"
	"portcullis/internal/bindings/portcullis_plugin_steering"

	witTypes "portcullis/internal/wit/types"
)

func init() { abi.Running = func() abi.Host { return host{} } }

type host struct{}

func (host) Emit(content []abi.Content) (uint64, error) {
	sent := portcullis_plugin_output.Emit(Contents(content))
	if sent.IsErr() {
		return 0, outputError(sent.Err())
	}
	return sent.Ok(), nil
}

func (host) Progress(done, total float64, message string) {
	portcullis_plugin_progress.Report(done, unless(total, 0), Maybe(message))
}

func (host) Log(level uint8, message string) { portcullis_plugin_log.Write(level, message) }

func (host) FuelLeft() (uint64, bool) {
	left := portcullis_plugin_meter.FuelLeft()
	return left.SomeOr(0), left.IsSome()
}

func (host) DeadlineLeft() uint64 { return portcullis_plugin_meter.DeadlineLeft() }

func (host) NextMessage() (string, bool) {
	next := portcullis_plugin_steering.Next()
	return next.SomeOr(""), next.IsSome()
}

func (host) Receive(timeoutMS *uint64) (string, abi.Received) {
	received := portcullis_plugin_steering.Receive(Optional(timeoutMS))
	if received.Tag() == portcullis_plugin_steering.ReceivedMessage {
		return received.Message(), abi.GotMessage
	}
	return "", abi.Received(received.Tag())
}

func (host) Restored() ([]byte, bool) {
	restored := portcullis_plugin_checkpoint.Restored()
	return restored.SomeOr(nil), restored.IsSome()
}

func (host) Save(state []byte) error {
	if saved := portcullis_plugin_checkpoint.Save(state); saved.IsErr() {
		return checkpointError(saved.Err())
	}
	return nil
}

func (host) StateGet(key string) (*abi.Entry, error) {
	got := portcullis_plugin_state.Get(key)
	if got.IsErr() {
		return nil, stateError(got.Err())
	}
	if found := got.Ok(); found.IsSome() {
		return &abi.Entry{Value: found.Some().Value, Version: found.Some().Version}, nil
	}
	return nil, nil
}

func (host) StateSet(key string, value []byte) (uint64, error) {
	return orStateError(portcullis_plugin_state.Set(key, value))
}

func (host) StateSwap(key string, version *uint64, value []byte) (uint64, error) {
	return orStateError(portcullis_plugin_state.Swap(key, Optional(version), value))
}

func (host) StateRemove(key string) (bool, error) {
	return orStateError(portcullis_plugin_state.Remove(key))
}

func (host) StateKeys(prefix, after string) ([]string, error) {
	return orStateError(portcullis_plugin_state.Keys(prefix, Maybe(after)))
}

func orStateError[T any](result witTypes.Result[T, portcullis_plugin_state.StateError]) (T, error) {
	if result.IsErr() {
		var nothing T
		return nothing, stateError(result.Err())
	}
	return result.Ok(), nil
}
