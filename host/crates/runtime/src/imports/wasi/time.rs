//! What time it is, as a guest is told: in whole milliseconds.
//!
//! Enough for dates, deadlines and statistics, and too coarse for a guest to tell by the time that something took what
//! another guest or the host has just done on the same processor (a cache that is warm, a branch that was taken). It has no
//! threads to count the time with instead.

use std::time::Duration;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock};

/// The finest step.
const STEP: Duration = Duration::from_millis(1);
const STEP_NANOS: u64 = 1_000_000;

/// A clock without its finer digits.
pub(super) struct Coarse<C>(pub(super) C);

impl<C: HostMonotonicClock> HostMonotonicClock for Coarse<C> {
    fn resolution(&self) -> u64 {
        STEP_NANOS
    }

    fn now(&self) -> u64 {
        let now = self.0.now();
        now - now % STEP_NANOS
    }
}

impl<C: HostWallClock> HostWallClock for Coarse<C> {
    fn resolution(&self) -> Duration {
        STEP
    }

    fn now(&self) -> Duration {
        let now = self.0.now();
        now - Duration::from_nanos(u64::from(now.subsec_nanos()) % STEP_NANOS)
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
    fn finer_digits_are_not_told() {
        for (exact, told) in
            [(0, 0), (999_999, 0), (1_000_000, 1), (1_999_999_999, 1_999), (86_400_000_000_001, 86_400_000)]
        {
            let clock = || Coarse(At(Duration::from_nanos(exact)));
            assert_eq!(HostWallClock::now(&clock()), Duration::from_millis(told));
            assert_eq!(HostMonotonicClock::now(&clock()), told * 1_000_000);
        }
    }
}
