//! Ceilings of one call, and of a plugin's calls together. Every number says which attack or cost it bounds.

use super::{BreakerLimits, Rate};
use bytesize::ByteSize;
use serde::Deserialize;
use std::time::Duration;

/// How a plugin's computing is metered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metering {
    /// Exact and deterministic, about one unit per instruction; costs up to 2x in code made of tiny calls.
    #[default]
    Fuel,
    /// CPU time, checked every epoch tick; costs next to nothing, but two runs never measure alike.
    Ticks,
}

/// What happens to a chunk when the client is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The guest waits. Nothing is lost.
    #[default]
    Block,
    /// The oldest that waits is dropped, and counted. The guest never waits: for output that is stale when it is late.
    DropOldest,
}

/// A ceiling outside what the host allows.
#[derive(Debug, thiserror::Error)]
#[error("limits.{key} = {value} is outside what the host allows: {low} to {high}")]
pub struct LimitError {
    key: &'static str,
    value: String,
    low: String,
    high: String,
}

/// The ceilings of one call, and of all calls of the plugin. Sizes in bytes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Limits {
    /// Which meter stops a guest that computes for ever.
    pub metering: Metering,
    /// Fuel, under `metering = "fuel"`. Bounds endless loops; a billion is about a second.
    pub fuel: u64,
    /// CPU time, under `metering = "ticks"`. Bounds endless loops.
    #[serde(with = "humantime_serde")]
    pub cpu: Duration,
    /// Linear memory of all the instances of a call together. Bounds a guest that fills the host's memory.
    pub memory: ByteSize,
    /// Wall-clock time including waiting. Bounds a guest that holds a connection without computing.
    #[serde(with = "humantime_serde")]
    pub deadline: Duration,
    /// Result and chunks of a call together. Bounds what one call puts on the wire and into the client's memory.
    pub output: ByteSize,
    /// One chunk. Bounds what waits in a queue for a slow reader.
    pub chunk: ByteSize,
    /// Number of chunks. Bounds the cost of many tiny messages.
    pub chunks: u64,
    /// What happens to chunks that nobody reads fast enough. Either way the queue between guest and client is bounded.
    pub overflow: Overflow,
    /// Reverse calls under one request, at any depth. Bounds fan-out over the agent's tools.
    pub calls: u32,
    /// Reverse calls inside one another. Bounds recursion through tools.
    pub depth: u32,
    /// Reverse calls of one call at the same time; further ones wait. Bounds how many instances and how much of the
    /// agent's attention one request takes at a moment.
    pub parallel: u32,
    /// Arguments of all reverse calls under one request. Bounds what a guest sends to others and makes them keep.
    pub call_arguments: ByteSize,
    /// Results of all reverse calls under one request. Bounds what others make a guest and the host hold.
    pub call_results: ByteSize,
    /// Time of waiting for the client's tools under one request, with the deadline standing still: the sum over its
    /// reverse calls. Bounds how long a request may be kept alive by tools that never answer.
    #[serde(with = "humantime_serde")]
    pub waiting: Duration,
    /// Questions to the client under one call, each re-asking included. Bounds how much a user is bothered.
    pub questions: u32,
    /// How long one question may wait for its answer; the deadline stands still meanwhile. Bounds how long a call that
    /// nobody answers holds its memory.
    #[serde(with = "humantime_serde")]
    pub answer: Duration,
    /// By how much a call may make files in granted directories grow; a new entry counts as 4 KiB. Bounds a guest that
    /// fills the operator's disk.
    pub growth: ByteSize,
    /// Log bytes. Bounds a guest that fills the operator's disk.
    pub log: ByteSize,
    /// Log lines. As `log`, for empty lines.
    pub log_lines: u64,
    /// Handles a component may hold. Bounds growth of the host's handle tables.
    pub handles: u64,
    /// Table elements of all instances. Bounds host memory that linear memory does not count.
    pub table_elements: u64,
    /// One transfer between guest and host. Bounds host allocations that a guest sizes.
    pub hostcall: ByteSize,
    /// Calls of clients that run at once. Bounds what slow calls of one plugin take from the others.
    pub concurrent: u32,
    /// Calls that wait for one of those to end. Bounds the memory their requests take; beyond, a call is refused at once.
    pub queue: u32,
    /// How often its tools may be called, by whomever; absent: as often as they like.
    pub rate: Option<Rate>,
    /// When a tool that keeps failing is left alone.
    pub breaker: BreakerLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            metering: Metering::Fuel,
            fuel: 1_000_000_000,
            cpu: Duration::from_secs(5),
            memory: ByteSize::mib(64),
            deadline: Duration::from_secs(30),
            output: ByteSize::mib(8),
            chunk: ByteSize::kib(64),
            chunks: 10_000,
            overflow: Overflow::Block,
            calls: 256,
            depth: 8,
            parallel: 8,
            call_arguments: ByteSize::mib(4),
            call_results: ByteSize::mib(16),
            waiting: Duration::from_secs(1800),
            questions: 32,
            answer: Duration::from_secs(600),
            growth: ByteSize::mib(256),
            log: ByteSize::kib(256),
            log_lines: 1_000,
            handles: 4_096,
            table_elements: 100_000,
            hostcall: ByteSize::mib(8),
            concurrent: 96,
            queue: 1_024,
            rate: None,
            breaker: BreakerLimits::default(),
        }
    }
}

