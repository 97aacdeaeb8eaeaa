//! Detects whether the host is idle. Deferred work, such as creating the next instance, is done only then: with a single
//! caller it shortens the next call; with many it would take time from the others.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// While busy, check again after this many calls.
const CHECK_INTERVAL: u64 = 16;

/// Counts root calls to see whether others begin while one ends.
#[derive(Default)]
pub(super) struct IdleDetector {
    started: AtomicU64,
    is_busy: AtomicBool,
}

impl IdleDetector {
    /// Counts a root call that begins.
    pub(super) fn call_begins(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether to call [`IdleDetector::is_still_idle`] after a call; while the host is busy, even that is too much work.
    pub(super) fn should_check(&self) -> bool {
        !self.is_busy.load(Ordering::Relaxed) || self.started.load(Ordering::Relaxed).is_multiple_of(CHECK_INTERVAL)
    }

    /// Lets all ready tasks run first; true when no call began meanwhile.
    pub(super) async fn is_still_idle(&self) -> bool {
        let started = self.started.load(Ordering::Relaxed);
        tokio::task::yield_now().await;
        let is_idle = started == self.started.load(Ordering::Relaxed);
        self.is_busy.store(!is_idle, Ordering::Relaxed);
        is_idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test]
    async fn tells_many_callers_from_a_single_one() {
        let idle = Arc::new(IdleDetector::default());
        idle.call_begins();
        assert!(idle.should_check() && idle.is_still_idle().await);
        let other = idle.clone();
        tokio::spawn(async move { other.call_begins() });
        assert!(!idle.is_still_idle().await && !idle.should_check());
        (2..CHECK_INTERVAL).for_each(|_| idle.call_begins());
        assert!(idle.should_check() && idle.is_still_idle().await && idle.should_check());
    }
}
