//! Answers of a user, and errors of questions.

use std::fmt;
use std::time::Duration;

use crate::{Denial, Exhaustion, ToolError};

/// What a user did with a form.
#[must_use = "the user may have said no"]
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<T> {
    /// Filled in and sent.
    Accepted(T),
    /// Declined.
    Declined,
    /// Closed without an answer.
    Cancelled,
}

/// Why a question has no answer. A user's no is an answer, not an error.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientError {
    /// This client cannot answer this kind of question; names the capability, such as `elicitation.form` or `sampling`.
    Unsupported(String),
    /// Not granted. The question was not sent.
    Denied(Denial),
    /// The question is not valid; says why.
    Invalid(String),
    /// Somebody on the client's side rejected the question itself, such as a reviewer of a sampling request.
    Declined(String),
    /// The form was sent several times, but no answer matched its schema; says what was wrong last.
    NotAnswered(String),
    /// No answer within this time.
    Timeout(Duration),
    /// A limit on questions, model calls or tokens is reached.
    Exhausted(Exhaustion),
    /// The call was cancelled while it waited.
    Cancelled,
    /// The client answered with an error or with an invalid answer.
    Failed(String),
    /// The answer fits the question, but not the type that was asked for.
    UnexpectedAnswer(String),
}

impl ClientError {
    /// For an answer to a different kind of question; a real host never sends one.
    pub(crate) fn another_answer() -> Self {
        Self::Failed("the host answered another question".into())
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(capability) => write!(f, "the client does not support {capability}"),
            Self::Denied(denial) => write!(f, "denied: {denial}"),
            Self::Invalid(why) => write!(f, "the question cannot be asked: {why}"),
            Self::Declined(why) => write!(f, "the client's side declined the question: {why}"),
            Self::NotAnswered(why) => write!(f, "the form was not filled in: {why}"),
            Self::Timeout(after) => write!(f, "the client did not answer within {} ms", after.as_millis()),
            Self::Exhausted(exhaustion) => exhaustion.fmt(f),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::Failed(why) => write!(f, "the client failed to answer: {why}"),
            Self::UnexpectedAnswer(why) => write!(f, "the client's answer is not what was expected: {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<ClientError> for ToolError {
    fn from(error: ClientError) -> Self {
        match error {
            // Only the name of the capability: the host passes it to the client as a requirement of the tool.
            ClientError::Unsupported(capability) => Self::Unsupported(capability),
            ClientError::Denied(denial) => Self::Denied(denial),
            ClientError::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            ClientError::Cancelled => Self::Cancelled,
            _ => Self::Failed(error.to_string()),
        }
    }
}