impl Limits {
    /// The most linear memory any plugin can be given; the pool's slots are this large.
    pub const MEMORY_CEILING: ByteSize = ByteSize::mib(256);
    /// The most table elements any plugin can be given, likewise.
    pub const TABLE_ELEMENTS_CEILING: u64 = 1_000_000;
    /// The most calls of any plugin at once: never all that the host runs.
    pub const CONCURRENT_CEILING: u32 = 120;

    /// Refuses ceilings beyond the host's own.
    pub fn check(&self) -> Result<(), LimitError> {
        let count = |key, value: u64, low: u64, high: u64| {
            let fail = || LimitError { key, value: value.to_string(), low: low.to_string(), high: high.to_string() };
            (low..=high).contains(&value).then_some(()).ok_or_else(fail)
        };
        let size = |key, value: ByteSize, low: ByteSize, high: ByteSize| {
            let fail = || LimitError { key, value: value.to_string(), low: low.to_string(), high: high.to_string() };
            (low..=high).contains(&value).then_some(()).ok_or_else(fail)
        };
        let time = |key, value: Duration, high: Duration| {
            let low = Duration::from_millis(1);
            let text = |d| humantime::format_duration(d).to_string();
            let fail = || LimitError { key, value: text(value), low: text(low), high: text(high) };
            (low..=high).contains(&value).then_some(()).ok_or_else(fail)
        };
        count("fuel", self.fuel, 1, 1_000_000_000_000_000)?;
        time("cpu", self.cpu, Duration::from_secs(3600))?;
        size("memory", self.memory, ByteSize::kib(64), Self::MEMORY_CEILING)?;
        time("deadline", self.deadline, Duration::from_secs(3600))?;
        size("output", self.output, ByteSize::b(0), ByteSize::mib(256))?;
        size("chunk", self.chunk, ByteSize::b(1), ByteSize::mib(4))?;
        count("chunks", self.chunks, 0, 10_000_000)?;
        count("calls", self.calls.into(), 0, 100_000)?;
        // Each nested call holds an instance and some host stack.
        count("depth", self.depth.into(), 0, 32)?;
        count("parallel", self.parallel.into(), 1, 64)?;
        size("call-arguments", self.call_arguments, ByteSize::b(0), ByteSize::mib(256))?;
        size("call-results", self.call_results, ByteSize::b(0), ByteSize::mib(256))?;
        time("waiting", self.waiting, Duration::from_secs(86_400))?;
        count("questions", self.questions.into(), 0, 10_000)?;
        time("answer", self.answer, Duration::from_secs(86_400))?;
        size("growth", self.growth, ByteSize::b(0), ByteSize::gib(64))?;
        size("log", self.log, ByteSize::b(0), ByteSize::mib(64))?;
        count("log-lines", self.log_lines, 0, 1_000_000)?;
        count("handles", self.handles, 16, 100_000)?;
        count("table-elements", self.table_elements, 0, Self::TABLE_ELEMENTS_CEILING)?;
        size("hostcall", self.hostcall, ByteSize::kib(4), ByteSize::mib(128))?;
        count("concurrent", self.concurrent.into(), 1, Self::CONCURRENT_CEILING.into())?;
        count("queue", self.queue.into(), 0, 100_000)?;
        // Each failure in the window is remembered.
        count("breaker.failures", self.breaker.failures.into(), 0, 1_000)?;
        time("breaker.within", self.breaker.within, Duration::from_secs(3600))?;
        time("breaker.open", self.breaker.open, Duration::from_secs(3600))?;
        time("breaker.at-most", self.breaker.at_most, Duration::from_secs(86_400))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_pass_and_excess_is_named() {
        Limits::default().check().unwrap();
        let limits: Limits = toml::from_str(r#"memory = "1 GiB""#).unwrap();
        assert_eq!(
            limits.check().unwrap_err().to_string(),
            "limits.memory = 1.0 GiB is outside what the host allows: 64.0 KiB to 256.0 MiB"
        );
        assert!(toml::from_str::<Limits>(r#"deadline = "0s""#).unwrap().check().is_err());
    }

    #[test]
    fn reads_units() {
        let limits: Limits =
            toml::from_str("metering = \"ticks\"\nfuel = 2_000_000_000\nmemory = \"32 MiB\"\ndeadline = \"1m 30s\"")
                .unwrap();
        assert_eq!(limits.metering, Metering::Ticks);
        assert_eq!(limits.memory, ByteSize::mib(32));
        assert_eq!(limits.deadline, Duration::from_secs(90));
        assert!(toml::from_str::<Limits>("gas = 1").is_err());
    }
}
