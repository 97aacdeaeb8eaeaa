//! Looks for what an earlier call left behind, then leaves something itself.

use std::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);

guests::guest! {
    fn run(args) {
        let before = CALLS.fetch_add(1, Ordering::Relaxed);
        let first = core::arch::wasm32::memory_grow(0, 256);
        if first == usize::MAX {
            return Err(guests::failed("no memory"));
        }
        let start = first << 16;
        let mut found = 0;
        for address in start..start + (256 << 16) {
            // SAFETY: these pages were added above and nobody else knows them.
            unsafe {
                let byte = address as *mut u8;
                found += u32::from(byte.read_volatile() != 0);
                byte.write_volatile(0xA5);
            }
        }
        Ok(format!("calls before: {before}, bytes found: {found}").into())
    }
}
