//! Errors of the key-value state.

use std::fmt;

use crate::{Denial, Exhaustion, ToolError};

/// Why a value was not stored or read.
#[derive(Clone, Debug, PartialEq)]
pub enum StateError {
    /// Not granted.
    Denied(Denial),
    /// The key is not 1 to 256 bytes of `[A-Za-z0-9._:/-]`, or the value is not JSON; says why.
    Invalid(String),
    /// The principal's storage limit is reached.
    Exhausted(Exhaustion),
    /// Another call changed the value meanwhile.
    Conflict,
    /// The host failed to store or read the value.
    Failed(String),
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => write!(f, "denied: {denial}"),
            Self::Invalid(why) => write!(f, "it cannot be kept or read: {why}"),
            Self::Exhausted(exhaustion) => exhaustion.fmt(f),
            Self::Conflict => f.write_str("somebody else changed it meanwhile"),
            Self::Failed(why) => write!(f, "nothing is kept: {why}"),
        }
    }
}

impl std::error::Error for StateError {}

impl From<StateError> for ToolError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Denied(denial) => Self::Denied(denial),
            StateError::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            StateError::Invalid(_) | StateError::Conflict | StateError::Failed(_) => Self::Failed(error.to_string()),
        }
    }
}
