//! The WASI context of an instance: nothing but what was granted.

use super::super::log::GuestLog;
use super::clocks::{CallClock, CoarseClock};
use super::standard_streams::StandardStreams;
use super::stdio::{Stdin, Stdio};
use policy::{Authority, PluginId};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use wasmtime_wasi::clocks::WallClock;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

/// Bytes that one `get-random-bytes` may return. Bounds a host allocation that the guest sizes.
const MAX_RANDOM: u64 = 64 << 10;

/// Makes the context. Directories are not part of it, because the call opens them.
pub fn new_context(authority: &Authority, log: &GuestLog, clock: &CallClock, streams: &StandardStreams) -> WasiCtx {
    let mut builder = WasiCtxBuilder::new();
    builder.max_random_size(MAX_RANDOM);
    builder.monotonic_clock(CoarseClock(clock.clone()));
    builder.wall_clock(CoarseClock(WallClock::new()));
    builder.stdin(Stdin(streams.clone()));
    builder.stdout(Stdio { streams: streams.clone(), log: log.clone(), error: false });
    builder.stderr(Stdio { streams: streams.clone(), log: log.clone(), error: true });
    builder.envs(authority.environment());
    builder.insecure_random_seed(hash_seed(authority.plugin()));
    builder.build()
}

/// The seed of a guest's hash maps. It is the same for all calls of a plugin in this process, so that the order of a map's
/// keys, and with it the fuel of a call, does not change. Nobody outside knows it, and other plugins have another one, so that
/// nobody can choose keys that collide.
fn hash_seed(plugin: &PluginId) -> u128 {
    static SECRET: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let half = |number: u8| u128::from(SECRET.hash_one((plugin, number)));
    half(0) << 64 | half(1)
}
