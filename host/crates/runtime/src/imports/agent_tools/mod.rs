//! `agent-tools`: reverse calls, calls that a plugin makes to tools of the agent's side.

mod access;
mod error;
mod lane;
mod reverse_call;
mod reverse_call_span;
#[cfg(test)]
mod tests;

pub use access::{AgentTools, ReverseCaller};
pub use error::AgentError;
pub use lane::LaneCell;
pub use reverse_call::{AgentResult, AgentTool, CallOptions, ReverseCall, ReverseCallStep, ReverseOutcome, ToolCaller};
