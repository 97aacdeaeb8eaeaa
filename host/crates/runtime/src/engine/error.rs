//! How a call can fail. Independent of any protocol's error codes.

use crate::journal::JournalProblem;
use bytesize::ByteSize;
use policy::{DayUsedUp, Denial, LineageError, Rate};
use std::time::Duration;

/// Why a call has no result. Every variant has a stable [code](CallError::code) for programs and a sentence for people
/// and models; neither reveals internals of the host.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// Under `metering = "fuel"`.
    #[error("stopped: all {limit} units of fuel are used up; limits.fuel sets how much a call gets")]
    FuelExhausted { limit: u64, used: u64 },
    /// Under `metering = "ticks"`.
    #[error("stopped: used {} ms of CPU time of the {} ms a call gets; limits.cpu sets it", used.as_millis(), limit.as_millis())]
    CpuExhausted { limit: Duration, used: Duration },
    #[error("stopped: not done within {} ms; limits.deadline sets how long a call may take", limit.as_millis())]
    DeadlineExceeded { limit: Duration },
    /// In bytes of linear memory.
    #[error("stopped: needed {} of memory, a call gets {}; limits.memory sets it", ByteSize(*requested), ByteSize(*limit))]
    MemoryExceeded { limit: u64, requested: u64 },
    #[error("stopped: needed {requested} table elements, a call gets {limit}; limits.table-elements sets it")]
    TableExceeded { limit: u64, requested: u64 },
    #[error("the component has more instances, memories or tables than the host allows: {detail}")]
    InstancesExceeded { detail: String },
    #[error("stopped: holds more than {limit} handles; limits.handles sets how many")]
    HandlesExceeded { limit: u64 },
    /// In bytes of one transfer between guest and host.
    #[error("stopped: passed more than {} to the host at once; limits.hostcall sets how much", ByteSize(*limit))]
    HostcallExceeded { limit: u64 },
    /// In bytes of the result and all chunks.
    #[error("stopped: the output is {}, a call may give {}; limits.output sets it", ByteSize(*used), ByteSize(*limit))]
    OutputExceeded { limit: u64, used: u64 },
    /// The plugin's own directory was too large before the call began; in bytes.
    #[error("refused: the plugin's own directory holds more than {}; {}", ByteSize(*limit), policy::ASK_THE_USER)]
    ScratchExceeded { limit: u64, remedy: String },
    #[error("stopped: the stack is full; the tool recurses too deep")]
    StackOverflow,
    #[error("the tool crashed: {message}")]
    Trap { trap: String, message: String },
    /// The guest called `exit`.
    #[error("the tool exited with status {status} instead of answering")]
    Exited { status: i32 },
    /// The answer violates the interface or the tool's output schema.
    #[error("the tool gave an invalid answer: {reason}")]
    InvalidOutput { reason: String },
    /// The arguments do not match the tool's schema, or the tool refused them.
    #[error("invalid arguments: {reason}")]
    InvalidArguments { reason: String },
    /// A resource, prompt or completion failed. A tool reports its failure in its answer instead.
    #[error("the plugin failed: {reason}")]
    Failed { reason: String },
    /// The upstream that owns the tool failed.
    #[error("{reason}")]
    Upstream { reason: String },
    #[error("{0}")]
    Denied(Denial),
    /// The chain of calls may not grow any further.
    #[error("{0}")]
    Lineage(LineageError),
    #[error("unsupported: {}", lacking(what))]
    Unsupported { what: String },
    #[error("cancelled")]
    Cancelled,
    #[error("busy: {resource} ({limit}); try again")]
    Busy { resource: BusyResource, limit: u32 },
    #[error("busy: {subject} more often than {rate}; try again in {} ms", retry_after.as_millis().max(1))]
    RateLimited { subject: RateSubject, rate: Rate, retry_after: Duration },
    /// The caller, or the host, has no fuel left today.
    #[error("{}{day}", if *has_run { "stopped: " } else { "" })]
    DayUsedUp { day: DayUsedUp, has_run: bool },
    /// The tool's circuit breaker is open.
    #[error(
        "not called: the tool failed {failures} times, at last with `{cause}`; it is tried again in {} s; limits.breaker \
         sets when a failing tool is suspended",
        retry_after.as_secs_f64().ceil()
    )]
    PluginFailing { failures: u32, cause: &'static str, retry_after: Duration },
    /// The audit log cannot be written, and the operator requires one.
    #[error(
        "refused: the audit log cannot be written now, and server.audit.required forbids calls without it; the host's log says why"
    )]
    AuditUnavailable,
    /// The call cannot go on where an earlier instance was, or its steps cannot be recorded.
    #[error("{0}")]
    Journal(#[from] JournalProblem),
    /// A failure of the host itself; details are in its log.
    #[error("the host failed; its log has the details")]
    Internal,
}

