//! The only source of time, so that whatever depends on it can be tested without waiting.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of time.
pub trait Clock: Send + Sync + 'static {
    /// Now, for whatever is measured or waits.
    fn now(&self) -> Instant;
    /// Now as others write it: since 1970, UTC. It may jump.
    fn wall(&self) -> Duration;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn wall(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}
