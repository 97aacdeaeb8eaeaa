//! Decides when a series of changes is over: an editor saves many files, or one file in several steps.

use platform::clock::Clock;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A series is over when nothing has changed for so long.
const QUIET: Duration = Duration::from_millis(100);
/// Longest series. A program that changes files all the time, such as one that logs into the folder, must not delay a build for
/// ever.
const LONGEST: Duration = Duration::from_secs(2);

pub(super) struct Debounce {
    clock: Arc<dyn Clock>,
    /// When the series began, and its last change.
    series: Option<(Instant, Instant)>,
}

impl Debounce {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, series: None }
    }

    /// Something has changed.
    pub(super) fn changed(&mut self) {
        let now = self.clock.now();
        let began = self.series.map_or(now, |(began, _)| began);
        self.series = Some((began, now));
    }

    /// Ends the series, since it was returned or its changes were undone.
    pub(super) fn reset(&mut self) {
        self.series = None;
    }

    pub(super) fn is_idle(&self) -> bool {
        self.series.is_none()
    }

    /// How long to wait until the series is over; none if it is.
    pub(super) fn remaining(&self) -> Option<Duration> {
        let (began, last) = self.series?;
        let over = (last + QUIET).min(began + LONGEST);
        Some(over.saturating_duration_since(self.clock.now())).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::ManualClock;

    fn start() -> (Arc<ManualClock>, Debounce) {
        let clock = ManualClock::new();
        (clock.clone(), Debounce::new(clock))
    }

    #[test]
    fn a_series_is_over_when_it_was_quiet_for_long_enough() {
        let (clock, mut debounce) = start();
        assert_eq!(debounce.remaining(), None, "there is none");
        debounce.changed();
        assert_eq!(debounce.remaining(), Some(QUIET));
        clock.pass(QUIET / 2);
        assert_eq!(debounce.remaining(), Some(QUIET / 2));
        debounce.changed();
        assert_eq!(debounce.remaining(), Some(QUIET), "each change counts");
        clock.pass(QUIET);
        assert_eq!(debounce.remaining(), None);
    }

    #[test]
    fn a_series_without_end_is_over_all_the_same() {
        let (clock, mut debounce) = start();
        let step = QUIET / 2;
        let mut passed = Duration::ZERO;
        debounce.changed();
        while debounce.remaining().is_some() {
            clock.pass(step);
            passed += step;
            debounce.changed();
        }
        assert_eq!(passed, LONGEST);
        debounce.reset();
        debounce.changed();
        assert_eq!(debounce.remaining(), Some(QUIET), "the next series begins anew");
    }
}
