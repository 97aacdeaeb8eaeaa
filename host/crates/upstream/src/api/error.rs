//! Errors of requests to an upstream server.

use runtime::imports::{AgentError, BudgetKind, Exhaustion};
use std::time::Duration;

/// The code of an unreadable answer on its way to the caller that waits for it. This host never sends it. A server that sends
/// it is treated like one whose answer cannot be read.
pub(crate) const UNREADABLE: i32 = i32::MIN;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UpstreamError {
    #[error("the server `{server}` is not connected: {reason}")]
    NotConnected { server: String, reason: String },
    #[error("the server `{server}` has no tool `{tool}`")]
    UnknownTool { server: String, tool: String },
    #[error("the arguments do not match the tool's schema: {0}")]
    InvalidArguments(String),
    #[error("the server `{server}` refused the request: {message} ({code})")]
    Refused { server: String, code: i32, message: String },
    /// The server says that a parameter is wrong.
    #[error("the server `{server}` refused the request: {message}")]
    InvalidRequest { server: String, message: String },
    #[error("the server `{server}` gave no answer within {t}", t = humantime::format_duration(*.limit))]
    Timeout { server: String, limit: Duration },
    #[error("the connection to the server `{server}` was lost during the call; whether it took effect is not known")]
    Lost { server: String },
    #[error("the server `{server}` has not answered for {t}; the task goes on there, as far as is known", t = humantime::format_duration(*.limit))]
    Unreachable { server: String, limit: Duration },
    #[error("the server `{server}` does not know this call any more: {message}; what it has done is not known")]
    Gone { server: String, message: String },
    #[error("the server `{server}` answered with {what}")]
    Malformed { server: String, what: String },
    #[error("the server `{server}` answered with more than {limit} bytes")]
    TooLarge { server: String, limit: u64 },
    #[error("the server `{server}` still asked questions after {limit} rounds")]
    TooManyRounds { server: String, limit: u32 },
    /// `limit` is how many calls are under way.
    #[error(
        "{limit} calls of yours to the server `{server}` are under way, as many as are left for others; try again later"
    )]
    Busy { server: String, limit: usize },
    #[error("{limit} resources of the server `{server}` are watched, which is the limit")]
    TooManyWatched { server: String, limit: usize },
    #[error("a question of the server `{server}` could not be answered: {reason}")]
    Unanswered { server: String, reason: String },
    #[error("the call was cancelled")]
    Cancelled,
}

impl From<UpstreamError> for AgentError {
    fn from(error: UpstreamError) -> Self {
        let text = error.to_string();
        match error {
            UpstreamError::NotConnected { server, reason } => AgentError::NotSupported(format!(
                "the server `{server}` is not connected at the moment ({reason}); it is being connected again, so try again"
            )),
            UpstreamError::UnknownTool { server, tool } => AgentError::UnknownTool(format!("{server}.{tool}")),
            UpstreamError::InvalidArguments(reason) => AgentError::InvalidArguments(reason),
            UpstreamError::InvalidRequest { .. } => AgentError::InvalidArguments(text),
            UpstreamError::Timeout { limit, .. } => {
                AgentError::Timeout(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
            }
            UpstreamError::TooLarge { limit, .. } => {
                AgentError::Exhausted(Exhaustion { budget: BudgetKind::Results, limit })
            }
            UpstreamError::Busy { limit, .. } | UpstreamError::TooManyWatched { limit, .. } => {
                AgentError::Exhausted(Exhaustion { budget: BudgetKind::Calls, limit: limit as u64 })
            }
            UpstreamError::Cancelled => AgentError::Cancelled,
            UpstreamError::Refused { .. }
            | UpstreamError::Lost { .. }
            | UpstreamError::Unreachable { .. }
            | UpstreamError::Gone { .. }
            | UpstreamError::Malformed { .. }
            | UpstreamError::TooManyRounds { .. }
            | UpstreamError::Unanswered { .. } => AgentError::Failed(text),
        }
    }
}
