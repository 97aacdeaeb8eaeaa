//! An input stream whose reads are steps.

use super::failure::{Data, StreamFailure, told};
use crate::journal::{CallJournal, Step};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::p2::pipe::ClosedInputStream;
use wasmtime_wasi::p2::{DynInputStream, InputStream, Pollable, StreamResult};

/// Whether the guest has seen the end of a body from a connection. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct BodyEnd(Arc<AtomicBool>);

impl BodyEnd {
    pub(crate) fn was_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// An input stream whose reads are steps. In a replay, the inner stream is not touched.
pub(crate) struct JournaledInput {
    inner: DynInputStream,
    journal: CallJournal,
    /// Bytes that were replayed, which a reopened inner stream has yet to skip; none if it cannot be opened again.
    behind: Option<u64>,
    /// What the call lacks, if the file could not be opened again.
    lost: Option<&'static str>,
    end: BodyEnd,
}

type Piece = Result<Data, StreamFailure>;

impl JournaledInput {
    /// The stream of a file, which a replay opens again.
    pub(crate) fn of_file(inner: DynInputStream, journal: CallJournal, lost: Option<&'static str>) -> Self {
        Self { inner, journal, behind: Some(0), lost, end: BodyEnd::default() }
    }

    /// The stream of a connection, which ends with its process.
    pub(crate) fn of_connection(inner: DynInputStream, journal: CallJournal, end: BodyEnd) -> Self {
        Self { inner, journal, behind: None, lost: None, end }
    }

    fn begin(&self, size: usize) -> Step {
        let step = self.journal.begin("streams.read", &(size as u64));
        if let Some(what) = self.lost
            && !step.is_recorded()
        {
            step.lost(what);
        }
        step
    }

    fn give(&mut self, told: Piece, replayed: bool) -> StreamResult<Bytes> {
        if let (true, Some(behind), Ok(data)) = (replayed, &mut self.behind, &told) {
            *behind += data.0.len() as u64;
        }
        if matches!(told, Err(StreamFailure::Closed)) {
            self.end.0.store(true, Ordering::Relaxed);
        }
        Ok(told?.0.into())
    }

    /// Skips what an earlier run has read.
    async fn catch_up(&mut self) {
        while let Some(left @ 1..) = self.behind {
            let skipped = self.inner.blocking_skip(usize::try_from(left).unwrap_or(usize::MAX)).await;
            // A shorter file has ended, or fails again when it is read.
            self.behind = Some(skipped.map_or(0, |skipped| left.saturating_sub(skipped as u64)));
        }
    }
}

#[async_trait::async_trait]
impl InputStream for JournaledInput {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let step = self.begin(size);
        let replayed = step.is_recorded();
        let told: Piece = step.try_see(|| match self.behind {
            // Answers as if nothing were ready: the stream catches up when the guest waits for it.
            Some(1..) => Ok(Ok(Data::default())),
            _ => kept(self.inner.read(size)),
        })?;
        self.give(told, replayed)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        let step = self.begin(size);
        let replayed = step.is_recorded();
        let told: Piece = step
            .try_ask(async {
                self.catch_up().await;
                kept(self.inner.blocking_read(size).await)
            })
            .await?;
        self.give(told, replayed)
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}

#[async_trait::async_trait]
impl Pollable for JournaledInput {
    async fn ready(&mut self) {
        if self.lost.is_none() {
            self.catch_up().await;
            self.inner.ready().await;
        }
    }
}

fn kept(read: StreamResult<Bytes>) -> StreamResult<Piece> {
    Ok(told(read)?.map(|bytes| Data(bytes.into())))
}

/// Wraps a stream that is in the table.
pub(crate) fn wrap_input(
    table: &mut ResourceTable,
    stream: &Resource<DynInputStream>,
    wrap: impl FnOnce(DynInputStream) -> JournaledInput,
) -> wasmtime::Result<()> {
    let place = table.get_mut(stream)?;
    let inner = std::mem::replace(place, Box::new(ClosedInputStream));
    *place = Box::new(wrap(inner));
    Ok(())
}
