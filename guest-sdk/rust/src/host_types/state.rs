//! Why a value was not kept or found.

use std::fmt;

use crate::{Denial, Exhaustion, ToolError};

/// Why a value was not kept or found.
#[derive(Clone, Debug, PartialEq)]
pub enum StateError {
    /// Not granted.
    Denied(Denial),
    /// Not a key, which is 1 to 256 bytes of `[A-Za-z0-9._:/-]`, or a value that is no JSON; says why.
    Invalid(String),
    /// What may be kept for this principal is used up.
    Exhausted(Exhaustion),
    /// Somebody else changed it meanwhile.
    Conflict,
    /// The host could not keep or find it.
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
