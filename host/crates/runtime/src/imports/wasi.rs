//! WASI 0.2 as a guest gets it: nothing but what was granted. No arguments, stdin or network; clocks and randomness; the
//! granted directories and variables; stdout and stderr into the log.

mod files;
mod growing;
mod time;

pub use files::{Files, Watched};

use super::log::{GuestLog, Stream};
use bytes::Bytes;
use policy::{Access, Authority};
use std::path::PathBuf;
use time::Coarse;
use tokio::io::AsyncWrite;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::clocks::{MonotonicClock, WallClock};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

/// What one `get-random-bytes` may return. Bounds a host allocation that the guest sizes.
const MAX_RANDOM: u64 = 64 << 10;
/// What a guest may write to stdout or stderr at once. Bounds the same.
const MAX_WRITE: usize = 64 << 10;

/// A path the sandbox refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPath {
    /// As the guest gave it, relative to one of its directories.
    pub path: String,
    /// What it wanted.
    pub access: Access,
}

/// A granted directory that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("the granted directory {path} cannot be opened: {reason}; make it, or correct `host` in grants.filesystem")]
pub struct MountError {
    path: PathBuf,
    reason: String,
}

/// The context of one call.
pub fn context(authority: &Authority, log: &GuestLog) -> Result<WasiCtx, MountError> {
    let mut builder = WasiCtxBuilder::new();
    builder.max_random_size(MAX_RANDOM);
    builder.monotonic_clock(Coarse(MonotonicClock::new()));
    builder.wall_clock(Coarse(WallClock::new()));
    builder.stdout(Output { log: log.clone(), error: false });
    builder.stderr(Output { log: log.clone(), error: true });
    builder.envs(authority.environment());
    for mount in authority.mounts() {
        let perms = match mount.access {
            Access::Read => FsPerms::ReadOnly,
            Access::Write => FsPerms::ReadWrite,
        };
        builder
            .preopened_dir(&mount.host, &mount.guest, perms)
            .map_err(|error| MountError { path: mount.host.clone(), reason: format!("{error:#}") })?;
    }
    Ok(builder.build())
}

/// Puts WASI into a linker.
pub fn add_to_linker<T: Watched>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    files::add_to_linker(linker)
}

struct Output {
    log: GuestLog,
    error: bool,
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for this kind of stream, and it is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(LogStream(Stream::new(self.log.clone(), self.error)))
    }
}

struct LogStream(Stream);

#[async_trait::async_trait]
impl Pollable for LogStream {
    async fn ready(&mut self) {}
}

impl OutputStream for LogStream {
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
