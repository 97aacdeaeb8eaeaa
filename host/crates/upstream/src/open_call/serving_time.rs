//! How long the reverse calls of one open call have been served. All of them together have one time limit, so that a server
//! cannot prolong its call by making one after the other.

use platform::sync::Mutex;
use runtime::engine::PausableClock;
use std::time::{Duration, Instant};

/// Counts the time in which at least one reverse call is served. Pauses of the chain, such as for a person who answers a
/// question, do not count.
pub(crate) struct ServingTime {
    clock: PausableClock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    active: u32,
    /// When the first of the active ones began.
    since: Option<Instant>,
    finished: Duration,
}

/// A reverse call is served until this is dropped.
pub(crate) struct ServingGuard<'a>(&'a ServingTime);

impl ServingTime {
    pub(crate) fn new(clock: PausableClock) -> Self {
        Self { clock, state: Mutex::default() }
    }

    pub(crate) fn start(&self) -> ServingGuard<'_> {
        let mut state = self.state.lock();
        state.active += 1;
        state.since.get_or_insert_with(|| self.clock.now());
        ServingGuard(self)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        let state = self.state.lock();
        state.finished + self.current(&state)
    }

    fn current(&self, state: &State) -> Duration {
        state.since.map_or(Duration::ZERO, |began| self.clock.now().saturating_duration_since(began))
    }
}

impl Drop for ServingGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.active -= 1;
        if state.active == 0 {
            let current = self.0.current(&state);
            state.finished += current;
            state.since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::ManualClock;

    #[test]
    fn overlapping_calls_count_once_and_pauses_not_at_all() {
        let clock = ManualClock::new();
        let wait = |seconds| clock.pass(Duration::from_secs(seconds));
        let pausable = PausableClock::new(clock.clone());
        let time = ServingTime::new(pausable.clone());
        let seconds = || time.elapsed().as_secs();
        wait(5);
        let first = time.start();
        wait(2);
        let second = time.start();
        wait(3);
        drop(first);
        assert_eq!(seconds(), 5);
        let pause = pausable.pause();
        wait(60);
        assert_eq!(seconds(), 5);
        drop(pause);
        wait(1);
        drop(second);
        wait(9);
        assert_eq!(seconds(), 6);
        let _third = time.start();
        wait(4);
        assert_eq!(seconds(), 10, "it never begins anew");
    }
}
