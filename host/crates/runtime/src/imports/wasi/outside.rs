//! What a guest learns from WASI about the outside: the time, random numbers, and what is ready. A journaled call learns the
//! same when it is replayed.
//!
//! Time also passes while no process runs the call, for its monotonic clock and for what it waits for.

use super::super::price;
use super::files::WasiHost;
use super::flush_reason::FlushReason;
use super::program_streams::send;
use crate::engine::charge;
use crate::journal::is_long;
use std::time::Duration;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::clocks::WasiClocksView;
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::io::error::{Error as IoError, HostError as _};
use wasmtime_wasi::p2::bindings::io::poll::{Host as _, HostPollable as _};
use wasmtime_wasi::p2::bindings::random::insecure::Host as _;
use wasmtime_wasi::p2::bindings::random::insecure_seed::Host as _;
use wasmtime_wasi::p2::bindings::random::random::Host as _;
use wasmtime_wasi::random::WasiRandomView;

type Caller<'a, T> = StoreContextMut<'a, T>;

/// Replaces these functions; shadowing must be allowed.
pub(super) fn add_to_linker<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    clocks(linker)?;
    random(linker)?;
    errors(linker)?;
    poll(linker)
}

/// Records the texts of errors, because they depend on how the host was built and started.
fn errors<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    let mut errors = linker.instance("wasi:io/error@0.2.12")?;
    errors.func_wrap("[method]error.to-debug-string", |mut store: Caller<'_, T>, (error,): (Resource<IoError>,)| {
        charge(&mut store, price::CALL)?;
        let data = store.data_mut();
        let step = data.begin_step("error.to-debug-string", &());
        step.try_see(|| data.ctx().table.to_debug_string(error)).map(|text| (text,))
    })
}

fn clocks<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    let mut wall = linker.instance("wasi:clocks/wall-clock@0.2.12")?;
    wall.func_wrap("now", |mut store: Caller<'_, T>, (): ()| {
        charge(&mut store, price::CALL)?;
        let data = store.data_mut();
        let step = data.begin_step("clocks.wall", &());
        let now = || wall_clock::Host::now(&mut data.clocks()).map(|now| (now.seconds, now.nanoseconds));
        step.try_see(now).map(|(seconds, nanoseconds)| (Datetime { seconds, nanoseconds },))
    })?;
    let mut monotonic = linker.instance("wasi:clocks/monotonic-clock@0.2.12")?;
    monotonic.func_wrap("now", |mut store: Caller<'_, T>, (): ()| {
        charge(&mut store, price::CALL)?;
        let data = store.data_mut();
        let step = data.begin_step("clocks.monotonic", &());
        let ago = step.recorded_ago();
        let now = step.try_see(|| monotonic_clock::Host::now(&mut data.clocks()))?;
        if let Some(ago) = ago {
            data.clock().goes_on(now, ago);
        }
        Ok((now,))
    })?;
    // `subscribe-instant` needs no record: the clock is the same in each run.
    monotonic.func_wrap("subscribe-duration", |mut store: Caller<'_, T>, (nanos,): (u64,)| {
        charge(&mut store, price::CALL)?;
        let data = store.data_mut();
        let mut wait = Duration::from_nanos(nanos);
        if is_long(wait) {
            wait = data.begin_step("clocks.subscribe-duration", &nanos).left_of(wait);
        }
        let left = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        monotonic_clock::Host::subscribe_duration(&mut data.clocks(), left).map(|wait| (wait,))
    })
}

fn random<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    let mut random = linker.instance("wasi:random/random@0.2.12")?;
    random.func_wrap("get-random-bytes", |mut store: Caller<'_, T>, (length,): (u64,)| {
        charge(&mut store, price::CALL.saturating_add(length.saturating_mul(price::BYTE)))?;
        let data = store.data_mut();
        data.begin_step("random.bytes", &()).try_see(|| data.random().get_random_bytes(length)).map(|bytes| (bytes,))
    })?;
    random.func_wrap("get-random-u64", |mut store: Caller<'_, T>, (): ()| {
        charge(&mut store, price::CALL)?;
        let data = store.data_mut();
        data.begin_step("random.u64", &()).try_see(|| data.random().get_random_u64()).map(|number| (number,))
    })?;
    let mut insecure = linker.instance("wasi:random/insecure@0.2.12")?;
    insecure.func_wrap("get-insecure-random-bytes", |mut store: Caller<'_, T>, (length,): (u64,)| {
        charge(&mut store, price::CALL.saturating_add(length.saturating_mul(price::BYTE)))?;
        let data = store.data_mut();
        let step = data.begin_step("random.insecure-bytes", &());
        step.try_see(|| data.random().get_insecure_random_bytes(length)).map(|bytes| (bytes,))
    })?;
    insecure.func_wrap("get-insecure-random-u64", |mut store: Caller<'_, T>, (): ()| {
        charge(&mut store, price::CALL)?;
        let data = store.data_mut();
        let step = data.begin_step("random.insecure-u64", &());
        step.try_see(|| data.random().get_insecure_random_u64()).map(|number| (number,))
    })?;
    let mut seed = linker.instance("wasi:random/insecure-seed@0.2.12")?;
    seed.func_wrap("insecure-seed", |mut store: Caller<'_, T>, (): ()| {
        charge(&mut store, price::CALL)?;
        let data = store.data_mut();
        data.begin_step("random.seed", &()).try_see(|| data.random().insecure_seed()).map(|seed| (seed,))
    })
}

fn poll<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    let mut poll = linker.instance("wasi:io/poll@0.2.12")?;
    poll.func_wrap_async("poll", |mut store: Caller<'_, T>, (list,): (Vec<Resource<DynPollable>>,)| {
        Box::new(async move {
            charge(&mut store, price::CALL)?;
            send(&mut store, FlushReason::Waits).await?;
            let data = store.data_mut();
            // If there is only one pollable, it is always the one that is ready.
            let step = match list.len() {
                1 => data.begin_step("poll.poll", &()).or_nothing(&vec![0u32]),
                _ => data.begin_step("poll.poll", &()),
            };
            Ok((step.try_ask(data.ctx().table.poll(list)).await?,))
        })
    })?;
    poll.func_wrap_async("[method]pollable.block", block)?;
    poll.func_wrap_async("[method]pollable.ready", |mut store: Caller<'_, T>, (one,): (Resource<DynPollable>,)| {
        Box::new(async move {
            charge(&mut store, price::CALL)?;
            let data = store.data_mut();
            let step = data.begin_step("poll.ready", &()).or_nothing(&false);
            Ok((step.try_ask(data.ctx().table.ready(one)).await?,))
        })
    })
}

pub(in crate::imports) fn block<'a, T: WasiHost>(
    mut store: Caller<'a, T>,
    (one,): (Resource<DynPollable>,),
) -> Box<dyn Future<Output = wasmtime::Result<()>> + Send + 'a> {
    Box::new(async move {
        charge(&mut store, price::CALL)?;
        send(&mut store, FlushReason::Waits).await?;
        let data = store.data_mut();
        let step = data.begin_step("poll.block", &()).or_nothing(&());
        step.try_ask(data.ctx().table.block(one)).await
    })
}
