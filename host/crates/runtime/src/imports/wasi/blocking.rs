//! File operations, off the threads of guests.

use std::io;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

pub(super) type FilesystemFuture<'a, R> =
    Box<dyn Future<Output = wasmtime::Result<(Result<R, ErrorCode>,)>> + Send + 'a>;

/// Runs file operations off the threads of guests. A started operation finishes even if nobody waits for it.
pub(super) async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> io::Result<R> + Send + 'static,
) -> Result<R, ErrorCode> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(ErrorCode::from)
}
