//! The budget of a call. Nested calls inherit it, and it is never refilled.

use super::{Limits, Metering};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What one call may still use. A nested call gets the lesser of this and its own limits. What it uses is taken from its
/// parent, so a chain of calls never gets more than its root had.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Fuel left; `None` if no call up the chain is metered by fuel.
    pub fuel: Option<u64>,
    /// CPU time left; `None` if no call up the chain is metered by CPU time.
    pub cpu: Option<Duration>,
    /// When the call ends in any case. It is a time on the clock of the call's chain, which stands still while the chain waits
    /// for somebody outside of the host.
    pub deadline: Instant,
    /// Time from the start of the call to the deadline, for the text of the error.
    pub time: Duration,
}

/// What a finished call used of its parent's budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUsage {
    /// Fuel, when metered by fuel.
    pub fuel: Option<u64>,
    /// Time on a CPU, including the work of the host.
    pub cpu: Duration,
    /// The part of `cpu` that was used while the caller itself was not running: by calls that came back from outside.
    pub elsewhere: Duration,
}

impl BudgetUsage {
    /// What a parent that is metered by fuel pays: the fuel, or one unit per nanosecond of a child metered by CPU time.
    pub fn as_fuel(&self) -> u64 {
        self.fuel.unwrap_or_else(|| u64::try_from(self.cpu.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Budget {
    /// The budget of a root call.
    pub fn root(limits: &Limits, now: Instant) -> Self {
        Self::within(limits, limits.deadline(), now, None)
    }

    /// The budget of a root call that becomes a task because its tool declares that it may run long.
    pub fn task(limits: &Limits, now: Instant) -> Self {
        Self::within(limits, limits.task_deadline(), now, None)
    }

    /// The budget of a call nested in one that has `parent` left.
    pub fn nested(&self, limits: &Limits, now: Instant) -> Self {
        Self::within(limits, limits.deadline(), now, Some(self))
    }

    pub fn started_at(&self) -> Instant {
        self.deadline.checked_sub(self.time).unwrap_or(self.deadline)
    }

    /// The share of each of `calls` concurrent calls.
    pub fn split(self, calls: usize) -> Self {
        let calls = u32::try_from(calls.max(1)).unwrap_or(u32::MAX);
        Self { fuel: self.fuel.map(|fuel| fuel / u64::from(calls)), cpu: self.cpu.map(|cpu| cpu / calls), ..self }
    }

    fn within(limits: &Limits, time: Duration, now: Instant, parent: Option<&Self>) -> Self {
        let deadline = parent.map_or(now + time, |p| p.deadline.min(now + time));
        let fuel_left = parent.and_then(|p| p.fuel);
        let cpu_left = parent.and_then(|p| p.cpu);
        let (fuel, cpu) = match limits.metering {
            Metering::Fuel => (Some(limits.fuel.min(fuel_left.unwrap_or(u64::MAX))), cpu_left),
            Metering::Ticks => {
                // A parent metered by fuel pays one unit per nanosecond, so its fuel also limits the CPU time of its child.
                let fuel_as_time = fuel_left.map(Duration::from_nanos).unwrap_or(Duration::MAX);
                (None, Some(limits.cpu.min(cpu_left.unwrap_or(Duration::MAX)).min(fuel_as_time)))
            }
        };
        Self { fuel, cpu, deadline, time: deadline.saturating_duration_since(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_never_gets_more_than_its_parent_has() {
        let now = Instant::now();
        let limits = Limits::default();
        let second = Duration::from_secs(1);
        let parent = Budget { fuel: Some(500), cpu: None, deadline: now + second, time: second };
        let child = parent.nested(&limits, now);
        assert_eq!((child.fuel, child.deadline, child.time), (Some(500), parent.deadline, second));
        let ticks = Limits { metering: Metering::Ticks, ..Limits::default() };
        assert_eq!(parent.nested(&ticks, now).cpu, Some(Duration::from_nanos(500)));
        let by_time = Budget { fuel: None, cpu: Some(Duration::from_millis(7)), deadline: now, time: second };
        let child = by_time.nested(&limits, now);
        assert_eq!((child.fuel, child.cpu), (Some(limits.fuel), Some(Duration::from_millis(7))));
    }
}
