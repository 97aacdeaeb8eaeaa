//! The span and audit record of a reverse call.

use super::lane::LaneCell;
use platform::audit::{AuditEvent, CallAudit};
use platform::telemetry::ActiveSpan;

/// Recorded when the call ends or is dropped.
pub(super) struct ReverseCallSpan {
    pub(super) audit: CallAudit,
    pub(super) lane: LaneCell,
    pub(super) tool: String,
    pub(super) outcome: &'static str,
    pub(super) bytes: u64,
    pub(super) span: Option<ActiveSpan>,
}

impl Drop for ReverseCallSpan {
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
        self.audit.record(AuditEvent::ReverseCall { tool, lane, outcome: self.outcome });
    }
}
