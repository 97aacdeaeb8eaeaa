//! The real host.

mod asking;
mod keeping;
mod publishing;
mod sending;

use std::path::PathBuf;
use std::time::Duration;

use crate::bindings::portcullis::plugin as wit;
use crate::host_types::agent_tools::{AgentError, AgentResult, CallOptions, Origin};
use crate::host_types::output::OutputError;
use crate::host_types::steering::Received;
use crate::{Content, Tool};

pub(crate) use asking::{ask, ask_many, connected, send, supported};
pub(crate) use keeping::{get_state, remove_state, restored, save_checkpoint, set_state, state_keys, swap_state};
pub(crate) use publishing::{append_resource, emit_event, put_prompt, put_resource, remove_prompt, remove_resource};
pub(crate) use sending::send_http;

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

pub(crate) fn log(level: wit::log::Level, message: String) {
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

pub(crate) fn call_agent_tool(name: &str, arguments: &str, options: &CallOptions) -> Result<AgentResult, AgentError> {
    wit::agent_tools::call(name, arguments, &to_wit(options)).map(from_wit).map_err(error_from_wit)
}

pub(crate) fn call_agent_tools(calls: &[(String, String, CallOptions)]) -> Vec<Result<AgentResult, AgentError>> {
    let call = |(name, arguments, options): &(String, String, CallOptions)| wit::agent_tools::AgentCall {
        name: name.clone(),
        arguments: arguments.clone(),
        options: to_wit(options),
    };
    let calls: Vec<_> = calls.iter().map(call).collect();
    let results = wit::agent_tools::call_many(&calls).into_iter();
    results.map(|result| result.map(from_wit).map_err(error_from_wit)).collect()
}

pub(crate) fn steered() -> Option<String> {
    wit::steering::next()
}

pub(crate) fn received(timeout: Option<Duration>) -> Received {
    let millis = timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    match wit::steering::receive(millis) {
        wit::steering::Received::Message(message) => Received::Message(message),
        wit::steering::Received::Ended => Received::Ended,
        wit::steering::Received::TimedOut => Received::TimedOut,
    }
}

fn to_wit(options: &CallOptions) -> wit::agent_tools::CallOptions {
    let timeout_ms = options.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    wit::agent_tools::CallOptions { timeout_ms, purpose: options.purpose.clone(), chunks: options.chunks }
}

fn from_wit(result: wit::agent_tools::AgentResult) -> AgentResult {
    use wit::agent_tools::Origin as Wit;
    let origin = match result.origin {
        Wit::Client => Origin::Client,
        Wit::Component(name) => Origin::Component(name),
        Wit::Upstream(name) => Origin::Upstream(name),
        Wit::Model => Origin::Model,
        Wit::User => Origin::User,
    };
    let (content, structured) = (result.content, result.structured);
    AgentResult { content, structured, origin, private: result.private, edited: result.edited }
}

fn error_from_wit(error: wit::agent_tools::AgentError) -> AgentError {
    use wit::agent_tools::AgentError as Wit;
    match error {
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
    }
}

pub(crate) fn folders() -> Vec<PathBuf> {
    let directories = wasip2::filesystem::preopens::get_directories().into_iter();
    // The host gives `/` without any right where it is not granted, to hear what is looked for there, and refuses it.
    let granted = directories
        .filter(|(directory, path)| path != "/" || directory.get_flags().is_ok_and(|flags| flags.bits() != 0));
    granted.map(|(_, path)| path.into()).collect()
}
