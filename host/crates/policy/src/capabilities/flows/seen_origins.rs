//! The origins whose private results a tree of calls has seen, and the tasks that wait for another one.

use super::{Origin, PrivateOrigins};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

#[derive(Debug, Default)]
pub(crate) struct SeenOrigins(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    origins: PrivateOrigins,
    /// The waiting tasks, by number.
    waiting: BTreeMap<u64, Waker>,
    numbers: u64,
}

impl SeenOrigins {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an origin. If it is new, all waiting tasks are woken.
    pub(crate) fn mark(&self, origin: Origin) {
        let mut state = self.state();
        if state.origins.insert(origin) {
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_values().for_each(Waker::wake);
        }
    }

    pub(crate) fn origins(&self) -> PrivateOrigins {
        self.state().origins.clone()
    }

    /// A new number to wait under.
    pub(crate) fn next_number(&self) -> u64 {
        let mut state = self.state();
        state.numbers += 1;
        state.numbers
    }

    /// Wakes this task once. It replaces the task that waited under this number before.
    pub(crate) fn wait(&self, number: u64, task: Waker) {
        self.state().waiting.insert(number, task);
    }

    pub(crate) fn forget(&self, number: u64) {
        self.state().waiting.remove(&number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn whoever_waits_is_woken_and_then_forgotten() {
        let (seen, woken) = (SeenOrigins::default(), Arc::new(Woken::default()));
        let (number, task) = (seen.next_number(), Waker::from(woken.clone()));
        seen.wait(number, task.clone());
        seen.wait(number, task.clone());
        for origin in [Origin::Client, Origin::Client, Origin::User] {
            seen.mark(origin);
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "once for each time it asked");
        seen.wait(number, task);
        seen.forget(number);
        assert_eq!(Arc::strong_count(&woken), 1);
    }
}
