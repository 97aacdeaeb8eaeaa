//! What a fresh instance asks again although the instance that saved the checkpoint has asked it before: the seed of its hash
//! maps, the first bytes of its random numbers, the time. It asks at some moment after the checkpoint, at which the earlier
//! instance did something else, so such a question has no number among the steps. Its answer is recorded below the step of the
//! checkpoint, in the order of these questions, and each run from there on gets the same answer.
//!
//! Questions that the earlier instance itself asked after the checkpoint have a number, and are found by that.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

#[derive(Default)]
pub(super) struct InstanceStart {
    /// The instance has begun from a checkpoint, and has saved none since.
    is_from_checkpoint: AtomicBool,
    asked: AtomicU32,
}

impl InstanceStart {
    pub(super) fn begins(&self) {
        self.is_from_checkpoint.store(true, Ordering::Relaxed);
    }

    /// It has saved a checkpoint of its own.
    pub(super) fn is_over(&self) {
        self.is_from_checkpoint.store(false, Ordering::Relaxed);
    }

    /// The number of such a question, if it is one. `has_number` says whether it is recorded as a step.
    pub(super) fn asks(&self, import: &str, has_number: impl FnOnce() -> bool) -> Option<u32> {
        let is_one = self.is_from_checkpoint.load(Ordering::Relaxed) && is_of_start(import) && !has_number();
        is_one.then(|| self.asked.fetch_add(1, Ordering::Relaxed))
    }
}

/// Whether this import is such a question: it changes nothing, and any answer will do.
fn is_of_start(import: &str) -> bool {
    import.starts_with("random.") || matches!(import, "clocks.wall" | "clocks.monotonic")
}
