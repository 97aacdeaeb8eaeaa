//! Why output was not sent.

use std::fmt;

use crate::{Exhaustion, ToolError};

/// Why a chunk was not sent.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputError {
    /// Nobody will read any more: the call was cancelled. Stop soon.
    Closed,
    /// The chunk would exceed the call's ceiling on bytes or number of chunks.
    Exhausted(Exhaustion),
    /// The content cannot be sent as it is; says why.
    Invalid(String),
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("nobody reads the output any more"),
            Self::Exhausted(exhaustion) => exhaustion.fmt(f),
            Self::Invalid(why) => write!(f, "the content cannot be sent: {why}"),
        }
    }
}

impl std::error::Error for OutputError {}

impl From<OutputError> for ToolError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Closed => Self::Cancelled,
            OutputError::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            OutputError::Invalid(_) => Self::Failed(error.to_string()),
        }
    }
}
