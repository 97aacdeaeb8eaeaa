//! A request to another server, and its answer.

use std::fmt;
use std::time::Duration;

use crate::{Denial, ToolError};

/// Why a request got no answer, or not the expected one.
#[derive(Clone, Debug, PartialEq)]
pub enum HttpError {
    /// Not granted: the request, one of its redirects, or a secret in it.
    Denied(Denial),
    /// The request is not valid; says why.
    Invalid(String),
    /// No complete answer in time.
    Timeout,
    /// A limit of the grant was reached; says which.
    Exhausted(String),
    /// The other server could not be reached or misbehaved; says how.
    Failed(String),
    /// The other server answered with this status; see [`Response::error_for_status`].
    Status(u16),
    /// The other server's answer is not what was expected; says why.
    UnexpectedResponse(String),
}

/// A request to be sent.
#[must_use = "nothing is sent before `send`"]
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_body: usize,
    /// Why the body could not be written; returned by `send`, so that a chain of calls needs only one `?`.
    pub(crate) broken: Option<String>,
}

/// An answer with any status.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The status, such as 200.
    pub status: u16,
    /// Names in lower case, and values; invalid UTF-8 is replaced.
    pub headers: Vec<(String, String)>,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// Whether the body was cut at [`Request::max_body`].
    pub truncated: bool,
}

impl Request {
    /// The method, and the URL as grants write it.
    pub(crate) fn target(&self) -> String {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        format!("{} {url}", self.method)
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => write!(f, "denied: {denial}"),
            Self::Invalid(why) => write!(f, "the request cannot be sent: {why}"),
            Self::Timeout => f.write_str("the other server did not answer in time"),
            Self::Exhausted(what) => write!(f, "a limit was reached: {what}"),
            Self::Failed(why) => write!(f, "the other server failed: {why}"),
            Self::Status(status) => write!(f, "the other server answered with status {status}"),
            Self::UnexpectedResponse(why) => {
                write!(f, "the other server's answer is not what was expected: {why}")
            }
        }
    }
}

impl std::error::Error for HttpError {}

impl From<HttpError> for ToolError {
    fn from(error: HttpError) -> Self {
        match error {
            HttpError::Denied(denial) => Self::Denied(denial),
            _ => Self::Failed(error.to_string()),
        }
    }
}
