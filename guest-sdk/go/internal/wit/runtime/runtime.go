//go:build wasip1

// Package runtime has what generated bindings call: handles of resources, and memory that both sides use. It offers what the
// package of the same name of the bindings' generator offers, as far as sync-typed worlds need it.
package runtime

import (
	"runtime"
	"unsafe"
)

// Handle is an owned handle of a resource; 0 is none.
type Handle struct{ value int32 }

// MakeHandle makes one.
func MakeHandle(value int32) *Handle { return &Handle{value} }

// Use is the handle, which there must be.
func (h *Handle) Use() int32 {
	if h.value == 0 {
		panic("portcullis: the resource is gone")
	}
	return h.value
}

// Take is the handle, which there must be, and is gone then.
func (h *Handle) Take() int32 {
	value := h.Use()
	h.value = 0
	return value
}

// TakeOrNil is the handle, which is gone then, or 0.
func (h *Handle) TakeOrNil() int32 {
	value := h.value
	h.value = 0
	return value
}

// Set sets a handle where there is none.
func (h *Handle) Set(value int32) {
	if value == 0 || h.value != 0 {
		panic("portcullis: the resource has another handle")
	}
	h.value = value
}

// Allocate makes memory that stays where it is until it is unpinned; nil if there is nothing to hold. All memory is aligned
// as its widest type needs it: by 8.
func Allocate(pinner *runtime.Pinner, size, align uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	if align > 8 {
		panic("portcullis: no type of WIT is aligned by more than 8")
	}
	pointer := unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))
	pinner.Pin(pointer)
	return pointer
}

// What the host has written for this guest, until the bindings have read it.
var written runtime.Pinner

// Unpin lets the garbage collector have what the bindings have read.
func Unpin() { written.Unpin() }

// Whether the host's memory is the garbage collector's. The adapter of WASI keeps the memory that it allocates when it is first
// called, which is while Go's runtime starts, or, where that was done before, when the runtime is renewed.
var started bool

func init() { started = true }

// SetStarted says whether the adapter of WASI has been called.
func SetStarted(is bool) { started = is }

// What the host writes before that, for as long as there is room: the adapter's state and stack of 64 KiB each, and the first
// call's arguments.
var (
	early [160 << 10]byte
	used  uintptr
)

// keep makes memory that is never freed. Of Go it uses nothing that may have to start.
func keep(size, align uintptr) unsafe.Pointer {
	if begin := uintptr(unsafe.Pointer(&early)) + used; begin+size+align <= uintptr(unsafe.Pointer(&early))+unsafe.Sizeof(early) {
		used += size + align
		return unsafe.Pointer(begin + -begin&(align-1))
	}
	// With room to begin at the next multiple of the alignment.
	start := sbrk(size + align)
	return unsafe.Add(start, -uintptr(start)&(align-1))
}

// sbrk grows the memory, as Go's own allocator does: what it returns belongs to nobody else.
//
//go:linkname sbrk runtime.sbrk
func sbrk(size uintptr) unsafe.Pointer

// While it allocates, Go's collector may read the clock. A component must not call imports during that, so the adapter is told
// to repeat the time that it read last.
//
//go:wasmimport wasi_snapshot_preview1 adapter_monotonic_clock_set_paused
func pauseClock(paused bool)

//go:wasmexport cabi_realloc
func reallocate(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	if old != nil || oldSize != 0 {
		panic("portcullis: memory of the host never grows")
	}
	if !started {
		return keep(size, align)
	}
	pauseClock(true)
	pointer := Allocate(&written, size, align)
	pauseClock(false)
	return pointer
}
