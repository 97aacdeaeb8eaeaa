//! Options, results and errors of agent tools.

use std::fmt;
use std::time::Duration;

use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::{Content, Denial, Exhaustion, ToolError, ToolResult};

/// Options of a call of an agent tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallOptions {
    /// The timeout; the call's own deadline applies as well.
    pub timeout: Option<Duration>,
    /// The purpose of the call, for the log and for those who approve it.
    pub purpose: Option<String>,
    /// Forward the tool's chunks while it runs, as chunks of this call that name their source.
    pub chunks: bool,
}

/// Who answered a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The client of the call, with a tool of its own.
    Client,
    /// An agent-side component of the host, by name.
    Component(String),
    /// A server behind the host, by name.
    Upstream(String),
    /// The client's model, in place of the tool.
    Model,
    /// The client's user, in place of the tool.
    User,
}

/// The answer of a tool that reported no failure. It is untrusted, like everything from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentResult {
    /// Content for people and models.
    pub content: Vec<Content>,
    /// Structured content as JSON text.
    pub structured: Option<String>,
    /// Who answered.
    pub origin: Origin,
    /// The answer is private: from now on, calls that would reach another recipient are denied, unless the operator
    /// granted the flow.
    pub private: bool,
    /// The arguments, as JSON, with which the tool ran, if they were changed at approval.
    pub edited: Option<String>,
}

impl AgentResult {
    /// Reads the answer as `R`: the structured content, or else the text.
    ///
    /// # Errors
    /// [`AgentError::UnexpectedResult`] when the answer is not an `R`.
    pub fn read<R: DeserializeOwned>(&self) -> Result<R, AgentError> {
        read(&self.content, self.structured.as_deref())
    }
}

/// Why an agent tool gave no result.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentError {
    /// No such tool on the agent's side.
    UnknownTool(String),
    /// The client's side cannot serve reverse calls; says who was asked.
    NotSupported(String),
    /// Not granted. The call was not sent.
    Denied(Denial),
    /// Somebody on the agent's side rejected this call.
    Declined(String),
    /// The tool is already running further up in this chain of calls.
    Cycle(String),
    /// No answer within this time.
    Timeout(Duration),
    /// A budget of the whole chain of calls is exceeded.
    Exhausted(Exhaustion),
    /// The call was cancelled while it waited.
    Cancelled,
    /// The arguments do not match the tool's schema, or cannot be written as JSON.
    InvalidArguments(String),
    /// The tool ran and reported a failure.
    ToolError(Box<ToolResult>),
    /// The tool crashed or exceeded its own limits.
    Failed(String),
    /// The answer does not have the expected type.
    UnexpectedResult(String),
}

fn read<R: DeserializeOwned>(content: &[Content], structured: Option<&str>) -> Result<R, AgentError> {
    let unexpected = |error: serde_json::Error| AgentError::UnexpectedResult(error.to_string());
    if let Some(structured) = structured {
        return serde_json::from_str(structured).map_err(unexpected);
    }
    let text = ToolResult::from(content.to_vec()).all_text();
    // Text that is JSON is read as JSON, unless `R` is a plain string.
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

impl From<AgentError> for ToolError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Denied(denial) => Self::Denied(denial),
            AgentError::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            AgentError::Cancelled => Self::Cancelled,
            AgentError::NotSupported(_) => Self::Unsupported(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}
