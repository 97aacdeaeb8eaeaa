//! What a fresh instance asks once that the one which has saved a checkpoint had asked before: the seed of its hash maps, the
//! first bytes of its random numbers, the time. It is asked again at some moment behind the checkpoint, where earlier runs have
//! recorded something else. Such a question is no step of the call. Its answer is recorded below the step of the checkpoint, so
//! that each run from there on gets the same.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

#[derive(Default)]
pub(super) struct InstanceStart {
    /// The instance has begun from a checkpoint.
    has_begun: AtomicBool,
    asked: AtomicU32,
}

impl InstanceStart {
    pub(super) fn begins(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    /// The number of such a question, if it is one.
    pub(super) fn asks(&self, import: &str, is_elsewhere: impl FnOnce() -> bool) -> Option<u32> {
        let is_one = self.has_begun.load(Ordering::Relaxed) && is_of_start(import) && is_elsewhere();
        is_one.then(|| self.asked.fetch_add(1, Ordering::Relaxed))
    }
}

/// They change nothing, and any answer will do.
fn is_of_start(import: &str) -> bool {
    import.starts_with("random.") || matches!(import, "clocks.wall" | "clocks.monotonic")
}
