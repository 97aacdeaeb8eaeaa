//! Why a reverse call gave no result.

use super::super::import_span::ErrorName;
use super::super::types::{BudgetKind, Exhaustion, GuestDenial, ToolResult};
use policy::LineageError;
use serde::{Deserialize, Serialize};

/// Why a reverse call gave no result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentError {
    UnknownTool(String),
    /// Nobody can serve reverse calls; the text says who was asked.
    NotSupported(String),
    /// Refused by the user or a rule on the agent's side.
    Declined(String),
    Denied(GuestDenial),
    /// The tool is already running further up the chain.
    Cycle(String),
    /// Milliseconds.
    Timeout(u64),
    /// A limit of the chain was reached.
    Exhausted(Exhaustion),
    Cancelled,
    InvalidArguments(String),
    /// The tool ran and reported a failure.
    ToolError(ToolResult),
    Failed(String),
}

impl AgentError {
    /// A stable name, for spans and audit records.
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

impl ErrorName for AgentError {
    fn error_name(&self) -> &'static str {
        self.name()
    }
}

impl From<LineageError> for AgentError {
    fn from(error: LineageError) -> Self {
        let exhausted = |budget, limit| AgentError::Exhausted(Exhaustion { budget, limit });
        match error {
            LineageError::Cycle(..) => AgentError::Cycle(error.to_string()),
            LineageError::Depth(limit) => exhausted(BudgetKind::Depth, limit.into()),
            LineageError::Calls(limit) => exhausted(BudgetKind::Calls, limit.into()),
            LineageError::Arguments(limit) => exhausted(BudgetKind::Arguments, limit),
            LineageError::Results(limit) => exhausted(BudgetKind::Results, limit),
            LineageError::Waiting(limit) => exhausted(BudgetKind::Waiting, limit),
        }
    }
}
