//! Limits of calls: of a call with the calls below it, of a call alone, or of all calls of a plugin. `limit_table` names the
//! scope of each.

use super::exact_size::exact_size;
use super::range::{check_duration, check_range};
use super::{BreakerLimits, RangeError, Rate, Survive};
use bytesize::ByteSize;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a plugin's CPU use is metered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metering {
    /// Exact and deterministic, about one unit per instruction. Code made of tiny calls takes up to 2x as long.
    #[default]
    Fuel,
    /// CPU time, checked at every epoch tick. Costs almost nothing, but no two runs measure the same.
    Ticks,
}

/// What happens to a chunk when the client reads too slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The guest waits. Nothing is lost.
    #[default]
    Block,
    /// The oldest queued chunk is dropped and counted. The guest never waits. For output that is useless once it is late.
    DropOldest,
}

/// The limits of calls of a plugin. Sizes in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Limits {
    /// The meter that stops a guest that would never end.
    pub metering: Metering,
    /// Fuel, under `metering = "fuel"`. Bounds endless loops; a billion units last about a second.
    pub fuel: u64,
    /// CPU time, under `metering = "ticks"`. Bounds endless loops.
    #[serde(with = "humantime_serde")]
    pub cpu: Duration,
    /// How often the user of a task may renew the fuel, or the CPU time, of its call. Bounds what users can add without the
    /// operator.
    pub extensions: u32,
    /// Linear memory of all the instances of a call together. Bounds a guest that fills the host's memory.
    #[serde(serialize_with = "exact_size")]
    pub memory: ByteSize,
    /// Wall-clock time including waiting; absent: see [`Limits::deadline`]. Bounds a guest that holds a connection without
    /// computing.
    #[serde(with = "humantime_serde", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// Size of the result and the chunks of a call together. Bounds what one call sends to the client and makes it keep in
    /// memory.
    #[serde(serialize_with = "exact_size")]
    pub output: ByteSize,
    /// Size of one chunk. Bounds the queue for a slow reader.
    #[serde(serialize_with = "exact_size")]
    pub chunk: ByteSize,
    /// Number of chunks. Bounds the cost of many tiny messages.
    pub chunks: u64,
    /// What happens to chunks that are read too slowly. The queue between guest and client is bounded either way.
    pub overflow: Overflow,
    /// Which failures the steps of those of its calls survive that are tasks. Absent: its manifest decides, or
    /// `server.tasks.survive`.
    pub survive: Option<Survive>,
    /// Reverse calls under one request, at any depth, and separately as many requests to connected accounts. Bounds how many of
    /// the agent's tools one request calls, and what services count against the user.
    pub calls: u32,
    /// Depth of nested reverse calls. Bounds recursion through tools.
    pub depth: u32,
    /// Reverse calls that run at the same time at one depth; further ones wait. Bounds the instances and the load on the
    /// agent that one request causes.
    pub parallel: u32,
    /// Bytes of arguments of all reverse calls under one request. Bounds what a guest makes the called side keep.
    #[serde(serialize_with = "exact_size")]
    pub call_arguments: ByteSize,
    /// Bytes of results of all reverse calls under one request. Bounds what the called side makes guest and host keep.
    #[serde(serialize_with = "exact_size")]
    pub call_results: ByteSize,
    /// Time that one request may wait for the client's tools, summed over its reverse calls. The deadline is paused while it
    /// waits. Bounds how long tools that never answer keep a request alive.
    #[serde(with = "humantime_serde")]
    pub reverse_call_wait: Duration,
    /// Questions to the client under one request, repeated ones included. Bounds how often a user is interrupted.
    pub questions: u32,
    /// How long one question may wait for its answer. The deadline is paused while it waits. Bounds how long an unanswered call
    /// keeps its memory.
    #[serde(with = "humantime_serde")]
    pub answer_timeout: Duration,
    /// How many bytes one request may add to files in granted directories; a new entry counts as 4 KiB. Bounds a guest that
    /// fills the operator's disk.
    #[serde(serialize_with = "exact_size")]
    pub file_growth: ByteSize,
    /// Files and directories that a call may have open. Bounds how many of the process's file descriptors one call takes.
    pub open_files: u32,
    /// Log bytes. Bounds a guest that fills the operator's disk.
    #[serde(serialize_with = "exact_size")]
    pub log: ByteSize,
    /// Number of log lines. Bounds the same as `log` where the lines are empty.
    pub log_lines: u64,
    /// Handles that a component may hold. Bounds the memory that the host keeps for them: up to 128 KiB for a request's headers
    /// or a stream's buffer.
    pub handles: u64,
    /// Table elements of all instances. Bounds host memory that is not counted as linear memory.
    pub table_elements: u64,
    /// Size of one transfer between guest and host. Bounds allocations of the host whose size a guest chooses.
    #[serde(serialize_with = "exact_size")]
    pub hostcall: ByteSize,
    /// Calls by clients that run at the same time. Bounds what slow calls of one plugin take from other plugins.
    pub concurrent: u32,
    /// Calls that wait for a slot. Bounds the memory of their requests; further calls are refused at once.
    pub queue: u32,
    /// How often all callers together may call its tools; absent: unlimited.
    pub rate: Option<Rate>,
    /// When the circuit breaker opens for a failing tool.
    pub breaker: BreakerLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            metering: Metering::Fuel,
            fuel: 1_000_000_000,
            cpu: Duration::from_secs(5),
            extensions: 0,
            memory: ByteSize::mib(64),
            deadline: None,
            output: ByteSize::mib(8),
            chunk: ByteSize::kib(64),
            chunks: 10_000,
            overflow: Overflow::Block,
            survive: None,
            calls: 256,
            depth: 8,
            parallel: 8,
            call_arguments: ByteSize::mib(4),
            call_results: ByteSize::mib(16),
            reverse_call_wait: Duration::from_secs(1800),
            questions: 32,
            answer_timeout: Duration::from_secs(600),
            file_growth: ByteSize::mib(256),
            open_files: 64,
            log: ByteSize::kib(256),
            log_lines: 1_000,
            handles: 256,
            table_elements: 100_000,
            hostcall: ByteSize::mib(8),
            concurrent: 96,
            queue: 1_024,
            rate: None,
            breaker: BreakerLimits::default(),
        }
    }
}

