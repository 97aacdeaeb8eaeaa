//! Why a server is not connected, and what is known of a request that failed.

use platform::outbound::{OutboundError, Sent};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::error::Error;
use std::io;
use std::time::Duration;

/// Time for the handshake. Bounds a server that accepts the connection and never answers.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

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

/// What is known of a request whose sending failed.
pub(crate) enum KnownFailure {
    /// The server has not got it.
    NotSent(String),
    /// The server has answered, but not in the protocol.
    Answered(String),
}

/// What is known from the error with which sending a request ended.
pub(crate) fn known_failure(error: &(dyn Error + Send + Sync + 'static)) -> Option<KnownFailure> {
    // An error of a pipe: a line that was not written to its end is no message.
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

#[cfg(test)]
mod tests {
    use super::*;
    use platform::outbound::header::HeaderMap;
    use platform::outbound::{Method, OutboundClient};
    use std::borrow::Cow;

    #[tokio::test]
    async fn a_request_without_a_connection_has_not_left() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let url = format!("http://{free}/").parse().unwrap();
        let opened = OutboundClient::new().unwrap().open(Method::POST, url, HeaderMap::new(), Vec::new()).await;
        let error = StreamableHttpError::Client(opened.err().unwrap());
        assert!(matches!(known_failure(&error), Some(KnownFailure::NotSent(_))), "{error}");
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(matches!(known_failure(&broken), Some(KnownFailure::NotSent(_))));
    }

    #[test]
    fn what_was_perhaps_sent_is_told_apart_from_what_was_answered() {
        let cut = OutboundError::Unreachable("http://a".into(), "reset".into(), Sent::Perhaps);
        assert!(known_failure(&StreamableHttpError::Client(cut)).is_none());
        let said: StreamableHttpError<OutboundError> =
            StreamableHttpError::UnexpectedServerResponse(Cow::Borrowed("HTTP 404: no"));
        assert!(matches!(known_failure(&said), Some(KnownFailure::Answered(what)) if what == "HTTP 404: no"));
    }
}
