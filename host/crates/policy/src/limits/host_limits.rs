//! Limits of the whole host: parked calls, tasks, failing tools, and each principal's share.

use super::Rate;
use bytesize::ByteSize;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ParkedCallLimits {
    /// Number of parked calls, and separately of legacy calls that wait on their own streams. Each call nested in them counts
    /// as well. Bounds instances that wait for clients that never return.
    pub calls: usize,
    /// Waiting calls of one principal. Bounds what one principal takes from the others.
    pub per_principal: usize,
    /// Memory of all of them: linear memory, tables, and what the host keeps for them. Bounds the cost of waiting.
    pub memory: ByteSize,
    /// Whether they are also stored in the state folder, where other processes find them. The answers of users are stored there
    /// then.
    pub stored: bool,
}

impl ParkedCallLimits {
    /// The share of one principal.
    pub fn of_one(&self) -> Self {
        let (calls, part) = (self.calls.max(1) as u64, self.per_principal.min(self.calls));
        let memory = ByteSize::b(self.memory.as_u64() / calls * part as u64);
        Self { calls: part, per_principal: part, memory, stored: self.stored }
    }
}

impl Default for ParkedCallLimits {
    fn default() -> Self {
        Self { calls: 1_000, per_principal: 250, memory: ByteSize::gib(1), stored: true }
    }
}

/// Tasks: calls that go on after their request is answered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TaskLimits {
    /// How long a call runs before it becomes a task, if its client can follow one.
    #[serde(with = "humantime_serde")]
    pub inline: Duration,
    /// Number of tasks that are kept, including ended ones. Bounds what is left behind by clients that never fetch their
    /// results.
    pub kept: u32,
    /// Number of kept tasks of one principal. Bounds what one principal takes from the others.
    pub per_principal: u32,
    /// Size of all tasks in the store; a principal gets its part of it. Bounds the disk that results fill.
    pub size: ByteSize,
    /// Size of the result of one task. Bounds what is read and sent each time somebody asks for the task.
    pub result: ByteSize,
    /// How long a task may take. Bounds tasks that nobody cancels.
    #[serde(with = "humantime_serde")]
    pub run: Duration,
    /// How long a task is kept after it has ended. Bounds the store, too.
    #[serde(with = "humantime_serde")]
    pub keep: Duration,
    /// Which failures the steps of a task's call survive.
    pub survive: Survive,
}

/// Which failures stored work survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Survive {
    /// The end of the process at any moment. A loss of power may lose the last moments.
    #[default]
    Crash,
    /// A loss of power, too. Each step waits until the disk has stored it.
    PowerLoss,
}

impl TaskLimits {
    /// The longest that `run` and `keep` may be.
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

    /// Bytes that the tasks of one principal may take.
    pub fn size_of_one(&self) -> u64 {
        self.size.as_u64() / u64::from(self.kept.max(1)) * u64::from(self.per_principal.min(self.kept))
    }

    /// Refuses impossible limits; the error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        let long = [("run", self.run), ("keep", self.keep)].into_iter().find(|(_, time)| *time > Self::LONGEST);
        match long {
            Some((key, _)) => Err(format!("tasks.{key} is more than 30 days")),
            None if self.run.is_zero() => Err("tasks.run = 0 would end every task at once".into()),
            None => Ok(()),
        }
    }
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            inline: Duration::from_secs(10),
            kept: 1_000,
            per_principal: 250,
            size: ByteSize::gib(1),
            result: ByteSize::mib(8),
            run: Duration::from_secs(24 * 60 * 60),
            keep: Duration::from_secs(60 * 60),
            survive: Survive::Crash,
        }
    }
}

/// The circuit breaker of a failing tool. Bounds what a broken or malicious tool costs all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BreakerLimits {
    /// How many failures within the window open the circuit, if there are at least as many of them as successes. 0: it never
    /// opens.
    pub failures: u32,
    #[serde(with = "humantime_serde")]
    pub within: Duration,
    /// How long the circuit stays open before one trial call. Doubled each time the trial fails.
    #[serde(with = "humantime_serde")]
    pub open: Duration,
    #[serde(with = "humantime_serde")]
    pub at_most: Duration,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        let (within, open) = (Duration::from_secs(30), Duration::from_secs(30));
        Self { failures: 5, within, open, at_most: Duration::from_secs(600) }
    }
}

/// Each principal's share of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PrincipalLimits {
    /// Running calls. Bounds what one principal's slow calls take from the others.
    pub concurrent: u32,
    /// Calls that wait for a slot. Bounds the memory of their requests.
    pub queue: u32,
    /// How often it may call; absent: unlimited.
    pub rate: Option<Rate>,
}

impl Default for PrincipalLimits {
    fn default() -> Self {
        Self { concurrent: 96, queue: 4_096, rate: None }
    }
}

impl PrincipalLimits {
    /// How many calls the whole host runs at the same time.
    pub const ALL: u32 = 128;

    /// Refuses impossible limits; the error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        match (self.concurrent, self.queue) {
            (0, _) => Err("per-principal.concurrent = 0 would let nobody call anything".into()),
            (more, _) if more > Self::ALL => {
                Err(format!("per-principal.concurrent = {more} is more than the host runs at once, {}", Self::ALL))
            }
            (_, long) if long > 100_000 => Err(format!("per-principal.queue = {long} is more than 100000")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_has_some_and_not_more_than_all() {
        PrincipalLimits::default().check().unwrap();
        for bad in ["concurrent = 0", "concurrent = 129", "queue = 100_001"] {
            assert!(toml::from_str::<PrincipalLimits>(bad).unwrap().check().is_err(), "{bad}");
        }
        assert!(toml::from_str::<PrincipalLimits>("rate = \"often\"").is_err());
    }

    #[test]
    fn tasks_end_and_one_principal_has_a_part_of_them() {
        let limits = TaskLimits::default();
        limits.check().unwrap();
        assert_eq!(limits.size_of_one() / 1_000_000, 268);
        for bad in ["run = \"0s\"", "run = \"31days\"", "keep = \"31days\""] {
            assert!(toml::from_str::<TaskLimits>(bad).unwrap().check().is_err(), "{bad}");
        }
        assert_eq!(TaskLimits { kept: 0, per_principal: 9, ..limits }.size_of_one(), 0);
    }
}
