//! Clocks with a resolution of one millisecond.
//!
//! Precise enough for dates, deadlines and statistics, but too coarse for timing attacks on what another guest or the
//! host just did on the same processor (a warm cache, a predicted branch). A guest has no threads to build a finer
//! clock from.

use std::time::Duration;
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
