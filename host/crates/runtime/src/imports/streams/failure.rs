//! The forms in which a journal keeps bytes and errors, so that a replayed guest gets the same bytes and the same typed errors.

use crate::journal::bytes;
use serde::{Deserialize, Serialize};
use std::io;
use wasmtime_wasi::p2::{StreamError, StreamResult};
use wasmtime_wasi_http::Error as HttpError;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode as HttpCode;

/// Bytes as a journal keeps them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Data(#[serde(with = "bytes")] pub(crate) Vec<u8>);

/// Borrowed bytes in the same form, for an argument of a step.
#[derive(Serialize)]
pub(crate) struct DataRef<'a>(#[serde(serialize_with = "bytes::serialize")] pub(crate) &'a [u8]);

/// Why a stream returned no more bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StreamFailure {
    Closed,
    /// An error number of the operating system.
    Os(i32),
    Http(HttpFailure),
    /// The length of a request's body differs from the declared one.
    BodySize(Option<u64>),
    Other(String),
}

/// The error of a request or of its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HttpFailure {
    Denied,
    Method,
    Uri,
    UriTooLong,
    TooMany,
    RequestSize(Option<u64>),
    AnswerSize(Option<u64>),
    AnswerHeaders(Option<u32>),
    Coding(Option<String>),
    NotFound,
    Refused,
    Certificate,
    Tls,
    ConnectTimeout,
    Timeout,
    Incomplete,
    Protocol,
    Ended,
    Other(Option<String>),
}

impl StreamFailure {
    /// The same error again.
    pub(crate) fn into_error(self) -> wasmtime::Error {
        match self {
            Self::Closed => wasmtime::Error::msg("closed"),
            Self::Os(number) => io::Error::from_raw_os_error(number).into(),
            Self::Http(failure) => HttpError::from(failure).into(),
            Self::BodySize(size) => HttpCode::HttpRequestBodySize(size).into(),
            Self::Other(message) => wasmtime::Error::msg(message),
        }
    }
}

impl From<&io::Error> for StreamFailure {
    fn from(error: &io::Error) -> Self {
        error.raw_os_error().map_or_else(|| Self::Other(error.to_string()), Self::Os)
    }
}

impl From<&wasmtime::Error> for StreamFailure {
    fn from(error: &wasmtime::Error) -> Self {
        if let Some(number) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return Self::Os(number);
        }
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return Self::Http(error.into());
        }
        match error.downcast_ref() {
            Some(HttpCode::HttpRequestBodySize(size)) => Self::BodySize(*size),
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<StreamFailure> for StreamError {
    fn from(failure: StreamFailure) -> Self {
        match failure {
            StreamFailure::Closed => Self::Closed,
            failed => Self::LastOperationFailed(failed.into_error()),
        }
    }
}

/// Converts a stream's result to what is recorded and what the guest gets. A trap ends the call and is not recorded.
pub(crate) fn told<T>(result: StreamResult<T>) -> StreamResult<Result<T, StreamFailure>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(StreamError::Closed) => Ok(Err(StreamFailure::Closed)),
        Err(StreamError::LastOperationFailed(error)) => Ok(Err((&error).into())),
        Err(trap @ StreamError::Trap(_)) => Err(trap),
    }
}

impl From<&HttpError> for HttpFailure {
    fn from(error: &HttpError) -> Self {
        match error {
            HttpError::HttpRequestDenied => Self::Denied,
            HttpError::HttpRequestMethodInvalid => Self::Method,
            HttpError::HttpRequestUriInvalid => Self::Uri,
            HttpError::HttpRequestUriTooLong => Self::UriTooLong,
            HttpError::ConnectionLimitReached => Self::TooMany,
            HttpError::HttpRequestBodySize(size) => Self::RequestSize(*size),
            HttpError::HttpResponseBodySize(size) => Self::AnswerSize(*size),
            HttpError::HttpResponseHeaderSectionSize(size) => Self::AnswerHeaders(*size),
            HttpError::HttpResponseContentCoding(coding) => Self::Coding(coding.clone()),
            HttpError::DestinationNotFound => Self::NotFound,
            HttpError::ConnectionRefused => Self::Refused,
            HttpError::TlsCertificateError => Self::Certificate,
            HttpError::TlsProtocolError => Self::Tls,
            HttpError::ConnectionTimeout => Self::ConnectTimeout,
            HttpError::HttpResponseTimeout => Self::Timeout,
            HttpError::HttpResponseIncomplete => Self::Incomplete,
            HttpError::HttpProtocolError => Self::Protocol,
            HttpError::ConnectionTerminated => Self::Ended,
            HttpError::InternalError(message) => Self::Other(message.clone()),
            // Our sender returns no other errors.
            other => Self::Other(Some(other.to_string())),
        }
    }
}

impl From<HttpFailure> for HttpError {
    fn from(failure: HttpFailure) -> Self {
        match failure {
            HttpFailure::Denied => Self::HttpRequestDenied,
            HttpFailure::Method => Self::HttpRequestMethodInvalid,
            HttpFailure::Uri => Self::HttpRequestUriInvalid,
            HttpFailure::UriTooLong => Self::HttpRequestUriTooLong,
            HttpFailure::TooMany => Self::ConnectionLimitReached,
            HttpFailure::RequestSize(size) => Self::HttpRequestBodySize(size),
            HttpFailure::AnswerSize(size) => Self::HttpResponseBodySize(size),
            HttpFailure::AnswerHeaders(size) => Self::HttpResponseHeaderSectionSize(size),
            HttpFailure::Coding(coding) => Self::HttpResponseContentCoding(coding),
            HttpFailure::NotFound => Self::DestinationNotFound,
            HttpFailure::Refused => Self::ConnectionRefused,
            HttpFailure::Certificate => Self::TlsCertificateError,
            HttpFailure::Tls => Self::TlsProtocolError,
            HttpFailure::ConnectTimeout => Self::ConnectionTimeout,
            HttpFailure::Timeout => Self::HttpResponseTimeout,
            HttpFailure::Incomplete => Self::HttpResponseIncomplete,
            HttpFailure::Protocol => Self::HttpProtocolError,
            HttpFailure::Ended => Self::ConnectionTerminated,
            HttpFailure::Other(message) => Self::InternalError(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{decode, encode};

    #[test]
    fn errors_come_back_as_they_were() {
        let failures = [
            StreamFailure::Os(28),
            StreamFailure::Http(HttpFailure::Incomplete),
            StreamFailure::Http(HttpFailure::AnswerSize(Some(7))),
            StreamFailure::Http(HttpFailure::Other(Some("why".into()))),
            StreamFailure::BodySize(Some(3)),
            StreamFailure::Other("what".into()),
        ];
        for failure in failures {
            let kept: StreamFailure = decode(&encode(&failure)).unwrap();
            let error = kept.into_error();
            assert_eq!(StreamFailure::from(&error), failure);
            let twice = failure.into_error();
            assert_eq!(format!("{error:?}"), format!("{twice:?}"));
        }
    }
}
