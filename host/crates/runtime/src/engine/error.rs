//! How a call can fail, with the numbers in it. Knows no protocol codes.

use bytesize::ByteSize;
use policy::{Denial, LineageError, Rate};
use std::time::Duration;

/// A call that gave no result. Every variant has a stable [code](CallError::code) for programs and a sentence for people
/// and models; neither holds anything of the host's inside.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are the numbers of the sentence above them")]
pub enum CallError {
    /// Under `metering = "fuel"`.
    #[error("stopped: all {limit} units of fuel are used up; limits.fuel sets how much a call gets")]
    FuelExhausted { limit: u64, used: u64 },
    /// Under `metering = "ticks"`.
    #[error("stopped: used {} ms of CPU time of the {} ms a call gets; limits.cpu sets it", used.as_millis(), limit.as_millis())]
    CpuExhausted { limit: Duration, used: Duration },
    /// Wall-clock time.
    #[error("stopped: not done within {} ms; limits.deadline sets how long a call may take", limit.as_millis())]
    DeadlineExceeded { limit: Duration },
    /// Linear memory, in bytes.
    #[error("stopped: needed {} of memory, a call gets {}; limits.memory sets it", ByteSize(*requested), ByteSize(*limit))]
    MemoryExceeded { limit: u64, requested: u64 },
    /// Table elements.
    #[error("stopped: needed {requested} table elements, a call gets {limit}; limits.table-elements sets it")]
    TableExceeded { limit: u64, requested: u64 },
    /// Core instances, memories or tables of one component.
    #[error("the component has more instances, memories or tables than the host allows: {detail}")]
    InstancesExceeded { detail: String },
    /// Handles to host resources.
    #[error("stopped: holds more than {limit} handles; limits.handles sets how many")]
    HandlesExceeded { limit: u64 },
    /// One transfer between guest and host, in bytes.
    #[error("stopped: passed more than {} to the host at once; limits.hostcall sets how much", ByteSize(*limit))]
    HostcallExceeded { limit: u64 },
    /// Result and chunks, in bytes.
    #[error("stopped: the output is {}, a call may give {}; limits.output sets it", ByteSize(*used), ByteSize(*limit))]
    OutputExceeded { limit: u64, used: u64 },
    /// Files of the plugin's own, before it began; in bytes.
    #[error("refused: the plugin's own directory holds more than {}; remove what is not needed there (`portcullis policy show` says where it is), or grant more: {remedy}", ByteSize(*limit))]
    ScratchExceeded { limit: u64, remedy: String },
    /// Too deep recursion inside the guest.
    #[error("stopped: the stack is full; the tool recurses too deep")]
    StackOverflow,
    /// The guest broke.
    #[error("the tool crashed: {message}")]
    Trap { trap: String, message: String },
    /// The guest ended its own process.
    #[error("the tool exited with status {status} instead of answering")]
    Exited { status: i32 },
    /// The answer is not what the interface or the tool's own schema promises.
    #[error("the tool gave an invalid answer: {reason}")]
    InvalidOutput { reason: String },
    /// The tool refused its arguments, or they do not match its schema.
    #[error("invalid arguments: {reason}")]
    InvalidArguments { reason: String },
    /// The plugin says that it could not do it. A tool says so in its answer; what else a plugin offers has only this.
    #[error("the plugin failed: {reason}")]
    Failed { reason: String },
    /// A server behind this host, whose tool it is, did not answer as it should.
    #[error("{reason}")]
    Upstream { reason: String },
    /// A use of authority that was refused.
    #[error("{0}")]
    Denied(Denial),
    /// A chain of reverse calls that may not grow.
    #[error("{0}")]
    Lineage(LineageError),
    /// Something the tool needs is not offered.
    #[error("unsupported: the tool cannot go on without {what}, which this client or host does not offer")]
    Unsupported { what: String },
    /// Nobody wants the result any more.
    #[error("cancelled")]
    Cancelled,
    /// There is no place; `limit` is how many there are.
    #[error("busy: {of} ({limit}); try again")]
    Busy { of: Crowd, limit: u32 },
    /// Called more often than allowed.
    #[error("busy: {of} more often than {rate}; try again in {} ms", retry_after.as_millis().max(1))]
    TooOften { of: Caller, rate: Rate, retry_after: Duration },
    /// The tool kept failing, and is left alone for a while.
    #[error(
        "not called: the tool failed {failures} times, at last with `{cause}`; it is tried again in {} s; limits.breaker \
         says when a tool is left alone",
        retry_after.as_secs_f64().ceil()
    )]
    PluginFailing { failures: u32, cause: &'static str, retry_after: Duration },
    /// The operator wants every call recorded.
    #[error(
        "refused: the audit journal cannot be kept at this moment, and server.audit.required does not let calls run without it; the host's log says why"
    )]
    Unrecorded,
    /// Our fault; details are in the host's log.
    #[error("the host failed; its log has the details")]
    Internal,
}