/// The longest that a call may take or compute: the same as for a task.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl Limits {
    /// The most linear memory that any plugin can be given. Each slot of the instance pool is this large.
    pub const MEMORY_CEILING: ByteSize = ByteSize::mib(256);
    /// The most table elements that any plugin can be given. Each slot of the instance pool has this many.
    pub const TABLE_ELEMENTS_CEILING: u64 = 1_000_000;
    /// The most concurrent calls of any plugin. It is less than what the host runs, so one plugin never takes all of it.
    pub const CONCURRENT_CEILING: u32 = 120;

    /// How long a call may take.
    pub fn deadline(&self) -> Duration {
        self.deadline.unwrap_or(Duration::from_secs(30))
    }

    /// How long a call may take that becomes a task because its tool declares that it may run long. A deadline that the
    /// operator has set holds for these calls, too.
    pub fn task_deadline(&self) -> Duration {
        self.deadline.unwrap_or(Duration::from_secs(60 * 60))
    }

    /// Refuses limits beyond the host's own.
    pub fn check(&self) -> Result<(), RangeError> {
        let time = |key, value, max| check_duration(key, value, Duration::from_millis(1)..=max);
        check_range("limits.fuel", self.fuel, 1..=1_000_000_000_000_000)?;
        time("limits.cpu", self.cpu, LONGEST)?;
        check_range("limits.extensions", self.extensions, 0..=1_000)?;
        check_range("limits.memory", self.memory, ByteSize::kib(64)..=Self::MEMORY_CEILING)?;
        time("limits.deadline", self.deadline(), LONGEST)?;
        check_range("limits.output", self.output, ByteSize::b(0)..=ByteSize::mib(256))?;
        check_range("limits.chunk", self.chunk, ByteSize::b(1)..=ByteSize::mib(4))?;
        check_range("limits.chunks", self.chunks, 0..=10_000_000)?;
        check_range("limits.calls", self.calls, 0..=100_000)?;
        // Each nested call holds an instance and some stack of the host.
        check_range("limits.depth", self.depth, 0..=32)?;
        check_range("limits.parallel", self.parallel, 1..=64)?;
        check_range("limits.call-arguments", self.call_arguments, ByteSize::b(0)..=ByteSize::mib(256))?;
        check_range("limits.call-results", self.call_results, ByteSize::b(0)..=ByteSize::mib(256))?;
        time("limits.reverse-call-wait", self.reverse_call_wait, Duration::from_secs(86_400))?;
        check_range("limits.questions", self.questions, 0..=10_000)?;
        time("limits.answer-timeout", self.answer_timeout, Duration::from_secs(86_400))?;
        check_range("limits.file-growth", self.file_growth, ByteSize::b(0)..=ByteSize::gib(64))?;
        check_range("limits.open-files", self.open_files, 0..=1_024)?;
        check_range("limits.log", self.log, ByteSize::b(0)..=ByteSize::mib(64))?;
        check_range("limits.log-lines", self.log_lines, 0..=1_000_000)?;
        check_range("limits.handles", self.handles, 16..=4_096)?;
        check_range("limits.table-elements", self.table_elements, 0..=Self::TABLE_ELEMENTS_CEILING)?;
        check_range("limits.hostcall", self.hostcall, ByteSize::kib(4)..=ByteSize::mib(128))?;
        check_range("limits.concurrent", self.concurrent, 1..=Self::CONCURRENT_CEILING)?;
        check_range("limits.queue", self.queue, 0..=100_000)?;
        // The host remembers each failure in the window.
        check_range("limits.breaker.failures", self.breaker.failures, 0..=1_000)?;
        time("limits.breaker.within", self.breaker.within, Duration::from_secs(3600))?;
        time("limits.breaker.open", self.breaker.open, Duration::from_secs(3600))?;
        time("limits.breaker.at-most", self.breaker.at_most, Duration::from_secs(86_400))
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
        assert_eq!((limits.deadline(), limits.task_deadline()), (Duration::from_secs(90), Duration::from_secs(90)));
        assert!(Limits::default().task_deadline() > Limits::default().deadline());
        assert!(toml::from_str::<Limits>("gas = 1").is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = "metering = \"ticks\"\nfuel = 7\nmemory = \"32 MiB\"\noutput = 1_500\nchunk = 1\ndeadline = \"1m 30s\"\n\
                    overflow = \"drop-oldest\"\nsurvive = \"power-loss\"\nrate = \"5/m\"\nbreaker = { failures = 2 }";
        let limits: Limits = toml::from_str(text).unwrap();
        let text = toml::to_string(&limits).unwrap();
        assert!(text.contains("memory = \"32 MiB\"") && text.contains("output = 1500"), "{text}");
        assert_eq!(toml::from_str::<Limits>(&text).unwrap(), limits);
    }
}
