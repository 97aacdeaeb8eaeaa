//! Answers, and computes for ever when the host then lets it free the answer.

use std::alloc::{GlobalAlloc, Layout, System};

struct Spinner;

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Spinner {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        while std::hint::black_box(layout.size()) == 12_345 {}
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static SPINNER: Spinner = Spinner;

guests::guest! {
    fn run(args) {
        let mut answer = String::with_capacity(12_345);
        answer.extend(std::iter::repeat_n('a', 12_345));
        Ok(answer.into())
    }
}
