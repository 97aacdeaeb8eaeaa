//! Running calls: admission, the call itself, checking what the guest answered, and recording it.

mod admission;
mod answer;
mod answer_check;
mod approvals;
mod clean_up;
mod guest_error;
mod idle;
mod local_tools;
mod no_tools;
mod non_tool_answer;
mod payload_size;
mod programs;
mod reconcile;
mod recorder;
mod request;
mod root_slot;
mod runner;
mod start;
mod started_call;
mod target;
mod tool_access;
mod tool_caller_chain;
mod upstream;
mod upstream_request;
mod waiting_client;

pub use answer::{Answer, CallAnswer, CallUsage, FinishedCall, ResourceContents, StructuredContent};
pub use clean_up::CleanUp;
pub use local_tools::LocalTools;
pub use no_tools::NoTools;
pub use programs::Programs;
pub use request::{BudgetSource, CallParent, CallRequest};
pub use runner::Runner;
pub use target::{CallTarget, PluginCall};
pub use tool_access::ToolAccess;
pub use tool_caller_chain::ToolCallerChain;
