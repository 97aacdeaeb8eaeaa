//! Errors of events.

use std::fmt;

use crate::{Denial, Exhaustion, ToolError};

/// Why an event was not added.
#[derive(Clone, Debug, PartialEq)]
pub enum EventError {
    /// Not granted.
    Denied(Denial),
    /// The name or payload is not valid; says why.
    Invalid(String),
    /// Too many events in a short time, or an event that is too large.
    Exhausted(Exhaustion),
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => write!(f, "denied: {denial}"),
            Self::Invalid(why) => write!(f, "the event cannot be sent: {why}"),
            Self::Exhausted(exhaustion) => exhaustion.fmt(f),
        }
    }
}

impl std::error::Error for EventError {}

impl From<EventError> for ToolError {
    fn from(error: EventError) -> Self {
        match error {
            EventError::Denied(denial) => Self::Denied(denial),
            EventError::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            EventError::Invalid(_) => Self::Failed(error.to_string()),
        }
    }
}
