//! The WASI context of an instance: nothing but what was granted.

use super::super::log::GuestLog;
use super::clocks::CoarseClock;
use super::stdio::Stdio;
use policy::Authority;
use wasmtime_wasi::clocks::{MonotonicClock, WallClock};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

/// Bytes that one `get-random-bytes` may return. Bounds a host allocation that the guest sizes.
const MAX_RANDOM: u64 = 64 << 10;

/// Directories are not part of it: the call opens them.
pub fn new_context(authority: &Authority, log: &GuestLog) -> WasiCtx {
    let mut builder = WasiCtxBuilder::new();
    builder.max_random_size(MAX_RANDOM);
    builder.monotonic_clock(CoarseClock(MonotonicClock::new()));
    builder.wall_clock(CoarseClock(WallClock::new()));
    builder.stdout(Stdio { log: log.clone(), error: false });
    builder.stderr(Stdio { log: log.clone(), error: true });
    builder.envs(authority.environment());
    builder.build()
}
