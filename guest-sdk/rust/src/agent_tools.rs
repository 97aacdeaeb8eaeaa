//! Reverse calls: tools of the agent's side that this plugin may use.
//!
//! Needs a request in the manifest, `#[plugin(requests(agent_tools = ["notes.add"]))]`, and a grant of the operator.
//!
//! ```no_run
//! use portcullis_guest::{ToolError, agent_tools};
//! use serde_json::{Value, json};
//!
//! fn save(title: &str, text: &str) -> Result<String, ToolError> {
//!     let saved: Value = agent_tools::call("notes.add", &json!({ "title": title, "text": text }))?;
//!     Ok(saved["path"].as_str().unwrap_or("somewhere").to_owned())
//! }
//! ```

use std::fmt;
use std::time::Duration;

use serde::de::IntoDeserializer;
use serde::{Serialize, de::DeserializeOwned};

use crate::{Denial, Exhaustion, Tool, ToolResult, imports};

/// How a call of an agent tool is to be made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallOptions {
    /// Gives up after this time, or when the call's own deadline comes, whichever is first.
    pub timeout: Option<Duration>,
    /// Why the tool is called, for the log and for whoever approves.
    pub purpose: Option<String>,
}

/// Why an agent tool gave no result.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentError {
    /// No such tool on the agent's side.
    UnknownTool(String),
    /// Nobody on the other side can serve reverse calls; says who was asked.
    NotSupported(String),
    /// Not granted. The call went nowhere.
    Denied(Denial),
    /// Somebody on the agent's side said no to this call.
    Declined(String),
    /// The tool is already being called further up in this chain.
    Cycle(String),
    /// No answer within this time.
    Timeout(Duration),
    /// A budget of the whole chain of calls is used up.
    Exhausted(Exhaustion),
    /// The call was cancelled while it waited.
    Cancelled,
    /// The arguments do not match the tool's schema, or cannot be written as JSON.
    InvalidArguments(String),
    /// The tool ran and reported a failure.
    ToolError(Box<ToolResult>),
    /// The tool broke or exceeded its own limits.
    Failed(String),
    /// The tool answered, but not with the type that was asked for.
    UnexpectedResult(String),
}

/// The tools that [`call`] would let through now, named `<agent plugin>.<tool>`. Empty without a grant.
pub fn list() -> Vec<Tool> {
    imports::list_agent_tools()
}

/// Calls a tool, waits for its result and reads it as `R`: the structured content, or else the text.
///
/// `R = String` returns the text, `R = serde_json::Value` takes any answer.
///
/// # Errors
/// See [`AgentError`].
pub fn call<R: DeserializeOwned>(name: &str, arguments: &impl Serialize) -> Result<R, AgentError> {
    call_with(name, arguments, &CallOptions::default())
}

/// As [`call`], with options.
///
/// # Errors
/// See [`AgentError`].
pub fn call_with<R: DeserializeOwned>(
    name: &str,
    arguments: &impl Serialize,
    options: &CallOptions,
) -> Result<R, AgentError> {
    read(&call_raw(name, arguments, options)?)
}

/// As [`call_with`], without reading the result: for content other than JSON and text.
///
/// # Errors
/// See [`AgentError`].
pub fn call_raw(name: &str, arguments: &impl Serialize, options: &CallOptions) -> Result<ToolResult, AgentError> {
    let arguments =
        serde_json::to_string(arguments).map_err(|error| AgentError::InvalidArguments(error.to_string()))?;
    imports::call_agent_tool(name, &arguments, options)
}

fn read<R: DeserializeOwned>(result: &ToolResult) -> Result<R, AgentError> {
    let unexpected = |error: serde_json::Error| AgentError::UnexpectedResult(error.to_string());
    if let Some(structured) = &result.structured {
        return serde_json::from_str(structured).map_err(unexpected);
    }
    let text = result.all_text();
    // Text that is JSON is read as such, unless a plain string is what was asked for.
    let plain = || R::deserialize(IntoDeserializer::<serde::de::value::Error>::into_deserializer(text.as_str()));
    serde_json::from_str(&text).or_else(|error| plain().map_err(|_| unexpected(error)))
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTool(name) => write!(f, "there is no agent tool `{name}`"),
            Self::NotSupported(who) => write!(f, "agent tools are not supported: {who}"),
            Self::Denied(denial) => write!(f, "denied: {denial}"),
            Self::Declined(why) => write!(f, "declined: {why}"),
            Self::Cycle(name) => write!(f, "`{name}` is already being called in this chain"),
            Self::Timeout(after) => write!(f, "no answer within {} ms", after.as_millis()),
            Self::Exhausted(exhaustion) => exhaustion.fmt(f),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::InvalidArguments(why) => write!(f, "invalid arguments: {why}"),
            Self::ToolError(result) => write!(f, "the agent tool failed: {}", result.all_text()),
            Self::Failed(why) => write!(f, "the agent tool broke: {why}"),
            Self::UnexpectedResult(why) => write!(f, "the agent tool's answer is not what was expected: {why}"),
        }
    }
}

impl std::error::Error for AgentError {}
