//! The current time on the process's own clock and on the wall clock; stored items are dated by the wall clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) now: Instant,
    pub(super) wall: SystemTime,
}

impl Moment {
    /// A time of this process, in milliseconds since 1970.
    pub(super) fn date(self, at: Instant) -> u64 {
        millis(self.wall + at.saturating_duration_since(self.now))
    }

    /// When a stored item expires; none if it has expired already. It never lives longer than an item that is made now, so that
    /// nothing is kept for years if the clock was set back.
    pub(super) fn end(self, expires: u64, lifetime: Duration) -> Option<Instant> {
        let left = Duration::from_millis(expires.saturating_sub(millis(self.wall)));
        (!left.is_zero()).then(|| self.now + left.min(lifetime))
    }
}

pub(super) fn millis(wall: SystemTime) -> u64 {
    u64::try_from(wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// None for a time that the system cannot represent.
pub(super) fn from_millis(millis: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis))
}
