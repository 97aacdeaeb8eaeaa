//! Loops that keep processors busy, beside which all tests must pass, too.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::spawn;

/// Loops that run until it is dropped, or this process ends.
pub(crate) struct Busy(Arc<AtomicBool>);

impl Busy {
    pub(crate) fn start(loops: usize) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        for _ in 0..loops {
            let ended = ended.clone();
            spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        Self(ended)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
