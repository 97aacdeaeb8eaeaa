//! stdin, stdout and stderr of a guest, as streams of WASI.

use super::super::log::{GuestLog, StdioLog};
use super::standard_streams::StandardStreams;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that a guest may write to stdout or stderr at once. Bounds a host allocation that the guest sizes.
const MAX_WRITE: usize = 64 << 10;

pub(super) struct Stdin(pub(super) StandardStreams);

impl IsTerminal for Stdin {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for Stdin {
    fn async_stream(&self) -> Box<dyn AsyncRead + Send + Sync> {
        // Only WASI 0.3 uses this kind of stream, and it is not linked.
        Box::new(tokio::io::empty())
    }

    fn p2_stream(&self) -> Box<dyn InputStream> {
        Box::new(StdinReader(self.0.clone()))
    }
}

struct StdinReader(StandardStreams);

#[async_trait::async_trait]
impl Pollable for StdinReader {
    async fn ready(&mut self) {}
}

impl InputStream for StdinReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.0.read(size).ok_or(StreamError::Closed)
    }
}

pub(super) struct Stdio {
    pub(super) streams: StandardStreams,
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
        // Not used, as for stdin.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        let log = StdioLog::new(self.log.clone(), self.error);
        Box::new(StdioStream { streams: self.streams.clone(), log, error: self.error })
    }
}

struct StdioStream {
    streams: StandardStreams,
    log: StdioLog,
    error: bool,
}

#[async_trait::async_trait]
impl Pollable for StdioStream {
    async fn ready(&mut self) {}
}

impl OutputStream for StdioStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        match self.error {
            // The errors of programs go to the log as well, because that is where an operator looks.
            true => {
                self.streams.write_stderr(&bytes);
                self.log.write(&bytes);
            }
            false if self.streams.write_stdout(&bytes) => {}
            false => self.log.write(&bytes),
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE)
    }
}