/// What there is too little of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Crowd {
    /// Instances, nested calls' included.
    #[error("all instances of the host are in use")]
    Instances,
    /// Places for calls: none came free before the deadline.
    #[error("no place among the running calls came free in time")]
    Slots,
    /// A plugin's line.
    #[error("as many calls of this plugin wait for a place as limits.queue allows")]
    PluginQueue,
    /// A principal's line.
    #[error("as many of your calls wait for a place as server.per-principal.queue allows")]
    Principal,
}

/// Who is kept to a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Caller {
    /// Everybody who calls a plugin.
    #[error("this plugin is called")]
    Plugin,
    /// A principal.
    #[error("you call")]
    Principal,
}

impl CallError {
    /// A stable name of the kind of failure.
    pub fn code(&self) -> &'static str {
        match self {
            CallError::FuelExhausted { .. } => "fuel-exhausted",
            CallError::CpuExhausted { .. } => "cpu-exhausted",
            CallError::DeadlineExceeded { .. } => "deadline-exceeded",
            CallError::MemoryExceeded { .. } => "memory-exceeded",
            CallError::TableExceeded { .. } => "table-exceeded",
            CallError::InstancesExceeded { .. } => "instances-exceeded",
            CallError::HandlesExceeded { .. } => "handles-exceeded",
            CallError::HostcallExceeded { .. } => "hostcall-exceeded",
            CallError::OutputExceeded { .. } => "output-exceeded",
            CallError::ScratchExceeded { .. } => "scratch-exceeded",
            CallError::StackOverflow => "stack-overflow",
            CallError::Trap { .. } => "trap",
            CallError::Exited { .. } => "exited",
            CallError::InvalidOutput { .. } => "invalid-output",
            CallError::InvalidArguments { .. } => "invalid-arguments",
            CallError::Failed { .. } => "failed",
            CallError::Upstream { .. } => "upstream-failed",
            CallError::Denied(_) => "denied",
            CallError::Lineage(LineageError::Cycle(..)) => "cycle",
            CallError::Lineage(LineageError::Depth(_)) => "depth-exceeded",
            CallError::Lineage(LineageError::Calls(_)) => "calls-exceeded",
            CallError::Lineage(LineageError::Arguments(_)) => "arguments-exceeded",
            CallError::Lineage(LineageError::Results(_)) => "results-exceeded",
            CallError::Lineage(LineageError::Waiting(_)) => "waiting-exceeded",
            CallError::Unsupported { .. } => "unsupported",
            CallError::Cancelled => "cancelled",
            CallError::Busy { .. } => "busy",
            CallError::Unrecorded => "unrecorded",
            CallError::TooOften { .. } => "rate-limited",
            CallError::PluginFailing { .. } => "plugin-failing",
            CallError::Internal => "internal",
        }
    }

    /// An error of the host itself: logged here, told to nobody.
    pub fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!("internal error in a call: {error:#}");
        CallError::Internal
    }
}
