//! Bodies under way: counted, timed, masked.

use super::Until;
use super::mask::Mask;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use platform::outbound::{Body, Frame, SizeHint, Streamed};
use runtime::imports::{Http, HttpBody, HttpError, Receipt};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;

/// Why a request's body broke off, for whoever waits for the answer.
#[derive(Clone, Default)]
pub(super) struct Broken(Arc<Mutex<Option<HttpError>>>);

impl Broken {
    pub(super) fn take(&self) -> Option<HttpError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn by(&self, error: HttpError) -> HttpError {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        error
    }
}

/// A request's body, no larger than granted, and stopped when it could tell what the call has learnt meanwhile.
pub(super) struct Counted {
    inner: HttpBody,
    left: u64,
    limit: u64,
    call: Http,
    host: String,
    broken: Broken,
}

impl Counted {
    /// Fails when it says beforehand that it will be too large.
    pub(super) fn new(inner: HttpBody, limit: u64, call: Http, host: String) -> Result<(Self, Broken), HttpError> {
        if inner.size_hint().lower() > limit {
            return Err(HttpError::RequestTooLarge(limit));
        }
        let broken = Broken::default();
        Ok((Self { inner, left: limit, limit, call, host, broken: broken.clone() }, broken))
    }
}

impl Body for Counted {
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
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(self.broken.by(error)))),
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            // Trailers are headers that nobody has checked.
            let Ok(data) = frame.into_data() else { continue };
            if let Err(error) = self.call.may_tell(&self.host) {
                return Poll::Ready(Some(Err(self.broken.by(error))));
            }
            match self.left.checked_sub(data.len() as u64) {
                Some(left) => self.left = left,
                None => return Poll::Ready(Some(Err(self.broken.by(HttpError::RequestTooLarge(self.limit))))),
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

/// The body of an answer as the guest reads it. It ends with the call, and its connection with it.
pub(super) struct Answer {
    /// None: at its end.
    streamed: Option<Streamed>,
    left: u64,
    limit: u64,
    mask: Option<Mask>,
    deadline: Pin<Box<Sleep>>,
    time: Duration,
    between: Option<(Duration, Pin<Box<Sleep>>)>,
    receipt: Arc<Receipt>,
    over: BoxFuture<'static, ()>,
    _held: Vec<OwnedSemaphorePermit>,
}

impl Answer {
    #[allow(clippy::too_many_arguments, reason = "each is one bound of the body, and they have nothing else in common")]
    pub(super) fn new(
        streamed: Streamed,
        limit: u64,
        mask: Option<Mask>,
        until: Until,
        between: Option<Duration>,
        receipt: Arc<Receipt>,
        held: Vec<OwnedSemaphorePermit>,
        call: Http,
    ) -> Self {
        Self {
            streamed: Some(streamed),
            left: limit,
            limit,
            mask,
            deadline: Box::pin(tokio::time::sleep_until(until.at)),
            time: until.time,
            between: between.map(|time| (time, Box::pin(tokio::time::sleep(time)))),
            receipt,
            over: async move { call.over().await }.boxed(),
            _held: held,
        }
    }

    /// Why it must stop now, if it must.
    fn stopped(&mut self, context: &mut Context<'_>) -> Option<HttpError> {
        if self.over.poll_unpin(context).is_ready() {
            return Some(HttpError::Ended);
        }
        if self.deadline.as_mut().poll(context).is_ready() {
            return Some(HttpError::Timeout(self.time));
        }
        let (time, sleep) = self.between.as_mut()?;
        sleep.as_mut().poll(context).is_ready().then_some(HttpError::Timeout(*time))
    }

    fn piece(&mut self, data: Bytes) -> Result<Bytes, HttpError> {
        self.left = self.left.checked_sub(data.len() as u64).ok_or(HttpError::AnswerTooLarge(self.limit))?;
        self.receipt.read(data.len());
        if let Some((time, sleep)) = &mut self.between {
            *sleep = Box::pin(tokio::time::sleep(*time));
        }
        Ok(match &mut self.mask {
            Some(mask) => mask.piece(&data),
            None => data,
        })
    }

    /// Nothing more comes; the connection is closed.
    fn fail(&mut self, error: HttpError) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        self.streamed = None;
        self.mask = None;
        Poll::Ready(Some(Err(error)))
    }
}

impl Body for Answer {
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
                Poll::Ready(Some(Ok(data))) => match this.piece(data) {
                    Ok(data) => data,
                    Err(error) => return this.fail(error),
                },
                Poll::Ready(Some(Err(error))) => {
                    // The connection may have ended because it had to.
                    let why = this.stopped(context).unwrap_or_else(|| super::failure(error));
                    return this.fail(why);
                }
                Poll::Ready(None) => {
                    this.streamed = None;
                    this.mask.take().map(|mut mask| mask.end()).unwrap_or_default()
                }
                Poll::Pending => {
                    return match this.stopped(context) {
                        Some(error) => this.fail(error),
                        None => Poll::Pending,
                    };
                }
            };
            // All of a piece may be kept back.
            if !data.is_empty() {
                // A server that always has something to say would never be looked at otherwise.
                return match this.stopped(context) {
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
        self.streamed.as_ref().and_then(Streamed::promised).map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
