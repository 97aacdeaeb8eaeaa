//! A clock for tests.

use super::{Clock, SystemClock};
use crate::sync::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct ManualClock {
    start: Instant,
    times: Mutex<Times>,
}

#[derive(Debug)]
struct Times {
    passed: Duration,
    /// Since 1970.
    wall: Duration,
    /// Since the machine was started.
    up: Duration,
}

impl ManualClock {
    /// A clock that begins in September 2001.
    pub fn new() -> Arc<Self> {
        Self::at(Duration::from_secs(1_000_000_000))
    }

    /// A clock that begins at this time since 1970.
    pub fn at(wall: Duration) -> Arc<Self> {
        let times = Times { passed: Duration::ZERO, wall, up: Duration::from_secs(1_000) };
        Arc::new(Self { start: SystemClock.now(), times: Mutex::new(times) })
    }

    /// Moves all times of this clock forward.
    pub fn pass(&self, time: Duration) {
        let mut times = self.times.lock();
        times.passed += time;
        times.wall += time;
        times.up += time;
    }

    /// Acts as if somebody set the date: only the time since 1970 changes.
    pub fn set_wall(&self, wall: Duration) {
        self.times.lock().wall = wall;
    }

    /// Sets how long ago the machine was started. A lower value than before means that it was restarted.
    pub fn set_up(&self, up: Duration) {
        self.times.lock().up = up;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.start + self.times.lock().passed
    }

    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + self.times.lock().wall
    }

    fn up(&self) -> Duration {
        self.times.lock().up
    }

    fn awake(&self) -> Duration {
        self.up()
    }
}
