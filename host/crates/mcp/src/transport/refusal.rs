//! What is refused before it reaches a handler, and how that is said: a status and a JSON-RPC error without an id.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytesize::ByteSize;
use serde_json::json;

/// Headers and body do not agree, or a header that must be there once is there twice.
const HEADER_MISMATCH: i32 = -32020;
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INTERNAL_ERROR: i32 = -32603;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("the request needs exactly one valid Host header")]
    NoHost,
    #[error("this Host is not allowed; `allowed-hosts` of [server] names those that are")]
    Host,
    #[error("pages of this Origin may not talk to this server; `allowed-origins` of [server] names those that may")]
    Origin,
    #[error("there is nothing at this path; MCP is at /mcp")]
    Path,
    #[error("the header {0} must not be given twice")]
    Twice(&'static str),
    #[error("the request is larger than {0}, `max-body` of [server]")]
    TooLarge(ByteSize),
    #[error("the request did not arrive within {0} seconds")]
    TooSlow(u64),
    #[error("the JSON is nested deeper than {0} levels")]
    TooDeep(usize),
    #[error("this is not JSON: {0}")]
    NotJson(String),
    #[error("this is no JSON-RPC message of MCP, or one that lacks something")]
    NotAMessage,
    #[error("the server is starting; try again in a moment")]
    Starting,
    #[error("the server is stopping; try again in a moment")]
    Stopping,
    #[error("there are too many sessions; end some with DELETE, or try again later")]
    ManySessions,
    #[error("this session has {0} requests running, as many as it may; try again when some have ended")]
    ManyRequests(usize),
    #[error("a request with this id is still running in this session, or was cancelled: each needs an id of its own")]
    SameId,
    #[error("Session not found")]
    Session,
    #[error("there is no such event to go on from: its stream is over and forgotten, or never was of this session")]
    Event,
    #[error("the server cannot keep what this request needs to be kept; its log says why")]
    Storage,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NoHost | Self::Twice(_) | Self::TooDeep(_) | Self::NotJson(_) | Self::NotAMessage => {
                StatusCode::BAD_REQUEST
            }
            Self::SameId | Self::Event => StatusCode::BAD_REQUEST,
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Path | Self::Session => StatusCode::NOT_FOUND,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::ManyRequests(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Starting | Self::Stopping | Self::ManySessions | Self::Storage => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn code(&self) -> i32 {
        match self {
            Self::Twice(_) => HEADER_MISMATCH,
            Self::NotJson(_) => PARSE_ERROR,
            _ if self.status().is_server_error() => INTERNAL_ERROR,
            _ => INVALID_REQUEST,
        }
    }

    pub(super) fn response(&self) -> Response {
        // No id: at this point nobody has read one, and MCP has no null for it.
        let body = json!({"jsonrpc": "2.0", "error": {"code": self.code(), "message": self.to_string()}});
        let mut response = json_response(self.status(), &body);
        if matches!(self.status(), StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if matches!(self, Self::TooLarge(_) | Self::TooSlow(_)) {
            // What is left of the request is not read.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

pub(super) fn json_response(status: StatusCode, body: &serde_json::Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
