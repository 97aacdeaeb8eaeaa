//! Limits of the whole host: parked calls, failing tools, and each principal's share.

use super::Rate;
use bytesize::ByteSize;
use serde::Deserialize;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ParkedCallLimits {
    /// Parked calls, and separately legacy calls that wait on their own streams; each call nested in them counts as well.
    /// Bounds instances that wait for clients that never return.
    pub calls: usize,
    /// Waiting calls of one principal. Bounds what one principal takes from the others.
    pub per_principal: usize,
    /// What all of them hold: linear memory, tables, and what the host keeps for them. Bounds the cost of waiting.
    pub memory: ByteSize,
}

impl ParkedCallLimits {
    /// One principal's part of them.
    pub fn of_one(&self) -> Self {
        let (calls, part) = (self.calls.max(1) as u64, self.per_principal.min(self.calls));
        let memory = ByteSize::b(self.memory.as_u64() / calls * part as u64);
        Self { calls: part, per_principal: part, memory }
    }
}

impl Default for ParkedCallLimits {
    fn default() -> Self {
        Self { calls: 1_000, per_principal: 250, memory: ByteSize::gib(1) }
    }
}

/// The circuit breaker of a failing tool. Bounds what a broken or malicious tool costs everybody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BreakerLimits {
    /// Failures within the window, and at least as many as successes, that open the circuit; 0: never.
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
    /// Concurrent calls of the whole host.
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
}
