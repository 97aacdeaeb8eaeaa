//! Is there time to spare? Work that can wait, such as making the next instance, is done only while nobody else wants
//! the processors: for a lone caller it shortens the next call, in a crowd it would take the time from the others.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// In a crowd, look for its end this often.
const LOOK_AGAIN: u64 = 16;

/// Counts root calls to tell a lone caller from a crowd.
#[derive(Default)]
pub(super) struct Idle {
    begun: AtomicU64,
    crowded: AtomicBool,
}

impl Idle {
    /// A root call begins.
    pub(super) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether to ask [`Idle::lasts`] after the call that just ended; in a crowd even asking is work.
    pub(super) fn worth_asking(&self) -> bool {
        !self.crowded.load(Ordering::Relaxed) || self.begun.load(Ordering::Relaxed).is_multiple_of(LOOK_AGAIN)
    }

    /// Lets everything else that is ready go first; true when no call was among it.
    pub(super) async fn lasts(&self) -> bool {
        let begun = self.begun.load(Ordering::Relaxed);
        tokio::task::yield_now().await;
        let lone = begun == self.begun.load(Ordering::Relaxed);
        self.crowded.store(!lone, Ordering::Relaxed);
        lone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test]
    async fn tells_a_crowd_from_a_lone_caller() {
        let idle = Arc::new(Idle::default());
        idle.begin();
        assert!(idle.worth_asking() && idle.lasts().await);
        let other = idle.clone();
        tokio::spawn(async move { other.begin() });
        assert!(!idle.lasts().await && !idle.worth_asking());
        (2..LOOK_AGAIN).for_each(|_| idle.begin());
        assert!(idle.worth_asking() && idle.lasts().await && idle.worth_asking());
    }
}
