//! Reverse calls: calling tools on the agent's side.
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

use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use crate::{Tool, imports};

pub use crate::host_types::agent_tools::{AgentError, AgentResult, CallOptions, Origin};

/// One of several calls that are made together.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub(crate) name: String,
    pub(crate) arguments: Result<String, String>,
    pub(crate) options: CallOptions,
}

impl Call {
    /// Creates a call of this tool.
    pub fn new(name: impl Into<String>, arguments: &impl Serialize) -> Self {
        let arguments = serde_json::to_string(arguments).map_err(|error| error.to_string());
        Self { name: name.into(), arguments, options: CallOptions::default() }
    }

    /// Sets a timeout.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Forwards the tool's chunks as chunks of this call.
    #[must_use]
    pub fn chunks(mut self) -> Self {
        self.options.chunks = true;
        self
    }

    /// Sets the purpose of the call.
    #[must_use]
    pub fn purpose(mut self, purpose: impl Into<String>) -> Self {
        self.options.purpose = Some(purpose.into());
        self
    }
}

/// The tools that [`call`] can reach now: those that are granted and available. A component's tools are named `<agent
/// plugin>.<tool>`, a client's as the client names them. Empty without a grant.
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
    call_raw(name, arguments, options)?.read()
}

/// Makes several calls together, as many at a time as the operator allows, and waits for all.
///
/// The results come in the order of the calls; a failed call does not stop the others. The remaining fuel is divided
/// evenly.
pub fn call_many(calls: Vec<Call>) -> Vec<Result<AgentResult, AgentError>> {
    // A call whose arguments cannot be written as JSON is not made; the others are.
    let bad = |call: &Call| call.arguments.clone().err();
    let unwritten: Vec<Option<String>> = calls.iter().map(bad).collect();
    let made: Vec<(String, String, CallOptions)> = calls
        .into_iter()
        .filter_map(|call| call.arguments.ok().map(|arguments| (call.name, arguments, call.options)))
        .collect();
    let mut results = imports::call_agent_tools(&made).into_iter();
    let result = |unwritten: Option<String>| match unwritten {
        Some(why) => Err(AgentError::InvalidArguments(why)),
        None => results.next().unwrap_or(Err(AgentError::Cancelled)),
    };
    unwritten.into_iter().map(result).collect()
}

/// As [`call_with`], without reading the result: for content other than JSON and text.
///
/// # Errors
/// See [`AgentError`].
pub fn call_raw(name: &str, arguments: &impl Serialize, options: &CallOptions) -> Result<AgentResult, AgentError> {
    let arguments =
        serde_json::to_string(arguments).map_err(|error| AgentError::InvalidArguments(error.to_string()))?;
    imports::call_agent_tool(name, &arguments, options)
}
