//! A ceiling on requests in any minute, over all plugins.

use platform::clock::Clock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// Remembers the requests of the last minute; the ceiling bounds how many there are to remember.
pub(super) struct PerMinute {
    limit: u32,
    clock: Arc<dyn Clock>,
    last: Mutex<VecDeque<Instant>>,
}

/// There were enough already.
#[derive(Debug, PartialEq)]
pub(super) struct Crowded(pub(super) u32);

impl PerMinute {
    pub(super) fn new(limit: u32, clock: Arc<dyn Clock>) -> Self {
        Self { limit, clock, last: Mutex::default() }
    }

    /// Counts one more request, unless it is one too many.
    pub(super) fn take(&self) -> Result<(), Crowded> {
        let now = self.clock.now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        while last.front().is_some_and(|first| now.saturating_duration_since(*first) >= MINUTE) {
            last.pop_front();
        }
        if last.len() >= self.limit as usize {
            return Err(Crowded(self.limit));
        }
        last.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Hand(Mutex<Instant>);

    impl Clock for Hand {
        fn now(&self) -> Instant {
            *self.0.lock().unwrap()
        }
    }

    #[test]
    fn a_minute_later_there_is_room_again() {
        let clock = Arc::new(Hand(Mutex::new(Instant::now())));
        let rate = PerMinute::new(2, clock.clone());
        let pass = |seconds| *clock.0.lock().unwrap() += Duration::from_secs(seconds);
        assert_eq!(rate.take(), Ok(()));
        pass(30);
        assert_eq!((rate.take(), rate.take()), (Ok(()), Err(Crowded(2))));
        pass(30);
        assert_eq!((rate.take(), rate.take()), (Ok(()), Err(Crowded(2))));
        pass(30);
        assert_eq!((rate.take(), rate.take()), (Ok(()), Err(Crowded(2))));
    }
}
