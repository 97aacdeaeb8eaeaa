//! A stream into a file that may grow only so much.

use crate::imports::room::Share;
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::sync::{Arc, Weak};
use tokio::task::{JoinHandle, spawn_blocking};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// What may be written at once. Bounds what waits to be written.
const AT_ONCE: usize = 64 << 10;

/// Writes one piece after the other, each where the one before ended. A piece that has begun to be written ends also when
/// nobody waits for it any more, and its call's share lasts until then.
pub(super) struct Growing {
    file: Arc<File>,
    /// Gone with the call.
    share: Weak<Share>,
    /// Where the next piece goes; none: to the end.
    at: Option<u64>,
    state: State,
}

enum State {
    Ready,
    Writing(JoinHandle<io::Result<u64>>),
    Failed(io::Error),
    Closed,
}

impl Growing {
    pub(super) fn new(file: Arc<File>, share: &Arc<Share>, at: Option<u64>) -> Self {
        Self { file, share: Arc::downgrade(share), at, state: State::Ready }
    }

    /// What went wrong is told once.
    fn check(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Failed(error) => Err(StreamError::LastOperationFailed(error.into())),
            State::Closed => Err(StreamError::Closed),
            fine => {
                self.state = fine;
                Ok(())
            }
        }
    }

    async fn written(&mut self) {
        if let State::Writing(writing) = &mut self.state {
            let written = writing.await.unwrap_or_else(|error| Err(io::Error::other(error)));
            self.state = match written {
                Ok(bytes) => {
                    self.at = self.at.map(|at| at.saturating_add(bytes));
                    State::Ready
                }
                Err(error) => State::Failed(error),
            };
        }
    }
}

#[async_trait::async_trait]
impl OutputStream for Growing {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        match self.state {
            State::Ready => {}
            State::Closed => return Err(StreamError::Closed),
            State::Writing(_) | State::Failed(_) => return Err(StreamError::trap("the stream was not ready")),
        }
        let share = self.share.upgrade().ok_or(StreamError::Closed)?;
        let (file, at) = (self.file.clone(), self.at);
        let write = move || share.write(&file, at, &bytes).map(|()| bytes.len() as u64);
        self.state = State::Writing(spawn_blocking(write));
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.check()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.check()?;
        Ok(if matches!(self.state, State::Writing(_)) { 0 } else { AT_ONCE })
    }

    async fn cancel(&mut self) {
        self.written().await;
        self.state = State::Closed;
    }
}

#[async_trait::async_trait]
impl Pollable for Growing {
    async fn ready(&mut self) {
        self.written().await;
    }
}
