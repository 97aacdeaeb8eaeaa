//! Errors of a tool.

use std::fmt;

use crate::bindings::portcullis::plugin::types as wit;
use crate::{Denial, Exhaustion};

/// A failed call. Any other error that implements `Display` becomes [`ToolError::Failed`] with its text.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolError {
    /// The arguments match the schema but are not valid; says which and why.
    InvalidArguments(String),
    /// The tool failed; holds a sentence for the model.
    Failed(String),
    /// The call was cancelled while the tool ran.
    Cancelled,
    /// The tool needs authority that was not granted.
    Denied(Denial),
    /// A limit of the call was reached.
    Exhausted(Exhaustion),
    /// The tool needs something that this host or client does not offer; names it.
    Unsupported(String),
}

impl ToolError {
    /// Creates a [`ToolError::Failed`].
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// Creates an error about an invalid argument.
    pub fn invalid(message: impl fmt::Display) -> Self {
        Self::InvalidArguments(message.to_string())
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidArguments(why) => write!(f, "invalid arguments: {why}"),
            Self::Failed(why) => f.write_str(why),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::Denied(denial) => write!(f, "denied: {denial}"),
            Self::Exhausted(exhaustion) => exhaustion.fmt(f),
            Self::Unsupported(what) => write!(f, "unsupported: {what}"),
        }
    }
}

impl std::error::Error for ToolError {}

impl From<Denial> for ToolError {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

impl From<Exhaustion> for ToolError {
    fn from(exhaustion: Exhaustion) -> Self {
        Self::Exhausted(exhaustion)
    }
}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::Failed(message.to_owned())
    }
}

impl From<std::io::Error> for ToolError {
    fn from(error: std::io::Error) -> Self {
        Self::failed(error)
    }
}

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        Self::failed(error)
    }
}

impl From<Box<dyn std::error::Error>> for ToolError {
    fn from(error: Box<dyn std::error::Error>) -> Self {
        Self::failed(error)
    }
}

impl From<ToolError> for wit::ToolError {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::InvalidArguments(why) => Self::InvalidArguments(why),
            ToolError::Failed(why) => Self::Failed(why),
            ToolError::Cancelled => Self::Cancelled,
            ToolError::Denied(denial) => Self::Denied(denial),
            ToolError::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            ToolError::Unsupported(what) => Self::Unsupported(what),
        }
    }
}
