//! Errors of publishing, and default attributes.

use std::fmt;

use crate::bindings::portcullis::plugin::publish as wit;
use crate::{Denial, Exhaustion, ToolError};

/// Why something was not published or removed.
#[derive(Clone, Debug, PartialEq)]
pub enum PublishError {
    /// Not granted.
    Denied(Denial),
    /// The path, name or attributes are not valid; says why.
    Invalid(String),
    /// The principal's limit on stored bytes or items is reached.
    Exhausted(Exhaustion),
    /// This plugin has published nothing under this path or name for this principal.
    NotFound,
}

pub(crate) fn no_attributes() -> wit::Attributes {
    let (title, description, mime_type) = (None, None, None);
    wit::Attributes { title, description, mime_type, audience: Vec::new(), priority: None, ttl_ms: None }
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => write!(f, "denied: {denial}"),
            Self::Invalid(why) => write!(f, "cannot be published: {why}"),
            Self::Exhausted(exhaustion) => exhaustion.fmt(f),
            Self::NotFound => f.write_str("nothing is published under this name"),
        }
    }
}

impl std::error::Error for PublishError {}

impl From<PublishError> for ToolError {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Denied(denial) => Self::Denied(denial),
            PublishError::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            PublishError::Invalid(_) | PublishError::NotFound => Self::Failed(error.to_string()),
        }
    }
}
