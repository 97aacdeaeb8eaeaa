//! Running calls: admission, the call itself, checking what the guest answered, and recording it.

mod answers;
mod reconcile;
mod recorder;
mod request;
mod runner;
mod slots;
mod start;
mod started_call;
mod target;
mod tool_access;
mod tool_callers;
mod upstream_request;

pub use answers::answer::{Answer, CallAnswer, CallUsage, FinishedCall, ResourceContents, StructuredContent};
pub use request::{BudgetSource, CallParent, CallRequest};
pub use runner::Runner;
pub use slots::clean_up::CleanUp;
pub use target::{CallTarget, PluginCall};
pub use tool_access::ToolAccess;
pub use tool_callers::local_tools::LocalTools;
pub use tool_callers::no_tools::NoTools;
pub use tool_callers::programs::Programs;
pub use tool_callers::tool_caller_chain::ToolCallerChain;
