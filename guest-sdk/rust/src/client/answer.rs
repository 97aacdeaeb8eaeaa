//! What a user may say.

use super::{Answer, Consent};
use crate::ToolError;

impl<T> Answer<T> {
    /// What was filled in, if it was.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(filled) => Some(filled),
            Self::Declined | Self::Cancelled => None,
        }
    }

    /// What was filled in, or the end of the tool by `?`.
    ///
    /// # Errors
    /// [`ToolError::Failed`] when the user declined or closed the form.
    pub fn or_stop(self) -> Result<T, ToolError> {
        match self {
            Self::Accepted(filled) => Ok(filled),
            Self::Declined => Err(declined()),
            Self::Cancelled => Err(dismissed()),
        }
    }
}

impl Consent {
    /// Goes on after an agreement; anything else ends the tool by `?`.
    ///
    /// # Errors
    /// [`ToolError::Failed`] when the user did not agree.
    pub fn or_stop(self) -> Result<(), ToolError> {
        match self {
            Self::Accepted => Ok(()),
            Self::Declined => Err(declined()),
            Self::Cancelled => Err(dismissed()),
        }
    }
}

/// Whether a user confirmed. Only an outright yes is one.
#[must_use = "the user may have said no"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The user ticked yes and sent it.
    Yes,
    /// The user said no, sent it unticked, or closed the question.
    No,
}

impl Confirmation {
    /// Whether it is a yes.
    #[must_use]
    pub fn is_yes(self) -> bool {
        self == Self::Yes
    }

    /// Goes on after a yes; a no ends the tool by `?`.
    ///
    /// # Errors
    /// [`ToolError::Failed`] after a no.
    pub fn or_stop(self) -> Result<(), ToolError> {
        match self {
            Self::Yes => Ok(()),
            Self::No => Err(ToolError::failed("the user did not confirm")),
        }
    }
}

fn declined() -> ToolError {
    ToolError::failed("the user declined")
}

/// Not [`ToolError::Cancelled`]: the question was closed, the call goes on.
fn dismissed() -> ToolError {
    ToolError::failed("the user closed the question without an answer")
}
