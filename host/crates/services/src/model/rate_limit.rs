//! Limits the requests of all plugins in any minute.

use platform::clock::Clock;
use platform::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// The requests of the last minute; the limit also bounds how many are remembered.
pub(super) struct MinuteRateLimit {
    limit: u32,
    clock: Arc<dyn Clock>,
    last: Mutex<VecDeque<Instant>>,
}

/// The limit was reached.
#[derive(Debug, PartialEq)]
pub(super) struct RateLimited(pub(super) u32);

impl MinuteRateLimit {
    pub(super) fn new(limit: u32, clock: Arc<dyn Clock>) -> Self {
        Self { limit, clock, last: Mutex::default() }
    }

    /// Counts one request if the limit allows it.
    pub(super) fn take(&self) -> Result<(), RateLimited> {
        let now = self.clock.now();
        let mut last = self.last.lock();
        while last.front().is_some_and(|first| now.saturating_duration_since(*first) >= MINUTE) {
            last.pop_front();
        }
        if last.len() >= self.limit as usize {
            return Err(RateLimited(self.limit));
        }
        last.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::ManualClock;

    #[test]
    fn requests_are_allowed_again_after_a_minute() {
        let clock = ManualClock::new();
        let rate = MinuteRateLimit::new(2, clock.clone());
        let pass = |seconds| clock.pass(Duration::from_secs(seconds));
        assert_eq!(rate.take(), Ok(()));
        pass(30);
        assert_eq!((rate.take(), rate.take()), (Ok(()), Err(RateLimited(2))));
        pass(30);
        assert_eq!((rate.take(), rate.take()), (Ok(()), Err(RateLimited(2))));
        pass(30);
        assert_eq!((rate.take(), rate.take()), (Ok(()), Err(RateLimited(2))));
    }
}
