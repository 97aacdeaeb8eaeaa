//! stdout and stderr of a guest, written to its log.

use super::super::log::{GuestLog, StdioLog};
use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Bytes that a guest may write to stdout or stderr at once. Bounds a host allocation that the guest sizes.
const MAX_WRITE: usize = 64 << 10;

pub(super) struct Stdio {
    pub(super) log: GuestLog,
    pub(super) error: bool,
}

impl IsTerminal for Stdio {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stdio {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Only WASI 0.3 uses this kind of stream, and it is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(StdioStream(StdioLog::new(self.log.clone(), self.error)))
    }
}

pub(super) struct StdioStream(StdioLog);

#[async_trait::async_trait]
impl Pollable for StdioStream {
    async fn ready(&mut self) {}
}

impl OutputStream for StdioStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.write(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE)
    }
}
