//! Errors of requests with a connected account.

use std::fmt;
use std::time::Duration;

use crate::{Denial, Exhaustion, ToolError};

/// Why a request got no answer, or not the expected one.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionError {
    /// Not granted.
    Denied(Denial),
    /// The principal has not connected this account, or must connect it again:
    /// [`client::connect`](crate::client::connect).
    NotConnected,
    /// The request is not valid; says why.
    Invalid(String),
    /// A limit of the call was reached.
    Exhausted(Exhaustion),
    /// No answer within this time.
    Timeout(Duration),
    /// The other server could not be reached or misbehaved.
    Failed(String),
    /// The other server answered with this status; see [`Response::error_for_status`](crate::connections::Response::error_for_status).
    Status(u16),
    /// The other server's answer is not what was expected; says why.
    UnexpectedResponse(String),
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => write!(f, "denied: {denial}"),
            Self::NotConnected => f.write_str("the account is not connected"),
            Self::Invalid(why) => write!(f, "the request cannot be sent: {why}"),
            Self::Exhausted(exhaustion) => exhaustion.fmt(f),
            Self::Timeout(after) => write!(f, "no answer within {} ms", after.as_millis()),
            Self::Failed(why) => write!(f, "the other server failed: {why}"),
            Self::Status(status) => write!(f, "the other server answered with status {status}"),
            Self::UnexpectedResponse(why) => {
                write!(f, "the other server's answer is not what was expected: {why}")
            }
        }
    }
}

impl std::error::Error for ConnectionError {}

impl From<ConnectionError> for ToolError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::Denied(denial) => Self::Denied(denial),
            ConnectionError::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            _ => Self::Failed(error.to_string()),
        }
    }
}
