//! Request and response bodies: limited in size and time, checked for flows, masked.

use super::deadline::RequestDeadline;
use super::error::from_exchange;
use super::secret_mask::SecretMask;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use platform::outbound::{Body, Frame, ResponseBody, SizeHint};
use platform::sync::Mutex;
use runtime::imports::{Http, HttpBody, HttpError, HttpExchange};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;

/// Why a request body failed, for the code that waits for the response.
#[derive(Clone, Default)]
pub(super) struct BodyFailure(Arc<Mutex<Option<HttpError>>>);

impl BodyFailure {
    pub(super) fn take(&self) -> Option<HttpError> {
        self.0.lock().take()
    }

    fn record(&self, error: HttpError) -> HttpError {
        *self.0.lock() = Some(error.clone());
        error
    }
}

/// A request body within the granted size; it fails when the call learns something that must not flow to this host.
pub(super) struct RequestBody {
    inner: HttpBody,
    left: u64,
    limit: u64,
    call: Http,
    host: String,
    failure: BodyFailure,
}

impl RequestBody {
    /// Fails when the declared size is too large.
    pub(super) fn new(inner: HttpBody, limit: u64, call: Http, host: String) -> Result<(Self, BodyFailure), HttpError> {
        if inner.size_hint().lower() > limit {
            return Err(HttpError::RequestTooLarge(limit));
        }
        let failure = BodyFailure::default();
        Ok((Self { inner, left: limit, limit, call, host, failure: failure.clone() }, failure))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        loop {
            let frame = match Pin::new(&mut self.inner).poll_frame(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(self.failure.record(error)))),
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            // Trailers are dropped: they are unchecked headers.
            let Ok(data) = frame.into_data() else { continue };
            if let Err(error) = self.call.check_flow(&self.host) {
                return Poll::Ready(Some(Err(self.failure.record(error))));
            }
            match self.left.checked_sub(data.len() as u64) {
                Some(left) => self.left = left,
                None => return Poll::Ready(Some(Err(self.failure.record(HttpError::RequestTooLarge(self.limit))))),
            }
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A response body as the guest reads it. The body and its connection end with the call.
pub(super) struct GuardedResponse {
    /// `None` at its end.
    streamed: Option<ResponseBody>,
    left: u64,
    limit: u64,
    mask: Option<SecretMask>,
    deadline: Pin<Box<Sleep>>,
    time: Duration,
    between: Option<(Duration, Pin<Box<Sleep>>)>,
    record: Arc<HttpExchange>,
    call_ended: BoxFuture<'static, ()>,
    _permit: OwnedSemaphorePermit,
}

impl GuardedResponse {
    #[allow(clippy::too_many_arguments, reason = "each is one bound of the body, and they have nothing else in common")]
    pub(super) fn new(
        streamed: ResponseBody,
        limit: u64,
        mask: Option<SecretMask>,
        deadline: RequestDeadline,
        between: Option<Duration>,
        record: Arc<HttpExchange>,
        permit: OwnedSemaphorePermit,
        call: Http,
    ) -> Self {
        Self {
            streamed: Some(streamed),
            left: limit,
            limit,
            mask,
            deadline: Box::pin(tokio::time::sleep_until(deadline.at)),
            time: deadline.timeout,
            between: between.map(|time| (time, Box::pin(tokio::time::sleep(time)))),
            record,
            call_ended: async move { call.ended().await }.boxed(),
            _permit: permit,
        }
    }

    fn stop_reason(&mut self, context: &mut Context<'_>) -> Option<HttpError> {
        if self.call_ended.poll_unpin(context).is_ready() {
            return Some(HttpError::Ended);
        }
        if self.deadline.as_mut().poll(context).is_ready() {
            return Some(HttpError::Timeout(self.time));
        }
        let (time, sleep) = self.between.as_mut()?;
        sleep.as_mut().poll(context).is_ready().then_some(HttpError::Timeout(*time))
    }

    fn take_piece(&mut self, data: Bytes) -> Result<Bytes, HttpError> {
        self.left = self.left.checked_sub(data.len() as u64).ok_or(HttpError::AnswerTooLarge(self.limit))?;
        self.record.add_bytes(data.len());
        if let Some((time, sleep)) = &mut self.between {
            *sleep = Box::pin(tokio::time::sleep(*time));
        }
        Ok(match &mut self.mask {
            Some(mask) => mask.piece(&data),
            None => data,
        })
    }

    /// Ends the body and closes the connection.
    fn fail(&mut self, error: HttpError) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        self.streamed = None;
        self.mask = None;
        Poll::Ready(Some(Err(error)))
    }
}

impl Body for GuardedResponse {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = &mut *self;
        loop {
            let Some(streamed) = &mut this.streamed else { return Poll::Ready(None) };
            let data = match streamed.poll_piece(context) {
                Poll::Ready(Some(Ok(data))) => match this.take_piece(data) {
                    Ok(data) => data,
                    Err(error) => return this.fail(error),
                },
                Poll::Ready(Some(Err(error))) => {
                    // The connection may have been closed by a limit.
                    let why = this.stop_reason(context).unwrap_or_else(|| from_exchange(error));
                    return this.fail(why);
                }
                Poll::Ready(None) => {
                    this.streamed = None;
                    this.mask.take().map(|mut mask| mask.end()).unwrap_or_default()
                }
                Poll::Pending => {
                    return match this.stop_reason(context) {
                        Some(error) => this.fail(error),
                        None => Poll::Pending,
                    };
                }
            };
            // The mask may hold back a whole piece.
            if !data.is_empty() {
                // This is checked for each piece too. Otherwise a server that always has data ready would never be stopped.
                return match this.stop_reason(context) {
                    Some(error) if this.streamed.is_some() => this.fail(error),
                    _ => Poll::Ready(Some(Ok(Frame::data(data)))),
                };
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.streamed.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.streamed.as_ref().and_then(ResponseBody::promised).map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
