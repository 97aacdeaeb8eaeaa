//go:build wasip1

package portcullis

// The exports of the component, and its host.
import (
	_ "portcullis/internal/bindings/wit_exports"
	_ "portcullis/internal/wasm"
)
