//! Time since 1970 as a process sees it from its start on, even if the wall clock is set meanwhile.

use super::Clock;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Milliseconds by which the start times of two processes may differ without their times being translated.
const SAME: u64 = 5_000;

/// Reads the wall clock once, when it is created. After that it advances with the uptime of the machine.
#[derive(Clone)]
pub struct SteadyClock {
    clock: Arc<dyn Clock>,
    start: u64,
}

/// A moment as one process dates it, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineTime {
    /// When the machine was started, since 1970. If the wall clock is set, processes that start later compute another value.
    start: u64,
    /// How long the machine had been up at that moment.
    up: u64,
}

impl SteadyClock {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let start = millis(clock.unix().saturating_sub(clock.up()));
        Self { clock, start }
    }

    pub fn now(&self) -> MachineTime {
        MachineTime { start: self.start, up: millis(self.clock.up()) }
    }
}

impl MachineTime {
    /// Milliseconds since 1970.
    pub fn unix(self) -> u64 {
        self.start.saturating_add(self.up)
    }

    /// The offset that translates the times of a process that wrote at the moment `then` to those of the process of `self`. The
    /// two differ if the wall clock was set between the starts of the processes. If the machine was restarted in between, the
    /// offset is 0, because then only the wall clock connects the two.
    pub fn offset_from(self, then: Self) -> i64 {
        let is_same = self.start.abs_diff(then.start) < SAME;
        if is_same || self.up < then.up { 0 } else { signed(self.start).saturating_sub(signed(then.start)) }
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use std::time::Duration;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn a_clock_that_is_set_moves_nothing_and_later_processes_know_by_how_much() {
        let machine = ManualClock::at(DAY * 20_000);
        let first = SteadyClock::new(machine.clone());
        let begun = first.now();
        machine.pass(Duration::from_secs(60));
        for wall in [DAY * 20_001, DAY * 19_000] {
            machine.set_wall(wall);
            assert_eq!(first.now().unix(), begun.unix() + 60_000, "the first process goes on");
            let later = SteadyClock::new(machine.clone()).now();
            assert_eq!(later.unix(), millis(wall));
            let offset = later.offset_from(first.now());
            assert_eq!(begun.unix().checked_add_signed(offset), Some(later.unix() - 60_000), "a minute ago");
        }
        // The wall clock is corrected slightly all the time.
        machine.set_wall(DAY * 20_000 + Duration::from_secs(61));
        assert_eq!(SteadyClock::new(machine.clone()).now().offset_from(begun), 0);
    }

    #[test]
    fn over_a_start_of_the_machine_the_wall_clock_counts() {
        let machine = ManualClock::at(DAY * 20_000);
        let before = SteadyClock::new(machine.clone()).now();
        machine.set_wall(DAY * 20_002);
        machine.set_up(Duration::from_secs(9));
        assert_eq!(SteadyClock::new(machine).now().offset_from(before), 0);
    }
}
