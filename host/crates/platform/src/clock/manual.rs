//! A clock for tests.

use super::{Clock, SystemClock};
use crate::sync::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that stands still until it is moved.
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
    /// In September 2001.
    pub fn new() -> Arc<Self> {
        Self::at(Duration::from_secs(1_000_000_000))
    }

    /// At a time since 1970.
    pub fn at(wall: Duration) -> Arc<Self> {
        let times = Times { passed: Duration::ZERO, wall, up: Duration::from_secs(1_000) };
        Arc::new(Self { start: SystemClock.now(), times: Mutex::new(times) })
    }

    /// Moves all of its times.
    pub fn pass(&self, time: Duration) {
        let mut times = self.times.lock();
        times.passed += time;
        times.wall += time;
        times.up += time;
    }

    /// Somebody sets the date: only the time since 1970 changes.
    pub fn set_wall(&self, wall: Duration) {
        self.times.lock().wall = wall;
    }

    /// The machine was started so long ago; if that is less than before, once more.
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
