//! How an agent tool is called, and what it answers.

use std::fmt;
use std::time::Duration;

use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::{Content, Denial, Exhaustion, ToolError, ToolResult};

/// How a call of an agent tool is to be made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallOptions {
    /// Gives up after this time, or when the call's own deadline comes, whichever is first.
    pub timeout: Option<Duration>,
    /// Why the tool is called, for the log and for whoever approves.
    pub purpose: Option<String>,
    /// Pass on the chunks that the tool gives while it runs, as chunks of this call that say where they come from.
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
    /// The client's model stood in for the tool.
    Model,
    /// The client's user stood in for the tool.
    User,
}

/// What a tool answered that reported no failure. Untrusted, like everything from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentResult {
    /// For people and models.
    pub content: Vec<Content>,
    /// JSON text.
    pub structured: Option<String>,
    /// Who answered.
    pub origin: Origin,
    /// Not to be passed on: calls that would reach somebody else are denied from now on, unless the operator granted the
    /// flow.
    pub private: bool,
    /// The arguments, as JSON, with which the tool really ran, where whoever approved the call changed them.
    pub edited: Option<String>,
}

impl AgentResult {
    /// Reads the answer as `R`: the structured content, or else the text.
    ///
    /// # Errors
    /// [`AgentError::UnexpectedResult`] when it is something else.
    pub fn read<R: DeserializeOwned>(&self) -> Result<R, AgentError> {
        read(&self.content, self.structured.as_deref())
    }
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

fn read<R: DeserializeOwned>(content: &[Content], structured: Option<&str>) -> Result<R, AgentError> {
    let unexpected = |error: serde_json::Error| AgentError::UnexpectedResult(error.to_string());
    if let Some(structured) = structured {
        return serde_json::from_str(structured).map_err(unexpected);
    }
    let text = ToolResult::from(content.to_vec()).all_text();
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
