//! Errors of a request to another server.

use super::super::import_span::ErrorName;
use policy::HttpUrlError;
use std::time::Duration;

/// Why there is no response, or why it ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("the request was denied")]
    Denied,
    #[error(transparent)]
    Request(HttpUrlError),
    #[error("the header `{0}` cannot be sent: {1}")]
    Header(String, &'static str),
    #[error("this call has already sent {0} requests, which is the limit")]
    TooMany(u32),
    #[error("the request's body is larger than {0} bytes, which is the limit")]
    RequestTooLarge(u64),
    #[error("the answer is larger than {0} bytes, which is the limit")]
    AnswerTooLarge(u64),
    #[error("the answer's headers are too many or too large")]
    AnswerHeaders,
    #[error("the answer is compressed with `{0}` and cannot be searched for the secret that was sent")]
    Compressed(String),
    #[error("the host's name cannot be resolved")]
    Dns,
    #[error("no connection could be made")]
    Connect,
    #[error("`{0}` is not trusted: {1}")]
    Certificate(String, String),
    #[error("TLS with `{0}` failed: {1}")]
    Tls(String, String),
    #[error("the TLS handshake with `{0}` did not finish within {t}", t = humantime::format_duration(*.1))]
    Handshake(String, Duration),
    #[error("there was no complete answer within {t}", t = humantime::format_duration(*.0))]
    Timeout(Duration),
    #[error("the connection ended before the answer did")]
    Incomplete,
    #[error("the answer is not HTTP: {0}")]
    Protocol(String),
    #[error("the call is over")]
    Ended,
    #[error("{0}")]
    Failed(String),
}

impl ErrorName for HttpError {
    fn error_name(&self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Request(_) | Self::Header(..) => "invalid",
            Self::TooMany(_) | Self::RequestTooLarge(_) => "exhausted",
            Self::AnswerTooLarge(_) | Self::AnswerHeaders => "answer-too-large",
            Self::Compressed(_) => "answer-compressed",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Certificate(..) | Self::Tls(..) | Self::Handshake(..) => "tls",
            Self::Timeout(_) => "timeout",
            Self::Incomplete => "incomplete",
            Self::Protocol(_) => "protocol",
            Self::Ended => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}
