//! Deadlines that pause while a chain of calls waits for somebody outside the host, because how long a person thinks is
//! not the guest's fault. Such waiting is bounded by `limits.answer-timeout`.

use platform::clock::Clock;
use platform::sync::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The pauses of one chain of calls, by which all its deadlines move. Clones share them.
#[derive(Clone)]
pub struct PausableDeadline(Arc<SharedPauses>);

struct SharedPauses {
    clock: Arc<dyn Clock>,
    pauses: Mutex<Pauses>,
    resumed: Notify,
}

#[derive(Default)]
struct Pauses {
    /// Guards that are held now.
    active: u32,
    /// When the current pause began.
    since: Option<Instant>,
    /// Length of all finished pauses.
    finished: Duration,
}

/// The deadlines are paused until this is dropped.
pub struct PauseGuard(PausableDeadline);

impl PausableDeadline {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(SharedPauses { clock, pauses: Mutex::default(), resumed: Notify::new() }))
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    pub fn pause(&self) -> PauseGuard {
        let now = self.0.clock.now();
        let mut pauses = self.0.pauses.lock();
        pauses.active += 1;
        pauses.since.get_or_insert(now);
        PauseGuard(self.clone())
    }

    /// How long the chain has been paused up to now.
    pub fn paused_time(&self) -> Duration {
        self.paused_time_and_active().0
    }

    fn paused_time_and_active(&self) -> (Duration, bool) {
        let pauses = self.0.pauses.lock();
        let current = pauses.since.map_or(Duration::ZERO, |since| self.0.clock.now().saturating_duration_since(since));
        (pauses.finished + current, pauses.active > 0)
    }

    /// Waits for a deadline, which was set when the chain had been paused for `paused_before`.
    pub async fn expired(&self, deadline: Instant, paused_before: Duration) {
        loop {
            // Registered before the check, so that no end of a pause is missed.
            let resumed = self.0.resumed.notified();
            let (paused, is_paused) = self.paused_time_and_active();
            if is_paused {
                resumed.await;
                continue;
            }
            let deadline = deadline + paused.saturating_sub(paused_before);
            tokio::select! {
                () = tokio::time::sleep_until(deadline.into()) => {}
                () = resumed => continue,
            }
            let (paused_now, is_paused) = self.paused_time_and_active();
            if !is_paused && paused_now == paused {
                return;
            }
        }
    }
}

impl Drop for PauseGuard {
    fn drop(&mut self) {
        let shared = &self.0.0;
        let now = shared.clock.now();
        let mut pauses = shared.pauses.lock();
        pauses.active -= 1;
        if pauses.active == 0 {
            let since = pauses.since.take();
            pauses.finished += since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        }
        drop(pauses);
        shared.resumed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::SystemClock;

    #[tokio::test]
    async fn a_deadline_moves_by_the_length_of_overlapping_pauses() {
        let (clock, time) = (Arc::new(SystemClock), Duration::from_millis(100));
        let pausable_deadline = PausableDeadline::new(clock.clone());
        let begun = clock.now();
        let (first, second) = (pausable_deadline.pause(), pausable_deadline.pause());
        let waiting = async {
            tokio::time::sleep(time).await;
            drop(first);
            tokio::time::sleep(time).await;
            drop(second);
        };
        let expired = pausable_deadline.expired(begun + time, Duration::ZERO);
        let ended = async {
            expired.await;
            clock.now()
        };
        let ((), ended) = tokio::join!(waiting, ended);
        assert!(pausable_deadline.paused_time() >= 2 * time, "{:?}", pausable_deadline.paused_time());
        assert!(
            ended - begun >= pausable_deadline.paused_time() + time,
            "{:?}, {:?}",
            ended - begun,
            pausable_deadline.paused_time()
        );
    }
}
