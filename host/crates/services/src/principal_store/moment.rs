//! Now, on the clock of the process and on that of the wall: what is stored is dated by the wall clock.

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

    /// When a stored item's time is over; none if it is over now. Not later than an item lives that is made now: if the clock was
    /// set back, nothing is kept for years.
    pub(super) fn end(self, expires: u64, lifetime: Duration) -> Option<Instant> {
        let left = Duration::from_millis(expires.saturating_sub(millis(self.wall)));
        (!left.is_zero()).then(|| self.now + left.min(lifetime))
    }
}

pub(super) fn millis(wall: SystemTime) -> u64 {
    u64::try_from(wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// None for a time that no clock shows.
pub(super) fn from_millis(millis: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis))
}
