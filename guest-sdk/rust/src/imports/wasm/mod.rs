//! The real host.

mod asking;
mod publishing;

use std::path::PathBuf;
use std::time::Duration;

use crate::agent_tools::{AgentError, CallOptions};
use crate::bindings::portcullis::plugin as wit;
use crate::log::Level;
use crate::output::OutputError;
use crate::{Content, Tool, ToolResult};

pub(crate) use asking::{ask, ask_many, connected, send, supported};
pub(crate) use publishing::{append_resource, emit_event, put_prompt, put_resource, remove_prompt, remove_resource};

pub(crate) fn emit(content: Vec<Content>) -> Result<u64, OutputError> {
    wit::output::emit(&content).map_err(|error| match error {
        wit::output::OutputError::Closed => OutputError::Closed,
        wit::output::OutputError::Exhausted(exhaustion) => OutputError::Exhausted(exhaustion),
        wit::output::OutputError::Invalid(why) => OutputError::Invalid(why),
    })
}

pub(crate) fn progress(done: f64, total: Option<f64>, message: Option<String>) {
    wit::progress::report(done, total, message.as_deref());
}

pub(crate) fn log(level: Level, message: String) {
    wit::log::write(level, &message);
}

pub(crate) fn fuel_left() -> Option<u64> {
    wit::meter::fuel_left()
}

pub(crate) fn deadline_left() -> u64 {
    wit::meter::deadline_left()
}

pub(crate) fn list_agent_tools() -> Vec<Tool> {
    wit::agent_tools::list_tools()
}

pub(crate) fn call_agent_tool(name: &str, arguments: &str, options: &CallOptions) -> Result<ToolResult, AgentError> {
    use wit::agent_tools::AgentError as Wit;
    let timeout_ms = options.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    let options = wit::agent_tools::CallOptions { timeout_ms, purpose: options.purpose.clone() };
    wit::agent_tools::call(name, arguments, &options).map_err(|error| match error {
        Wit::UnknownTool(name) => AgentError::UnknownTool(name),
        Wit::NotSupported(who) => AgentError::NotSupported(who),
        Wit::Denied(denial) => AgentError::Denied(denial),
        Wit::Declined(why) => AgentError::Declined(why),
        Wit::Cycle(name) => AgentError::Cycle(name),
        Wit::Timeout(after_ms) => AgentError::Timeout(Duration::from_millis(after_ms)),
        Wit::Exhausted(exhaustion) => AgentError::Exhausted(exhaustion),
        Wit::Cancelled => AgentError::Cancelled,
        Wit::InvalidArguments(why) => AgentError::InvalidArguments(why),
        Wit::ToolError(result) => AgentError::ToolError(Box::new(result)),
        Wit::Failed(why) => AgentError::Failed(why),
    })
}

pub(crate) fn folders() -> Vec<PathBuf> {
    wasip2::filesystem::preopens::get_directories().into_iter().map(|(_, path)| path.into()).collect()
}
