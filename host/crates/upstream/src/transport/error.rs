//! Why a server is not connected, and what is known of a request that failed.

use platform::outbound::{OutboundError, Sent};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::error::Error;
use std::io;
use std::time::Duration;

/// Time for the handshake. Bounds a server that accepts the connection and never answers.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("cannot start `{0}`: {reason}", reason = reason_not_started(.1))]
    Spawn(String, io::Error),
    #[error("cannot read the key {0}: {1}")]
    Key(String, io::Error),
    #[error("{0}")]
    Outbound(String),
    #[error("{0}")]
    Handshake(String),
    #[error("the handshake took longer than {t}", t = humantime::format_duration(HANDSHAKE_TIMEOUT))]
    HandshakeTimeout,
}

fn reason_not_started(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such program; is it installed, and is its folder in PATH?".to_owned(),
        _ => error.to_string(),
    }
}

/// What is known of a request that failed on its way, if that is more than nothing.
pub(crate) enum KnownFailure {
    /// The server has not got it.
    NotSent(String),
    /// The server has answered, and not in the protocol.
    Answered(String),
}

/// What is known from the error with which sending a request ended.
pub(crate) fn known_failure(error: &(dyn Error + Send + Sync + 'static)) -> Option<KnownFailure> {
    // Of a pipe. A line that was not written to its end is no message.
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return Some(KnownFailure::NotSent(error.to_string()));
    }
    match error.downcast_ref::<StreamableHttpError<OutboundError>>()? {
        StreamableHttpError::Client(error @ OutboundError::Unreachable(.., Sent::Nothing)) => {
            Some(KnownFailure::NotSent(error.to_string()))
        }
        StreamableHttpError::UnexpectedServerResponse(said) => Some(KnownFailure::Answered(said.to_string())),
        StreamableHttpError::UnexpectedContentType(kind) => {
            let kind = kind.as_deref().unwrap_or("no type");
            Some(KnownFailure::Answered(format!("something that is neither JSON nor events: {kind}")))
        }
        StreamableHttpError::AuthRequired(_) => Some(KnownFailure::Answered("HTTP 401: it wants a credential".into())),
        StreamableHttpError::InsufficientScope(_) => {
            Some(KnownFailure::Answered("HTTP 403: the credential does not suffice".into()))
        }
        error @ (StreamableHttpError::HttpStatus(_) | StreamableHttpError::ResponseBodyTooLarge { .. }) => {
            Some(KnownFailure::Answered(error.to_string()))
        }
        _ => None,
    }
}
