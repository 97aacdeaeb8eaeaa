//! Events that the agent shows to its user.

use super::request::ApprovalRequest;
use runtime::imports::Content;
use std::sync::Arc;
use upstream::UpstreamCallEvent;

#[derive(Debug, Clone)]
pub enum AgentEvent {
    /// An event of a running call of the agent.
    CallEvent { call: u64, event: UpstreamCallEvent },
    /// A call of the agent has ended. Once its outcome is shown, [`super::Approvals::call_shown`] is to be called.
    CallEnded { call: u64, task: String, outcome: CallOutcome, keep: KeptCall },
    /// A list of a server or a watched resource has changed. `what` is the kind of list or the URI.
    Changed { server: String, what: String },
    /// The user must decide, under this number.
    ApprovalRequested(u64, Arc<ApprovalRequest>),
    /// The server no longer waits for the decision.
    ApprovalWithdrawn(u64),
    /// A decision was made, by a rule or by the user.
    Decided {
        server: String,
        /// What the server wanted.
        subject: String,
        decision: String,
        /// The rule or the person that decided.
        source: String,
    },
}

/// What the memory keeps of a call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptCall {
    Nothing,
    /// The user can repeat or continue it.
    Call,
    /// The same if a run can continue it; otherwise nothing.
    IfOpen,
}

/// How a call of the agent ended.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOutcome {
    pub content: Vec<Content>,
    /// JSON text.
    pub structured: Option<String>,
    pub is_error: bool,
}
