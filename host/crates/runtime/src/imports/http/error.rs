//! Why a request has no answer.

use policy::HttpUrlError;
use std::time::Duration;

/// Why there is no answer, or no more of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum HttpError {
    #[error("the request was denied")]
    Denied,
    #[error(transparent)]
    Request(HttpUrlError),
    #[error("the header `{0}` cannot be sent: {1}")]
    Header(String, &'static str),
    #[error("{0} requests were sent under this call already, which is the limit")]
    TooMany(u32),
    #[error("the request's body is larger than {0} bytes, which is the limit")]
    RequestTooLarge(u64),
    #[error("the answer is larger than {0} bytes, which is the limit")]
    AnswerTooLarge(u64),
    #[error("the answer's headers are too many or too large")]
    AnswerHeaders,
    #[error("the answer is compressed by `{0}`, and could not be searched for the secret that was sent")]
    Compressed(String),
    #[error("the host's name cannot be resolved")]
    Dns,
    #[error("no connection could be made")]
    Connect,
    #[error("`{0}` is not trusted: {1}")]
    Certificate(String, String),
    #[error("TLS with `{0}` failed: {1}")]
    Tls(String, String),
    #[error("TLS with `{0}` was not agreed upon within {t}", t = humantime::format_duration(*.1))]
    Handshake(String, Duration),
    #[error("there was no answer, or no end of it, within {t}", t = humantime::format_duration(*.0))]
    Timeout(Duration),
    #[error("the connection ended before the answer did")]
    Incomplete,
    #[error("the answer is no HTTP: {0}")]
    Protocol(String),
    #[error("the call is over")]
    Ended,
    #[error("{0}")]
    Failed(String),
}
