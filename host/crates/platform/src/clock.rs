//! The only source of time, so that tests need not wait.

mod manual;
mod steady;

pub use manual::ManualClock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
pub use steady::{MachineTime, SteadyClock};

pub trait Clock: Send + Sync + 'static {
    /// Now, on a clock that never goes back.
    fn now(&self) -> Instant;

    /// The current wall-clock time: for display and for timestamps that others set, never to measure. It may jump.
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    /// The wall-clock time as the time since 1970, UTC.
    fn unix(&self) -> Duration {
        self.wall().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// How long the machine has been up, including sleep. All its processes see the same value, and nobody can set it. A clock
    /// for tests that does not define it uses the wall clock.
    fn up(&self) -> Duration {
        self.unix()
    }

    /// The same without the time that the machine slept: none of its processes could do anything then.
    fn awake(&self) -> Duration {
        self.unix()
    }

    /// CPU time of the calling thread. Only the difference of two values on one thread is meaningful.
    fn cpu(&self) -> Duration {
        thread_time(self)
    }
}

#[cfg(unix)]
fn thread_time(_: &(impl Clock + ?Sized)) -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Systems without a CPU clock per thread count all time that passes.
#[cfg(not(unix))]
fn thread_time(clock: &(impl Clock + ?Sized)) -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let now = clock.now();
    now.saturating_duration_since(*START.get_or_init(|| now))
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[cfg(unix)]
    fn up(&self) -> Duration {
        // On other systems the monotonic clock includes sleep.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let clock = rustix::time::ClockId::Boottime;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let clock = rustix::time::ClockId::Monotonic;
        Duration::try_from(rustix::time::clock_gettime(clock)).unwrap_or_default()
    }

    #[cfg(unix)]
    fn awake(&self) -> Duration {
        Duration::try_from(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_up_at_least_as_long_as_it_is_awake() {
        let (awake, up) = (SystemClock.awake(), SystemClock.up());
        assert!(Duration::ZERO < awake && awake <= up && up < SystemClock.unix(), "{awake:?}, {up:?}");
        assert!(SystemClock.awake() >= awake);
    }

    #[test]
    fn a_thread_that_waits_has_no_cpu_time() {
        let (clock, wait) = (SystemClock, Duration::from_millis(50));
        let (cpu, wall) = (clock.cpu(), clock.now());
        std::thread::sleep(wait);
        assert!(clock.now() - wall >= wait && (!cfg!(unix) || clock.cpu() - cpu < wait / 2));
        let cpu = clock.cpu();
        while clock.cpu() - cpu < Duration::from_millis(5) {
            std::hint::spin_loop();
        }
    }
}
