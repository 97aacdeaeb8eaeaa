//! An output stream into a file under a disk quota.

use super::super::call_scope::CallScope;
use super::disk_quota::QuotaUse;
use super::files::may_change;
use bytes::Bytes;
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
    state: WriteState,
}

enum WriteState {
    Ready,
    Writing(JoinHandle<io::Result<u64>>),
    Failed(io::Error),
    Closed,
}

impl QuotaStream {
    pub(super) fn new(file: Arc<File>, quota: &Arc<QuotaUse>, scope: Arc<CallScope>, at: Option<u64>) -> Self {
        Self { file, quota: Arc::downgrade(quota), scope, at, state: WriteState::Ready }
    }

    /// Reports an error once.
    fn check(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.state, WriteState::Closed) {
            WriteState::Failed(error) => Err(StreamError::LastOperationFailed(error.into())),
            WriteState::Closed => Err(StreamError::Closed),
            fine => {
                self.state = fine;
                Ok(())
            }
        }
    }

    async fn written(&mut self) {
        if let WriteState::Writing(writing) = &mut self.state {
            let written = writing.await.unwrap_or_else(|error| Err(io::Error::other(error)));
            self.state = match written {
                Ok(bytes) => {
                    self.at = self.at.map(|at| at.saturating_add(bytes));
                    WriteState::Ready
                }
                Err(error) => WriteState::Failed(error),
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
        let (file, at) = (self.file.clone(), self.at);
        let write = move || quota.write(&file, at, &bytes).map(|()| bytes.len() as u64);
        self.state = WriteState::Writing(spawn_blocking(write));
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.check()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.check()?;
        Ok(if matches!(self.state, WriteState::Writing(_)) { 0 } else { MAX_WRITE })
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
