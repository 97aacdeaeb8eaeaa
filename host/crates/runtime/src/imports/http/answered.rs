//! What a journal keeps of a request: the decisions on it, and the answer, with its body if that is small.

use super::super::streams::{BodyEnd, Data, HttpFailure};
use super::access::Hops;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response};
use http_body_util::{BodyExt, StreamBody};
use platform::outbound::{Body as _, Frame};
use serde::{Deserialize, Serialize};
use std::task::Poll;
use std::time::Duration;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// A body with a declared length of at most so many bytes is read before the guest gets the answer, and becomes a part of the
/// record. Any other body is lost with its connection when the process ends.
const MAX_WHOLE: u64 = 64 << 10;

/// Marks an answer whose body is read from its connection.
#[derive(Clone)]
pub(super) struct Streamed(pub(super) BodyEnd);

/// What is compared when a request is replayed.
#[derive(Serialize)]
pub(super) struct RequestRecord {
    method: String,
    url: String,
    headers: Vec<(String, Data)>,
    timeouts: [Option<Duration>; 3],
}

/// The outcome of a request.
#[derive(Serialize, Deserialize)]
pub(super) struct Answered {
    pub(super) hops: Hops,
    pub(super) answer: Result<ResponseHead, HttpFailure>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ResponseHead {
    status: u16,
    headers: Vec<(String, Data)>,
    /// None if it is streamed.
    body: Option<Whole>,
}

#[derive(Serialize, Deserialize)]
struct Whole {
    bytes: Data,
    /// Why it ended early.
    failure: Option<HttpFailure>,
}

impl RequestRecord {
    pub(super) fn new(parts: &http::request::Parts, options: &RequestOptions) -> Self {
        Self {
            method: parts.method.to_string(),
            url: parts.uri.to_string(),
            headers: headers_to_keep(&parts.headers),
            timeouts: [options.connect_timeout, options.first_byte_timeout, options.between_bytes_timeout],
        }
    }
}

/// Whether a request may be sent twice: RFC 9110 calls its method safe or idempotent, or a header of its sender says that the
/// server recognizes repetitions.
pub(super) fn may_repeat(method: &Method, headers: &HeaderMap) -> bool {
    method.is_idempotent() || headers.contains_key("idempotency-key")
}

impl Answered {
    /// Takes the answer, with a small body whole. Returns the body that is to be streamed.
    pub(super) async fn take(hops: Hops, answer: Result<Response<WasiBody>, Error>) -> (Self, Option<WasiBody>) {
        let (parts, mut body) = match answer {
            Ok(answer) => answer.into_parts(),
            Err(error) => return (Self { hops, answer: Err((&error).into()) }, None),
        };
        let is_small = body.size_hint().exact().is_some_and(|length| length <= MAX_WHOLE);
        let (whole, streamed) = match is_small || body.is_end_stream() {
            true => (Some(Whole::read(&mut body).await), None),
            false => (None, Some(body)),
        };
        let head =
            ResponseHead { status: parts.status.as_u16(), headers: headers_to_keep(&parts.headers), body: whole };
        (Self { hops, answer: Ok(head) }, streamed)
    }

    /// The answer that a plugin reports for an earlier request; none if no such answer is possible.
    pub(super) fn said(status: u16, headers: Vec<(String, Vec<u8>)>, body: Vec<u8>) -> Option<ResponseHead> {
        let is_header = |(name, value): &(String, Vec<u8>)| {
            HeaderName::try_from(name.as_str()).is_ok() && HeaderValue::from_bytes(value).is_ok()
        };
        let is_answer =
            (200..=599).contains(&status) && headers.iter().all(is_header) && body.len() as u64 <= MAX_WHOLE;
        let headers = headers.into_iter().map(|(name, value)| (name, Data(value))).collect();
        is_answer.then_some(ResponseHead { status, headers, body: Some(Whole { bytes: Data(body), failure: None }) })
    }

