//! Clocks with a resolution of one millisecond.
//!
//! They are precise enough for dates, deadlines and statistics, but too coarse for timing attacks on what another guest or the
//! host just did on the same processor (a warm cache, a predicted branch). A guest has no threads to build a finer clock from.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use wasmtime_wasi::clocks::MonotonicClock;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock};

const RESOLUTION: Duration = Duration::from_millis(1);
const RESOLUTION_NANOS: u64 = 1_000_000;

/// A clock rounded down to the resolution.
pub(super) struct CoarseClock<C>(pub(super) C);

impl<C: HostMonotonicClock> HostMonotonicClock for CoarseClock<C> {
    fn resolution(&self) -> u64 {
        RESOLUTION_NANOS
    }

    fn now(&self) -> u64 {
        let now = self.0.now();
        now - now % RESOLUTION_NANOS
    }
}

impl<C: HostWallClock> HostWallClock for CoarseClock<C> {
    fn resolution(&self) -> Duration {
        RESOLUTION
    }

    fn now(&self) -> Duration {
        let now = self.0.now();
        now - Duration::from_nanos(u64::from(now.subsec_nanos()) % RESOLUTION_NANOS)
    }
}

/// The monotonic clock of a call: it continues when another process continues the call. Clones share it.
#[derive(Clone)]
pub struct CallClock(Arc<(MonotonicClock, AtomicU64)>);

/// The clock begins with one step of its resolution, because Go's runtime takes zero for a broken clock and aborts.
impl Default for CallClock {
    fn default() -> Self {
        Self(Arc::new((MonotonicClock::default(), AtomicU64::new(RESOLUTION_NANOS))))
    }
}

impl CallClock {
    /// Continues from the time `told`, which an earlier run got `ago` before now.
    pub(super) fn goes_on(&self, told: u64, ago: Duration) {
        let (clock, ahead) = &*self.0;
        let now = told.saturating_add(u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX));
        // It never goes back.
        ahead.fetch_max(now.saturating_sub(clock.now()), Ordering::Relaxed);
    }
}

impl HostMonotonicClock for CallClock {
    fn resolution(&self) -> u64 {
        self.0.0.resolution()
    }

    fn now(&self) -> u64 {
        let (clock, ahead) = &*self.0;
        clock.now().saturating_add(ahead.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct At(Duration);

    impl HostWallClock for At {
        fn resolution(&self) -> Duration {
            Duration::from_nanos(1)
        }

        fn now(&self) -> Duration {
            self.0
        }
    }

    impl HostMonotonicClock for At {
        fn resolution(&self) -> u64 {
            1
        }

        fn now(&self) -> u64 {
            u64::try_from(self.0.as_nanos()).unwrap()
        }
    }

    #[test]
    fn the_clock_of_a_call_goes_on_and_never_back() {
        const HOUR: u64 = 3_600_000_000_000;
        let clock = CallClock::default();
        assert!(CoarseClock(clock.clone()).now() > 0);
        assert!(clock.now() < HOUR);
        clock.goes_on(HOUR, Duration::from_hours(1));
        assert!((2 * HOUR..3 * HOUR).contains(&clock.now()));
        clock.goes_on(HOUR, Duration::ZERO);
        assert!(clock.now() >= 2 * HOUR);
        clock.goes_on(HOUR, Duration::MAX);
        assert_eq!(clock.now(), u64::MAX);
    }

    #[test]
    fn clocks_round_down_to_milliseconds() {
        for (exact, expected) in
            [(0, 0), (999_999, 0), (1_000_000, 1), (1_999_999_999, 1_999), (86_400_000_000_001, 86_400_000)]
        {
            let clock = || CoarseClock(At(Duration::from_nanos(exact)));
            assert_eq!(HostWallClock::now(&clock()), Duration::from_millis(expected));
            assert_eq!(HostMonotonicClock::now(&clock()), expected * 1_000_000);
        }
    }
}
