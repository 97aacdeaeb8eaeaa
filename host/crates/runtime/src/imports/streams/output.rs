//! The stream into the body of a request, whose results are steps.
//!
//! A replayed body is written again, because the request may have to be sent again; if not, the body is read and discarded. The
//! guest gets the results of the earlier run, however fast the body is read this time, so what it writes may have to wait here.

use super::failure::{DataRef, StreamFailure, told};
use crate::journal::CallJournal;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::p2::pipe::ClosedOutputStream;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that one call may write to bodies and still be replayed. Bounds what waits in a replay.
const MAX_REPLAYED: u64 = 4 << 20;

/// What one call has written to the bodies of its requests.
pub(crate) type BodyBytes = Arc<AtomicU64>;

/// The stream into the body of a request.
pub(crate) struct JournaledOutput {
    inner: DynOutputStream,
    journal: CallJournal,
    /// Bytes that were written in the replay and have not reached the body yet.
    waiting: VecDeque<Bytes>,
    written: BodyBytes,
}

impl JournaledOutput {
    pub(crate) fn new(inner: DynOutputStream, journal: CallJournal, written: BodyBytes) -> Self {
        Self { inner, journal, waiting: VecDeque::new(), written }
    }

    /// Passes on the waiting bytes, as far as the body has room now.
    fn pass_on(&mut self) {
        while !self.waiting.is_empty() {
            match self.inner.check_write() {
                Ok(0) => return,
                Ok(room) => {
                    let Some(mut next) = self.waiting.pop_front() else { return };
                    let piece = next.split_to(room.min(next.len()));
                    if !next.is_empty() {
                        self.waiting.push_front(next);
                    }
                    // The guest knows the result from the journal.
                    let _ = self.inner.write(piece);
                }
                // Nobody reads the body any more.
                Err(_) => self.waiting.clear(),
            }
        }
    }

    async fn catch_up(&mut self) {
        self.pass_on();
        while !self.waiting.is_empty() {
            self.inner.ready().await;
            self.pass_on();
        }
    }

    /// Counts what the guest writes. A call that writes too much can no longer be replayed.
    fn count(&self, bytes: usize) {
        let before = self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        if before + bytes as u64 > MAX_REPLAYED {
            self.journal.cannot_replay("it sends large HTTP requests");
        }
    }

    /// Writes again what an earlier run has written.
    fn write_again(&mut self, bytes: Bytes, outcome: &Result<(), StreamFailure>) {
        if matches!(outcome, Ok(()) | Err(StreamFailure::BodySize(_))) {
            self.waiting.push_back(bytes);
            self.pass_on();
        }
    }
}

#[async_trait::async_trait]
impl OutputStream for JournaledOutput {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.count(bytes.len());
        let mut step = self.journal.begin("streams.write", &DataRef(&bytes));
        if let Some(outcome) = step.recorded_now::<Result<(), StreamFailure>>() {
            self.write_again(bytes, &outcome);
            return Ok(outcome?);
        }
        Ok(step.try_see(|| told(self.inner.write(bytes)))??)
    }

    fn flush(&mut self) -> StreamResult<()> {
        let step = self.journal.begin("streams.flush", &());
        Ok(step.try_see(|| told(self.inner.flush()))??)
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        let step = self.journal.begin("streams.check-write", &());
        let told: Result<usize, StreamFailure> = step.try_see(|| {
            self.pass_on();
            told(if self.waiting.is_empty() { self.inner.check_write() } else { Ok(0) })
        })?;
        Ok(told?)
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.count(bytes.len());
        let mut step = self.journal.begin("streams.write-and-flush", &DataRef(&bytes));
        if let Some(outcome) = step.recorded::<Result<(), StreamFailure>>().await {
            self.write_again(bytes, &outcome);
            return Ok(outcome?);
        }
        let write = async {
            self.catch_up().await;
            told(self.inner.blocking_write_and_flush(bytes).await)
        };
        Ok(step.try_ask::<_, StreamError>(write).await??)
    }

    async fn cancel(&mut self) {
        self.catch_up().await;
        self.inner.cancel().await;
    }
}

#[async_trait::async_trait]
impl Pollable for JournaledOutput {
    async fn ready(&mut self) {
        self.catch_up().await;
        self.inner.ready().await;
    }
}

/// Wraps a stream that is in the table.
pub(crate) fn wrap_output(
    table: &mut ResourceTable,
    stream: &Resource<DynOutputStream>,
    wrap: impl FnOnce(DynOutputStream) -> JournaledOutput,
) -> wasmtime::Result<()> {
    let place = table.get_mut(stream)?;
    let inner = std::mem::replace(place, Box::new(ClosedOutputStream));
    *place = Box::new(wrap(inner));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use platform::clock::{Clock, SystemClock};
    use std::time::Duration;
    use wasmtime_wasi_http::p2::body::{HostOutgoingBody, StreamContext};

    const PIECES: [&str; 5] = ["to", " be", " sent", " once", " more"];

    /// Writes a body, which is read only as fast as it is `read`.
    async fn write(journal: CallJournal, read: bool) -> (Vec<String>, String) {
        let (mut host, body) = HostOutgoingBody::new(StreamContext::Request, Some(20), 1, 64 << 10);
        let stream = host.take_output_stream().unwrap();
        let mut stream = JournaledOutput::new(stream, journal, BodyBytes::default());
        let reader = async { body.collect().await.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned()) };
        let (mut told, mut early) = (Vec::new(), None);
        let mut reader = Box::pin(reader);
        for piece in PIECES {
            if read {
                stream.ready().await;
            }
            told.push(format!("{:?} {:?}", stream.check_write(), stream.write(piece.into())));
            if read {
                early = early.or(futures::FutureExt::now_or_never(&mut reader));
            }
        }
        assert!(early.is_none(), "it has not ended");
        let end = async {
            stream.cancel().await;
            drop(stream);
            host.finish(None).unwrap();
        };
        let ((), read) = tokio::join!(end, reader);
        (told, read.unwrap())
    }

    /// The guest gets the same results, however slowly the body is read this time, and the body is complete.
    #[tokio::test]
    async fn a_replayed_body_is_written_again() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let journal = CallJournal::in_memory(clock.clone());
        let (told, body) = write(journal.clone(), true).await;
        assert_eq!((told.len(), body.as_str()), (5, "to be sent once more"));
        let journal = CallJournal::resumed(clock, journal.export().unwrap(), Duration::ZERO).unwrap();
        assert_eq!(write(journal.clone(), false).await, (told, body));
        assert_eq!(journal.problem(), None);
    }
}
