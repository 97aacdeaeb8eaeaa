//! Errors of checkpoints.

use std::fmt;

use crate::ToolError;

/// Why a state was not saved or read.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckpointError {
    /// The call has not asked `restored` before.
    NotOpened,
    /// The state has more bytes than this.
    TooLarge(u64),
    /// The state is not JSON, or not of the expected type; says why.
    Invalid(String),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpened => f.write_str("a call must ask for what was saved before it saves"),
            Self::TooLarge(limit) => write!(f, "a checkpoint has at most {limit} bytes"),
            Self::Invalid(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for CheckpointError {}

impl From<CheckpointError> for ToolError {
    fn from(error: CheckpointError) -> Self {
        Self::failed(error)
    }
}
