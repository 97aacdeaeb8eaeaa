//! Requests that are refused before they reach a handler: an HTTP status and a JSON-RPC error.

use crate::transport::responses::error_body::error_response;
use crate::unreadable::Unreadable;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytesize::ByteSize;

/// Headers and body do not agree, or a header that must be unique is given twice.
const HEADER_MISMATCH: i32 = -32020;
const INVALID_REQUEST: i32 = -32600;
const INTERNAL_ERROR: i32 = -32603;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(in crate::transport) enum HttpRefusal {
    #[error("the request needs exactly one valid Host header")]
    NoHost,
    #[error("this Host is not allowed; `allowed-hosts` of [server] lists those that are")]
    Host,
    #[error("pages of this Origin may not use this server; `allowed-origins` of [server] lists those that may")]
    Origin,
    #[error("there is nothing at this path; MCP is at /mcp")]
    Path,
    #[error("the header {0} must not be given twice")]
    DuplicateHeader(&'static str),
    #[error("the request is larger than {0}, `max-body` of [server]")]
    TooLarge(ByteSize),
    #[error("the request did not arrive within {0} seconds")]
    TooSlow(u64),
    #[error("{0}")]
    Unreadable(Unreadable),
    #[error("the body is encoded (Content-Encoding: {0}): send it as it is")]
    Encoded(String),
    #[error("the answer is a stream of events: accept text/event-stream, too")]
    NeedsEvents,
    #[error("this is not a complete JSON-RPC message of MCP")]
    NotAMessage,
    #[error("the server is starting; try again in a moment")]
    Starting,
    #[error("the server is stopping; try again in a moment")]
    Stopping,
    #[error("there are too many sessions; end some with DELETE, or try again later")]
    TooManySessions,
    #[error("this session already has {0} requests running, the limit; try again when some have ended")]
    TooManyRequests(usize),
    #[error(
        "{0} connections are serving you already, which is all that one user may have; close streams that you do not need, or let some requests end"
    )]
    TooManyConnections(usize),
    #[error("your running requests hold {0} of the server's memory already, all that one user may have; let some end")]
    TooManyBytes(ByteSize),
    #[error("the server holds too many large messages; try again in a moment")]
    NoMemory,
    #[error("a request with this id is still running in this session, or was cancelled; each request needs its own id")]
    DuplicateId,
    #[error("Session not found")]
    UnknownSession,
    #[error("no stream of this session can be resumed from this event; the stream may have ended and been deleted")]
    UnknownEvent,
    #[error("the server cannot store what this request needs; its log says why")]
    Storage,
}

impl HttpRefusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NoHost | Self::DuplicateHeader(_) | Self::Unreadable(_) | Self::NotAMessage => {
                StatusCode::BAD_REQUEST
            }
            Self::Encoded(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::NeedsEvents => StatusCode::NOT_ACCEPTABLE,
            Self::DuplicateId | Self::UnknownEvent => StatusCode::BAD_REQUEST,
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Path | Self::UnknownSession => StatusCode::NOT_FOUND,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::TooManyRequests(_) | Self::TooManyConnections(_) | Self::TooManyBytes(_) => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::Starting | Self::Stopping | Self::TooManySessions | Self::NoMemory | Self::Storage => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    fn code(&self) -> i32 {
        match self {
            Self::DuplicateHeader(_) => HEADER_MISMATCH,
            Self::Unreadable(unreadable) => unreadable.code,
            _ if self.status().is_server_error() => INTERNAL_ERROR,
            _ => INVALID_REQUEST,
        }
    }

    pub(in crate::transport) fn response(&self) -> Response {
        let id = match self {
            Self::Unreadable(unreadable) => unreadable.id.as_ref(),
            _ => None,
        };
        let mut response = error_response(self.status(), id, self.code(), &self.to_string());
        if matches!(self.status(), StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if matches!(self, Self::TooLarge(_) | Self::TooSlow(_) | Self::NoMemory) {
            // The rest of the request is not read.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
