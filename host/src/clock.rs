//! The only source of time, so that whatever depends on it can be tested without waiting.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of time.
pub trait Clock: Send + Sync + 'static {
    /// Now, on a clock that never goes back.
    fn now(&self) -> Instant;

    /// Now, as a calendar says it: for showing and for what others have dated, never for measuring. It may jump.
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    /// The same, since 1970, UTC.
    fn unix(&self) -> Duration {
        self.wall().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }
}
