//! An output stream into a file under a disk quota.

use super::super::call_scope::CallScope;
use super::super::streams::{DataRef, StreamFailure, told};
use super::disk_quota::QuotaUse;
use super::files::may_change;
use crate::journal::{CallJournal, Repeat};
use bytes::Bytes;
use policy::TreeBudget;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io;
use std::sync::{Arc, Weak};
use tokio::task::{JoinHandle, spawn_blocking};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that may be written at once. Bounds what waits to be written.
const MAX_WRITE: usize = 64 << 10;

/// Writes piece by piece. A started write finishes even if nobody waits for it, and the call's quota use lives until
/// then.
pub(super) struct QuotaStream {
    file: Arc<File>,
    quota: Weak<QuotaUse>,
    scope: Arc<CallScope>,
    /// Position of the next piece; `None`: at the end.
    at: Option<u64>,
    /// Whether the file is in the plugin's own directory.
    in_own: bool,
    journal: CallJournal,
    /// What the call lacks in a replay, if the file could not be opened again.
    lost: Option<&'static str>,
    state: WriteState,
}

/// What a journal keeps of a piece: by how much the file grew.
type Written = Result<u64, StreamFailure>;

enum WriteState {
    Ready,
    /// None if the call has to end: its guest learns nothing more.
    Writing(JoinHandle<Option<io::Result<u64>>>),
    Failed(wasmtime::Error),
    Closed,
}

impl QuotaStream {
    #[allow(clippy::too_many_arguments, reason = "each is one thing that a write needs")]
    pub(super) fn new(
        file: Arc<File>,
        quota: &Arc<QuotaUse>,
        scope: Arc<CallScope>,
        at: Option<u64>,
        in_own: bool,
        journal: CallJournal,
        lost: Option<&'static str>,
    ) -> Self {
        let (quota, state) = (Arc::downgrade(quota), WriteState::Ready);
        Self { file, quota, scope, at, in_own, journal, lost, state }
    }

    /// Reports how the last piece ended. This is a step, because whether the piece has ended by now depends on the time.
    fn told<T>(&mut self, import: &'static str, live: impl FnOnce(&mut Self) -> StreamResult<T>) -> StreamResult<T>
    where
        T: Serialize + DeserializeOwned,
    {
        if !self.journal.is_on() {
            return live(self);
        }
        let mut step = self.journal.begin(import, &());
        if let Some(outcome) = step.recorded_now::<Result<T, StreamFailure>>() {
            if outcome.is_err() {
                self.state = WriteState::Closed;
            }
            return Ok(outcome?);
        }
        Ok(step.try_see(|| told(live(self)))??)
    }

    /// Continues after a piece that an earlier run has written.
    fn written_before(&mut self, length: u64, written: Written) {
        match written {
            Ok(growth) => {
                if !self.in_own {
                    self.scope.lineage.take_up_to(TreeBudget::FileGrowth, growth);
                }
                self.at = self.at.map(|at| at.saturating_add(length));
            }
            Err(failure) => self.state = WriteState::Failed(failure.into_error()),
        }
    }

    /// Reports an error once.
    fn check(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.state, WriteState::Closed) {
            WriteState::Failed(error) => Err(StreamError::LastOperationFailed(error)),
            WriteState::Closed => Err(StreamError::Closed),
            fine => {
                self.state = fine;
                Ok(())
            }
        }
    }

    async fn written(&mut self) {
        if let WriteState::Writing(writing) = &mut self.state {
            let written = match writing.await {
                Ok(Some(written)) => written,
                Ok(None) => return std::future::pending().await,
                Err(error) => Err(io::Error::other(error)),
            };
            self.state = match written {
                Ok(bytes) => {
                    self.at = self.at.map(|at| at.saturating_add(bytes));
                    WriteState::Ready
                }
                Err(error) => WriteState::Failed(error.into()),
            };
        }
    }
}

#[async_trait::async_trait]
impl OutputStream for QuotaStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        match self.state {
            WriteState::Ready => {}
            WriteState::Closed => return Err(StreamError::Closed),
            WriteState::Writing(_) | WriteState::Failed(_) => {
                return Err(StreamError::trap("the stream was not ready"));
            }
        }
        // The call may have seen something private since it opened the stream.
        may_change(&self.scope).map_err(|denied| StreamError::LastOperationFailed(denied.into()))?;
        let quota = self.quota.upgrade().ok_or(StreamError::Closed)?;
        let (file, at, length) = (self.file.clone(), self.at, bytes.len() as u64);
        if !self.journal.is_on() {
            let write = move || Some(quota.write(&file, at, &bytes).map(|_| length));
            self.state = WriteState::Writing(spawn_blocking(write));
            return Ok(());
        }
        let mut step = self.journal.begin("streams.write", &(at, DataRef(&bytes)));
        if let Some(written) = step.recorded_now() {
            self.written_before(length, written);
            return Ok(());
        }
        if let Some(what) = self.lost {
            step.lost(what);
        }
        // Writing twice at the same position has the same effect as once; appending twice has not.
        let again = if at.is_some() { Repeat::Safe } else { Repeat::Unsafe };
        let asks = step.is_in_doubt(again) && step.has_inquiry();
        let started = (!asks).then(|| step.start_effect(again));
        self.state = WriteState::Writing(tokio::spawn(async move {
            match started {
                Some(started) => step.started(started).await?,
                None => step.begin_effect(again).await?,
            };
            let write = move || quota.write(&file, at, &bytes);
            let written = spawn_blocking(write).await.unwrap_or_else(|error| Err(io::Error::other(error)));
            let kept: Written = match &written {
                Ok(growth) => Ok(*growth),
                Err(error) => Err(error.into()),
            };
            step.end_effect(&kept).await;
            Some(written.map(|_| length))
        }));
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.told("streams.flush", Self::check)
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.told("streams.check-write", |stream| {
            stream.check()?;
            Ok(if matches!(stream.state, WriteState::Writing(_)) { 0 } else { MAX_WRITE })
        })
    }

    /// The result does not depend on the time, so writing the piece is the only step.
    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.written().await;
        self.check()?;
        self.write(bytes)?;
        self.written().await;
        self.check()
    }

    async fn cancel(&mut self) {
        self.written().await;
        self.state = WriteState::Closed;
    }
}

#[async_trait::async_trait]
impl Pollable for QuotaStream {
    async fn ready(&mut self) {
        self.written().await;
    }
}
