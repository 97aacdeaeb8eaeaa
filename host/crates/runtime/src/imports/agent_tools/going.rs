//! Reverse calls that are under way, for the record.

use super::{AgentError, Lane};
use platform::audit::{Event, Trail};
use platform::telemetry::Active;

/// A call that is under way: recorded when it is over, and when it is dropped.
pub(super) struct Going {
    pub(super) trail: Trail,
    pub(super) lane: Lane,
    pub(super) tool: String,
    pub(super) outcome: &'static str,
    /// Of the answer.
    pub(super) bytes: u64,
    pub(super) span: Option<Active>,
}

impl Drop for Going {
    fn drop(&mut self) {
        let (tool, lane) = (std::mem::take(&mut self.tool), self.lane.name());
        if let Some(span) = &mut self.span {
            span.set("portcullis.lane", lane);
            span.set("portcullis.outcome", self.outcome);
            span.set("portcullis.response.size", self.bytes);
            if self.outcome != "ok" {
                span.failed(self.outcome);
            }
        }
        self.trail.record(Event::ReverseCall { tool, lane, outcome: self.outcome });
    }
}

impl AgentError {
    /// A stable name of the kind of failure.
    pub fn name(&self) -> &'static str {
        match self {
            Self::UnknownTool(_) => "unknown-tool",
            Self::NotSupported(_) => "not-supported",
            Self::Declined(_) => "declined",
            Self::Denied(_) => "denied",
            Self::Cycle(_) => "cycle",
            Self::Timeout(_) => "timeout",
            Self::Exhausted(_) => "exhausted",
            Self::Cancelled => "cancelled",
            Self::InvalidArguments(_) => "invalid-arguments",
            Self::ToolError(_) => "tool-error",
            Self::Failed(_) => "failed",
        }
    }
}
