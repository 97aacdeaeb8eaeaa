//! Errors of output.

use std::fmt;

use crate::{Exhaustion, ToolError};

/// Why a chunk was not sent.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputError {
    /// The call was cancelled, so nobody reads its output any more. Stop soon.
    Closed,
    /// The chunk would exceed the call's limit on bytes or on the number of chunks.
    Exhausted(Exhaustion),
    /// The content is not valid; says why.
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