    /// The answer as the guest gets it, the same in every run. A body that was to be streamed breaks off if `streamed` is none.
    pub(super) fn into_answer(self, streamed: Option<WasiBody>) -> Result<Response<WasiBody>, Error> {
        let head = self.answer?;
        let mut answer = Response::builder().status(head.status);
        for (name, Data(value)) in head.headers {
            answer = answer.header(
                HeaderName::try_from(name).map_err(|_| Error::HttpProtocolError)?,
                HeaderValue::try_from(value).map_err(|_| Error::HttpProtocolError)?,
            );
        }
        let body = match head.body {
            Some(whole) => whole.into_body(),
            None => {
                let end = BodyEnd::default();
                answer = answer.extension(Streamed(end.clone()));
                streamed.unwrap_or_else(|| lost(end))
            }
        };
        answer.body(body).map_err(|_| Error::HttpProtocolError)
    }
}

impl Whole {
    async fn read(body: &mut WasiBody) -> Self {
        let (mut bytes, mut failure) = (Vec::new(), None);
        while let Some(frame) = body.frame().await {
            match frame.map(Frame::into_data) {
                Ok(Ok(data)) => bytes.extend_from_slice(&data),
                // Our sender passes on no trailers.
                Ok(Err(_)) => {}
                Err(error) => failure = Some((&error).into()),
            }
            if failure.is_some() {
                break;
            }
        }
        Self { bytes: Data(bytes), failure }
    }

    fn into_body(self) -> WasiBody {
        broken(self.bytes.0.into(), self.failure.map(Error::from))
    }
}

/// A body that was lost with its process: it fails, unless the guest has already read it to its end.
fn lost(end: BodyEnd) -> WasiBody {
    let failure = move || (!end.was_told()).then_some(Err(Error::HttpResponseIncomplete));
    StreamBody::new(stream::poll_fn(move |_| Poll::Ready(failure())).take(1)).boxed_unsync()
}

/// A body of these bytes that then fails, if there is an error.
fn broken(bytes: Bytes, error: Option<Error>) -> WasiBody {
    let bytes = (!bytes.is_empty()).then(|| Ok(Frame::data(bytes)));
    StreamBody::new(stream::iter(bytes.into_iter().chain(error.map(Err)))).boxed_unsync()
}

fn headers_to_keep(headers: &HeaderMap) -> Vec<(String, Data)> {
    headers.iter().map(|(name, value)| (name.to_string(), Data(value.as_bytes().to_vec()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{decode, encode};
    use http_body_util::Full;

    #[test]
    fn only_what_is_safe_or_idempotent_is_sent_twice() {
        let none = HeaderMap::new();
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
            assert!(may_repeat(&method.parse().unwrap(), &none), "{method}");
        }
        for method in ["POST", "PATCH", "CONNECT", "PURGE"] {
            assert!(!may_repeat(&method.parse().unwrap(), &none), "{method}");
        }
        let keyed = HeaderMap::from_iter([(HeaderName::from_static("idempotency-key"), HeaderValue::from_static("1"))]);
        assert!(may_repeat(&Method::POST, &keyed));
    }

    async fn kept(body: WasiBody) -> (Option<bool>, Result<Vec<u8>, String>) {
        let mut answer = Response::builder().status(404).header("a", "1").header("a", "2").body(body).unwrap();
        answer.extensions_mut().insert(7u8);
        let (answered, streamed) = Answered::take(Hops::default(), Ok(answer)).await;
        let again: Answered = decode(&encode(&answered)).unwrap();
        let answer = again.into_answer(None).unwrap();
        assert_eq!((answer.status().as_u16(), answer.headers().get_all("a").iter().count()), (404, 2));
        let is_streamed = answer.extensions().get::<Streamed>().is_some();
        assert_eq!(is_streamed, streamed.is_some());
        let read = answer.into_body().collect().await.map(|body| body.to_bytes().to_vec());
        (Some(is_streamed), read.map_err(|error| error.to_string()))
    }

    #[tokio::test]
    async fn a_small_answer_is_kept_whole_and_a_large_one_breaks_off() {
        let body =
            |length: usize| Full::new(Bytes::from(vec![7; length])).map_err(|never| match never {}).boxed_unsync();
        assert_eq!(kept(body(3)).await, (Some(false), Ok(vec![7; 3])));
        assert_eq!(kept(body(0)).await, (Some(false), Ok(vec![])));
        let (streamed, read) = kept(body(65 << 10)).await;
        assert_eq!((streamed, read), (Some(true), Err(Error::HttpResponseIncomplete.to_string())));
        let unknown = broken(Bytes::from_static(b"x"), None);
        assert_eq!(kept(unknown).await.0, Some(true), "nobody knows how long it is");
    }
}
