//! The only source of time, so that whatever depends on it can be tested without waiting.

use std::time::{Instant, SystemTime};

/// A source of time.
pub trait Clock: Send + Sync + 'static {
    /// Now, on a clock that never goes back.
    fn now(&self) -> Instant;

    /// Now, as a calendar says it: for showing, never for measuring.
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn wall(&self) -> SystemTime {
        SystemTime::now()
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
