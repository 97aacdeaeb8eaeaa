//! Limits, denials and errors that cross the guest boundary.

use policy::Denial;
use serde::{Deserialize, Serialize};

/// The limit that was reached; named as in `policy::Limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BudgetKind {
    Fuel,
    Cpu,
    Deadline,
    Memory,
    Output,
    Chunks,
    Calls,
    Depth,
    Arguments,
    Results,
    Waiting,
    Questions,
    Tokens,
    Stored,
}

impl BudgetKind {
    /// The name in error messages.
    pub fn name(self) -> &'static str {
        match self {
            BudgetKind::Fuel => "fuel",
            BudgetKind::Cpu => "CPU time",
            BudgetKind::Deadline => "time",
            BudgetKind::Memory => "memory",
            BudgetKind::Output => "output bytes",
            BudgetKind::Chunks => "chunks",
            BudgetKind::Calls => "calls",
            BudgetKind::Depth => "call depth",
            BudgetKind::Arguments => "argument bytes",
            BudgetKind::Results => "bytes of reverse calls' results",
            BudgetKind::Waiting => "time of waiting for the agent's tools",
            BudgetKind::Questions => "questions",
            BudgetKind::Tokens => "model tokens",
            BudgetKind::Stored => "stored items, stored bytes or changes in a minute",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("the limit of {limit} {} is reached", budget.name())]
pub struct Exhaustion {
    pub budget: BudgetKind,
    pub limit: u64,
}

impl Exhaustion {
    /// Where nothing can be stored at all.
    pub(in crate::imports) const NO_ROOM: Self = Self { budget: BudgetKind::Stored, limit: 0 };
}

/// A `policy::Denial` as the guest receives it. Its remedy is the advice for models, because a guest can pass on to a model
/// whatever it knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuestDenial {
    pub capability: String,
    pub target: String,
    pub remedy: String,
}

impl From<&Denial> for GuestDenial {
    fn from(denial: &Denial) -> Self {
        Self {
            capability: denial.capability.to_owned(),
            target: denial.target.clone(),
            remedy: denial.advice.to_owned(),
        }
    }
}

/// A failure that the tool itself reports.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolError {
    InvalidArguments(String),
    Failed(String),
    Cancelled,
    Denied(GuestDenial),
    Exhausted(Exhaustion),
    /// Something that the tool needs is not available.
    Unsupported(String),
}