/// What is used up, or which queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BusyResource {
    /// Instances, including those of nested calls.
    #[error("all instances of the host are in use")]
    Instances,
    /// Instances of one principal.
    #[error(
        "your calls, nested and suspended ones included, hold as many instances as the host has for one user now; let some end or cancel some"
    )]
    PrincipalInstances,
    /// Instances and memory of one suspended call.
    #[error(
        "the call and the calls nested in it hold more than may be suspended while they wait for you; server.parked sets how much"
    )]
    Parked,
    /// Tasks of one principal, or of all.
    #[error("as many tasks are kept as server.tasks allows; let some end, or wait until ended ones are removed")]
    Tasks,
    /// Idempotency keys of one principal, or of all.
    #[error("as many calls with idempotency keys run as server.idempotency allows; let some end")]
    Keys,
    /// Requests that wait for the end of the call with the same idempotency key.
    #[error("as many repetitions of this call wait for its end as the host lets wait")]
    Repetitions,
    /// No slot became free before the deadline.
    #[error("no slot for the call became free in time")]
    Slots,
    #[error("as many calls of this plugin are waiting as limits.queue allows")]
    PluginQueue,
    #[error("as many of your calls are waiting as server.per-principal.queue allows")]
    PrincipalQueue,
}

/// Whose rate was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RateSubject {
    /// All calls of one plugin.
    #[error("this plugin is called")]
    Plugin,
    #[error("you call")]
    Principal,
}

impl CallError {
    /// The text for whoever runs the host: a refusal names what would allow it.
    pub fn for_operator(&self) -> String {
        match self {
            Self::Denied(denial) => denial.for_operator(),
            Self::ScratchExceeded { limit, remedy } => format!(
                "refused: the plugin's own directory holds more than {}; remove what is not needed there (`portcullis policy show` says where it is), or grant more: {remedy}",
                ByteSize(*limit)
            ),
            error => error.to_string(),
        }
    }
}

/// Describes what the tool needs and does not get, for people who do not know the protocol's names.
fn lacking(what: &str) -> String {
    let needed = match what {
        "elicitation.form" => "ask you with a form",
        "elicitation.url" => "send you to a web page",
        "sampling" => "ask your model",
        "sampling.tools" => "let your model use tools",
        "roots" => "know which folders you work in",
        // In the plugin's own words, perhaps a sentence.
        other => return format!("neither this client nor the server has what this tool needs: {other}"),
    };
    format!("this tool has to {needed}, and this client does not let it (`{what}`)")
}

impl CallError {
    /// Whether the call was refused only for now and no guest has run, so that the same call may be let in later.
    pub fn was_not_started(&self) -> bool {
        match self {
            Self::Busy { .. }
            | Self::RateLimited { .. }
            | Self::DayUsedUp { has_run: false, .. }
            | Self::PluginFailing { .. }
            | Self::AuditUnavailable => true,
            Self::FuelExhausted { .. }
            | Self::CpuExhausted { .. }
            | Self::DeadlineExceeded { .. }
            | Self::MemoryExceeded { .. }
            | Self::TableExceeded { .. }
            | Self::InstancesExceeded { .. }
            | Self::HandlesExceeded { .. }
            | Self::HostcallExceeded { .. }
            | Self::OutputExceeded { .. }
            | Self::ScratchExceeded { .. }
            | Self::StackOverflow
            | Self::Trap { .. }
            | Self::Exited { .. }
            | Self::InvalidOutput { .. }
            | Self::InvalidArguments { .. }
            | Self::Failed { .. }
            | Self::Upstream { .. }
            | Self::Denied(_)
            | Self::Lineage(_)
            | Self::Unsupported { .. }
            | Self::Cancelled
            | Self::DayUsedUp { has_run: true, .. }
            | Self::Journal(_)
            | Self::Internal => false,
        }
    }

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
            CallError::AuditUnavailable => "unrecorded",
            CallError::RateLimited { .. } => "rate-limited",
            CallError::DayUsedUp { .. } => "day-used-up",
            CallError::PluginFailing { .. } => "plugin-failing",
            CallError::Journal(problem) => problem.code(),
            CallError::Internal => "internal",
        }
    }

    /// Logs a failure of the host itself, whose details are not for callers.
    pub fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!("internal error in a call: {error:#}");
        CallError::Internal
    }
}
