//! Computes for ever while the host asks for memory to pass the arguments in, given a `path` of more than 4 KiB.

use std::alloc::{GlobalAlloc, Layout, System};

struct Spinner;

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Spinner {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        while std::hint::black_box(layout.size()) > 4096 {}
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static SPINNER: Spinner = Spinner;

guests::guest! {
    fn run(args) {
        Ok(format!("got {} bytes", args.path_or("").len()).into())
    }
}
