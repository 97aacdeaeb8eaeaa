//! The WASI context of an instance: nothing but what was granted.

use super::super::log::GuestLog;
use super::clocks::CoarseClock;
use super::stdio::Stdio;
use policy::{Access, Authority};
use std::path::PathBuf;
use wasmtime_wasi::clocks::{MonotonicClock, WallClock};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

/// Bytes that one `get-random-bytes` may return. Bounds a host allocation that the guest sizes.
const MAX_RANDOM: u64 = 64 << 10;
/// A granted directory that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("the granted directory {path} cannot be opened: {reason}; make it, or correct `host` in grants.filesystem")]
pub struct MountError {
    path: PathBuf,
    reason: String,
}

pub fn new_context(authority: &Authority, log: &GuestLog) -> Result<WasiCtx, MountError> {
    let mut builder = WasiCtxBuilder::new();
    builder.max_random_size(MAX_RANDOM);
    builder.monotonic_clock(CoarseClock(MonotonicClock::new()));
    builder.wall_clock(CoarseClock(WallClock::new()));
    builder.stdout(Stdio { log: log.clone(), error: false });
    builder.stderr(Stdio { log: log.clone(), error: true });
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
