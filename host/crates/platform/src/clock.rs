//! The only source of time, so that tests need not wait.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub trait Clock: Send + Sync + 'static {
    /// Now, on a clock that never goes back.
    fn now(&self) -> Instant;

    /// The current wall-clock time: for display and for timestamps of others, never to measure. It may jump.
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    /// The same, as the time since 1970, UTC.
    fn unix(&self) -> Duration {
        self.wall().duration_since(UNIX_EPOCH).unwrap_or_default()
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

/// Systems without a CPU clock of threads count all time.
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
}

/// A clock of tests, that moves only when it is told to.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct ManualClock(crate::sync::Mutex<Duration>);

#[cfg(test)]
impl ManualClock {
    pub(crate) fn pass(&self, time: Duration) {
        *self.0.lock() += time;
    }

    /// Sets the time since 1970.
    pub(crate) fn set(&self, time: Duration) {
        *self.0.lock() = time;
    }
}

#[cfg(test)]
impl Clock for ManualClock {
    fn now(&self) -> Instant {
        static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(|| SystemClock.now());
        *START + *self.0.lock()
    }

    fn unix(&self) -> Duration {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
