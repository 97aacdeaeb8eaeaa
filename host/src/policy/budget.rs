//! What is left in a call, and the chain of calls that shares it: inherited, never refilled.

use super::{Limits, Metering};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What one call may still use. A nested call gets the lesser of this and its own limits, and what it spends is taken
/// from its parent, so that no chain of calls ever gets more than its root had.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Fuel left; none when nobody up the chain is metered by fuel.
    pub fuel: Option<u64>,
    /// CPU time left; none when nobody up the chain is metered by CPU time.
    pub cpu: Option<Duration>,
    /// When the call ends, whatever happens.
    pub deadline: Instant,
    /// How long that was from the beginning of the call; for the error.
    pub time: Duration,
}

/// What a finished call used of its parent's budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Fuel, when metered by fuel.
    pub fuel: Option<u64>,
    /// Time on a CPU, host work included.
    pub cpu: Duration,
}

impl Spent {
    /// What a parent metered by fuel pays: the fuel itself, or one unit per nanosecond for a child metered by CPU time.
    pub fn as_fuel(&self) -> u64 {
        self.fuel.unwrap_or_else(|| u64::try_from(self.cpu.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Budget {
    /// The budget of a root call.
    pub fn root(limits: &Limits, now: Instant) -> Self {
        Self::within(limits, now, None)
    }

    /// The budget of a call nested in one that has `parent` left.
    pub fn nested(&self, limits: &Limits, now: Instant) -> Self {
        Self::within(limits, now, Some(self))
    }

    fn within(limits: &Limits, now: Instant, parent: Option<&Self>) -> Self {
        let deadline = parent.map_or(now + limits.deadline, |p| p.deadline.min(now + limits.deadline));
        let fuel_left = parent.and_then(|p| p.fuel);
        let cpu_left = parent.and_then(|p| p.cpu);
        let (fuel, cpu) = match limits.metering {
            Metering::Fuel => (Some(limits.fuel.min(fuel_left.unwrap_or(u64::MAX))), cpu_left),
            Metering::Ticks => {
                // A parent metered by fuel pays one unit per nanosecond, so that is also all its child can spend.
                let fuel_as_time = fuel_left.map(Duration::from_nanos).unwrap_or(Duration::MAX);
                (None, Some(limits.cpu.min(cpu_left.unwrap_or(Duration::MAX)).min(fuel_as_time)))
            }
        };
        Self { fuel, cpu, deadline, time: deadline.saturating_duration_since(now) }
    }
}

/// Why a chain of calls may not grow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineageError {
    /// The tool is already running further up.
    #[error("{0} is already being called in this chain: {1}")]
    Cycle(String, String),
    /// Too deep.
    #[error("reverse calls are nested {0} deep already, which is the limit")]
    Depth(u32),
    /// Too many.
    #[error("this request has made {0} reverse calls already, which is the limit")]
    Calls(u32),
}

/// The chain from the root call down to one call, with the counts that the whole tree shares.
#[derive(Debug, Clone)]
pub struct Lineage {
    chain: Vec<String>,
    depth_limit: u32,
    calls: Arc<AtomicU32>,
    calls_limit: u32,
}

impl Lineage {
    /// A chain of one: the root call of `tool`, under its plugin's limits.
    pub fn root(tool: String, limits: &Limits) -> Self {
        Self { chain: vec![tool], depth_limit: limits.depth, calls: Arc::default(), calls_limit: limits.calls }
    }

    /// The chain one call longer, and counted; refuses cycles, depth and number.
    pub fn descend(&self, tool: &str) -> Result<Self, LineageError> {
        if self.chain.iter().any(|name| name == tool) {
            return Err(LineageError::Cycle(tool.to_owned(), format!("{} -> {tool}", self.chain.join(" -> "))));
        }
        if self.depth() >= self.depth_limit {
            return Err(LineageError::Depth(self.depth_limit));
        }
        let counted =
            self.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < self.calls_limit).then_some(n + 1));
        if counted.is_err() {
            return Err(LineageError::Calls(self.calls_limit));
        }
        let mut chain = self.chain.clone();
        chain.push(tool.to_owned());
        Ok(Self { chain, ..self.clone() })
    }

    /// The chain below a plugin that has limits of its own: they can only tighten.
    pub fn tightened(mut self, limits: &Limits) -> Self {
        self.depth_limit = self.depth_limit.min(self.depth() + limits.depth);
        self
    }

    /// How many calls are above this one.
    pub fn depth(&self) -> u32 {
        u32::try_from(self.chain.len() - 1).unwrap_or(u32::MAX)
    }

    /// Reverse calls made so far in the whole tree.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The chain in words, root first.
    pub fn path(&self) -> String {
        self.chain.join(" -> ")
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

    #[test]
    fn chains_end() {
        let limits = Limits { depth: 2, calls: 3, ..Limits::default() };
        let root = Lineage::root("plugins.a.x".into(), &limits);
        let one = root.descend("b.y").unwrap();
        assert!(matches!(one.descend("b.y"), Err(LineageError::Cycle(..))));
        let two = one.descend("c.z").unwrap();
        assert_eq!(two.descend("d.z").unwrap_err(), LineageError::Depth(2));
        root.descend("e.x").unwrap();
        assert_eq!(root.descend("f.x").unwrap_err(), LineageError::Calls(3));
        assert_eq!((root.calls(), two.path().as_str()), (3, "plugins.a.x -> b.y -> c.z"));
    }
}
