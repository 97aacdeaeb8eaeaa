//go:build wasip1

// Package image is for components that begin with the memory that Go's runtime had when they were built: it renews what must
// differ between instances. `portcullis build` imports it, and adds what it calls to the packages runtime and syscall.
package image

import (
	"portcullis/internal/abi"
	"portcullis/internal/wit/runtime"
	_ "unsafe" // for go:linkname
)

// Gives the first call a stack that need not grow.
//
//go:linkname prepareRuntime runtime.portcullisPrepare
func prepareRuntime()

// Gives the runtime new random numbers.
//
//go:linkname renewRuntime runtime.portcullisRenew
func renewRuntime()

// Reads the variables and folders that the plugin requests.
//
//go:linkname renewSyscall syscall.portcullisRenew
func renewSyscall()

func init() {
	prepareRuntime()
	// What comes before the first call is WASI's adapter, and the arguments of that call.
	runtime.SetStarted(false)
	abi.Renew = func() {
		renewRuntime()
		renewSyscall()
		runtime.SetStarted(true)
	}
}
