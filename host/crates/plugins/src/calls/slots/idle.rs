//! Detects whether root calls come one after the other. If so, the next instance is created between two calls, which shortens
//! the next call; while other calls run, creating it would take time from them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts root calls, to see whether others begin while one runs.
#[derive(Default)]
pub(in crate::calls) struct IdleDetector {
    started: AtomicU64,
}

/// The number of a root call.
#[derive(Clone, Copy)]
pub(in crate::calls) struct CallNumber(u64);

impl IdleDetector {
    /// Counts a root call that begins.
    pub(in crate::calls) fn call_begins(&self) -> CallNumber {
        CallNumber(self.started.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Whether no other root call has begun since this one.
    pub(in crate::calls) fn is_last(&self, call: CallNumber) -> bool {
        self.started.load(Ordering::Relaxed) == call.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_many_callers_from_a_single_one() {
        let idle = IdleDetector::default();
        let first = idle.call_begins();
        assert!(idle.is_last(first));
        let second = idle.call_begins();
        assert!(!idle.is_last(first) && idle.is_last(second));
    }
}
