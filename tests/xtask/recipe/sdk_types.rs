//! Errors of dice.

use std::fmt;

use crate::{Denial, ToolError};

/// Why a die was not rolled.
#[derive(Clone, Debug, PartialEq)]
pub enum RollError {
    /// Not granted.
    Denied(Denial),
    /// There is no such die; says why.
    Invalid(String),
}

impl fmt::Display for RollError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => write!(f, "denied: {denial}"),
            Self::Invalid(why) => write!(f, "the die cannot be rolled: {why}"),
        }
    }
}

impl std::error::Error for RollError {}

impl From<RollError> for ToolError {
    fn from(error: RollError) -> Self {
        match error {
            RollError::Denied(denial) => Self::Denied(denial),
            RollError::Invalid(_) => Self::Failed(error.to_string()),
        }
    }
}
