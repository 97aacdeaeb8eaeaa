//! The time of a chain of calls, which stands still while the chain waits for somebody outside the host, because how long a
//! person thinks is not the guest's fault. Such waiting is bounded by `limits.answer-timeout`.

use platform::clock::Clock;
use platform::sync::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Notify;

/// The clock of one chain of calls. All deadlines of the chain are times of this clock, so each wait moves all of them,
/// including those that were set before it. Clones share the pauses.
#[derive(Clone)]
pub struct PausableClock(Arc<SharedPauses>);

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

/// The clock stands still until this is dropped.
pub struct PauseGuard(PausableClock);

impl PausableClock {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(SharedPauses { clock, pauses: Mutex::default(), resumed: Notify::new() }))
    }

    /// The clock that is never paused.
    pub fn unpaused(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// The same clock, for code that takes any clock.
    pub fn as_clock(&self) -> Arc<dyn Clock> {
        self.0.clone()
    }

    pub fn now(&self) -> Instant {
        self.0.now()
    }

    pub fn pause(&self) -> PauseGuard {
        let now = self.0.clock.now();
        let mut pauses = self.0.pauses.lock();
        pauses.active += 1;
        pauses.since.get_or_insert(now);
        PauseGuard(self.clone())
    }

    /// Waits until it is `deadline` on this clock.
    pub async fn reached(&self, deadline: Instant) {
        loop {
            // Registered before the check, so that no end of a pause is missed.
            let resumed = self.0.resumed.notified();
            let (is_paused, finished) = {
                let pauses = self.0.pauses.lock();
                (pauses.active > 0, pauses.finished)
            };
            if is_paused {
                resumed.await;
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep_until((deadline + finished).into()) => {}
                () = resumed => continue,
            }
            let pauses = self.0.pauses.lock();
            if pauses.active == 0 && pauses.finished == finished {
                return;
            }
        }
    }
}

impl Clock for SharedPauses {
    fn now(&self) -> Instant {
        let pauses = self.pauses.lock();
        let now = pauses.since.unwrap_or_else(|| self.clock.now());
        now.checked_sub(pauses.finished).unwrap_or(now)
    }

    fn wall(&self) -> SystemTime {
        self.clock.wall()
    }

    fn up(&self) -> Duration {
        self.clock.up()
    }

    fn awake(&self) -> Duration {
        self.clock.awake()
    }

    fn cpu(&self) -> Duration {
        self.clock.cpu()
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
    use crate::journal::CallJournal;
    use platform::clock::SystemClock;

    #[tokio::test]
    async fn a_deadline_moves_by_the_length_of_overlapping_pauses() {
        let time = Duration::from_millis(100);
        let clock = PausableClock::new(Arc::new(SystemClock));
        let (begun, deadline) = (SystemClock.now(), clock.now() + time);
        let (first, second) = (clock.pause(), clock.pause());
        let waiting = async {
            tokio::time::sleep(time).await;
            drop(first);
            tokio::time::sleep(time).await;
            assert!(clock.now() < deadline, "it stands still");
            drop(second);
        };
        let ended = async {
            clock.reached(deadline).await;
            clock.now()
        };
        let ((), ended) = tokio::join!(waiting, ended);
        assert!(ended >= deadline, "{ended:?}, {deadline:?}");
        let taken = SystemClock.now() - begun;
        assert!(taken >= 3 * time, "{taken:?}");
    }

    /// Another process that goes on with a call subtracts what it has taken from its deadline.
    #[tokio::test]
    async fn what_a_call_has_taken_does_not_grow_while_it_waits() {
        let (clock, time) = (PausableClock::new(Arc::new(SystemClock)), Duration::from_millis(20));
        let earlier = Duration::from_secs(5);
        let journal = CallJournal::resumed(Arc::new(SystemClock), Vec::new(), earlier).unwrap();
        assert_eq!(journal.worked(), earlier);
        journal.begin_run(clock.as_clock());
        tokio::time::sleep(time).await;
        let pause = clock.pause();
        let taken = journal.worked();
        assert!(taken >= earlier + time, "{taken:?}");
        tokio::time::sleep(time).await;
        assert_eq!(journal.worked(), taken);
        drop(pause);
        tokio::time::sleep(time).await;
        assert!(journal.worked() >= taken + time);
    }
}
