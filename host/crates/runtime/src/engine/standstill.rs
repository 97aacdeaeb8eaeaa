//! Time that a chain of calls spends waiting for somebody outside: its deadlines stand still meanwhile, because how long a
//! person thinks is not the guest's fault. What bounds such waiting is `limits.answer`.

use platform::clock::Clock;
use policy::Budget;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Shared by all calls of a chain. Clones are the same.
#[derive(Clone)]
pub struct PausableDeadline(Arc<Shared>);

struct Shared {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    resumed: Notify,
}

#[derive(Default)]
struct State {
    /// How many wait, and since when the first does.
    waiting: u32,
    since: Option<Instant>,
    /// Of all that is over.
    total: Duration,
}

/// The deadlines stand still until it is dropped.
pub struct PauseGuard(PausableDeadline);

impl PausableDeadline {
    /// Nobody waits.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared { clock, state: Mutex::default(), resumed: Notify::new() }))
    }

    /// Somebody begins to wait.
    pub fn begin(&self) -> PauseGuard {
        let now = self.0.clock.now();
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting += 1;
        state.since.get_or_insert(now);
        PauseGuard(self.clone())
    }

    /// How long it was in all, up to now.
    pub fn total(&self) -> Duration {
        self.look().0
    }

    fn look(&self) -> (Duration, bool) {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let current = state.since.map_or(Duration::ZERO, |since| self.0.clock.now().saturating_duration_since(since));
        (state.total + current, state.waiting > 0)
    }

    /// Returns when a deadline has come that was set when `before` was the total.
    pub(super) async fn deadline(&self, budget: Budget, before: Duration) {
        loop {
            // Registered before looking, so that no end of a wait is missed.
            let resumed = self.0.resumed.notified();
            let (total, waiting) = self.look();
            if waiting {
                resumed.await;
                continue;
            }
            let deadline = budget.deadline + total.saturating_sub(before);
            tokio::select! {
                () = tokio::time::sleep_until(deadline.into()) => {}
                () = resumed => continue,
            }
            let (after, waiting) = self.look();
            if !waiting && after == total {
                return;
            }
        }
    }
}

impl Drop for PauseGuard {
    fn drop(&mut self) {
        let shared = &self.0.0;
        let now = shared.clock.now();
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        if state.waiting == 0 {
            let since = state.since.take();
            state.total += since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        }
        drop(state);
        shared.resumed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::SystemClock;

    #[tokio::test]
    async fn a_deadline_moves_by_the_time_waited() {
        let (clock, time) = (Arc::new(SystemClock), Duration::from_millis(100));
        let pausable_deadline = PausableDeadline::new(clock.clone());
        let begun = clock.now();
        let budget = Budget { fuel: None, cpu: None, deadline: begun + time, time };
        let (first, second) = (pausable_deadline.begin(), pausable_deadline.begin());
        let waiting = async {
            tokio::time::sleep(time).await;
            drop(first);
            tokio::time::sleep(time).await;
            drop(second);
        };
        let late = pausable_deadline.deadline(budget, Duration::ZERO);
        let ended = async {
            late.await;
            clock.now()
        };
        let ((), ended) = tokio::join!(waiting, ended);
        assert!(pausable_deadline.total() >= 2 * time, "{:?}", pausable_deadline.total());
        assert!(ended - begun >= pausable_deadline.total() + time, "{:?}, {:?}", ended - begun, pausable_deadline.total());
    }
}
