//! The engine configurations: one for each way of metering.

use super::epoch_ticker;
use data_encoding::HEXLOWER;
use policy::{Limits, Metering};
use sha2::{Digest as _, Sha256};
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, Strategy,
    WasmBacktraceDetails,
};

/// Instances that run at once in one engine, nested calls included. Bounds memory and processor load.
pub const MAX_INSTANCES: u32 = 256;
/// Further instances, of calls that wait for somebody outside. Bounds the memory that they hold meanwhile.
pub const MAX_WAITING_INSTANCES: u32 = 1_024;
/// Instances that belong to no call: they were made in advance, are asked what they offer, or are about to be dropped.
const SPARE_INSTANCES: u32 = 160;
/// All instances. Bounds address space: each reserves 16 GiB, of which it can use a fraction. Every place has room for the
/// largest component; otherwise a few instances of large components would take the places of many small ones.
const POOL_SIZE: u32 = MAX_INSTANCES + MAX_WAITING_INSTANCES + SPARE_INSTANCES;
/// Core instances, memories and tables of one component. Bounds what a small component can multiply into.
pub(super) const INSTANCES_PER_COMPONENT: u32 = 32;
pub(super) const MEMORIES_PER_COMPONENT: u32 = 4;
pub(super) const TABLES_PER_COMPONENT: u32 = 8;
/// WebAssembly stack of a call; recursion beyond it is a typed error.
const WASM_STACK: usize = 512 << 10;
/// Native stack of a call: the WebAssembly stack, and that of the host functions it calls.
const CALL_STACK: usize = 2 << 20;
/// Bytes of a memory slot that stay mapped after a call, so that the next call which uses them causes no page fault.
/// Interpreters write about this much in a small call. An idle host keeps at most this much per slot, for as many slots as
/// calls have run at the same time and 32 more.
const KEEP_RESIDENT: usize = 512 << 10;

/// What a component is compiled for. Code of one profile does not load in the engine of another.
pub type Profile = Metering;

/// The engines, each created when the first plugin is called.
#[derive(Default)]
pub struct Engines {
    fuel: EngineCell,
    ticks: EngineCell,
}

#[derive(Default)]
struct EngineCell {
    engine: OnceLock<Result<Engine, String>>,
    fingerprint: OnceLock<Result<String, String>>,
}

impl Engines {
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the engine when it is first needed. Reserving its pool takes some milliseconds.
    pub fn get(&self, profile: Profile) -> Result<&Engine, String> {
        self.cell(profile).engine.get_or_init(|| start(profile)).as_ref().map_err(Clone::clone)
    }

    /// Live instances, including those that are ready for a call.
    pub fn instances(&self) -> u64 {
        let started = [&self.fuel, &self.ticks].into_iter().filter_map(|cell| cell.engine.get()?.as_ref().ok());
        started.filter_map(Engine::pooling_allocator_metrics).map(|pool| pool.component_instances()).sum()
    }

    /// Identifies what compiled code depends on besides the component: wasmtime's version, target and settings. In
    /// hexadecimal. Needs no pool: code is the same with and without.
    pub fn fingerprint(&self, profile: Profile) -> Result<&str, String> {
        let make = || compile_only(profile).map(|engine| fingerprint(&engine)).map_err(|error| no_engine(&error));
        self.cell(profile).fingerprint.get_or_init(make).as_deref().map_err(Clone::clone)
    }

    fn cell(&self, profile: Profile) -> &EngineCell {
        match profile {
            Metering::Fuel => &self.fuel,
            Metering::Ticks => &self.ticks,
        }
    }
}

/// Lets the engines ask the kernel which pages a guest has written, so that a call gives back only those; false if the kernel
/// cannot tell (before Linux 6.7). Must be called before the process is confined: afterwards its own page map belongs to root.
pub fn open_page_map() -> bool {
    PoolingAllocationConfig::is_pagemap_scan_available()
}

fn no_engine(error: &wasmtime::Error) -> String {
    format!("no WebAssembly engine on this machine: {error:#}")
}

fn start(profile: Profile) -> Result<Engine, String> {
    let engine = Engine::new(&pooled(profile)).or_else(|pool_error| {
        // Machines with little address space (small containers, some ulimits) cannot reserve the pool.
        tracing::warn!(%pool_error, "cannot reserve the instance pool: allocating on demand, so calls take longer");
        Engine::new(&base(profile)).map_err(|error| no_engine(&error))
    })?;
    epoch_ticker::start(&engine).map_err(|error| format!("the epoch ticker did not start: {error}"))?;
    Ok(engine)
}

/// The engine of the compile worker: same code, no pool.
pub(super) fn compile_only(profile: Profile) -> wasmtime::Result<Engine> {
    Engine::new(&base(profile))
}

fn base(profile: Profile) -> Config {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(OptLevel::Speed)
        .consume_fuel(profile == Metering::Fuel)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(CALL_STACK)
        // A stack that another tenant's call used must not be readable.
        .async_stack_zeroing(true)
        // Without concurrency support a call is 4x cheaper; nothing here uses component-model async.
        .concurrency_support(false)
        .shared_memory(false)
        .gc_support(false)
        .wasm_gc(false)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_stack_switching(false)
        .wasm_backtrace_max_frames(NonZeroUsize::new(20))
        // Parsing a guest's debug information would be work whose amount the guest decides.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    config
}

fn pooled(profile: Profile) -> Config {
    // Keeping pages resident pays only where the kernel can tell which were written.
    let scan = open_page_map();
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(POOL_SIZE)
        .total_core_instances(INSTANCES_PER_COMPONENT * POOL_SIZE)
        .total_memories(MEMORIES_PER_COMPONENT * POOL_SIZE)
        .total_tables(TABLES_PER_COMPONENT * POOL_SIZE)
        .total_stacks(POOL_SIZE)
        .max_core_instances_per_component(INSTANCES_PER_COMPONENT)
        .max_memories_per_component(MEMORIES_PER_COMPONENT)
        .max_tables_per_component(TABLES_PER_COMPONENT)
        .max_memory_size(usize::try_from(Limits::MEMORY_CEILING.as_u64()).unwrap_or(usize::MAX))
        .table_elements(usize::try_from(Limits::TABLE_ELEMENTS_CEILING).unwrap_or(usize::MAX))
        .linear_memory_keep_resident(if scan { KEEP_RESIDENT } else { 0 })
        .table_keep_resident(if scan { 64 << 10 } else { 0 })
        // Bytes of a stack: more than most calls use. They are zeroed after each call, and kept for every stack that was ever
        // in use.
        .async_stack_keep_resident(32 << 10)
        .pagemap_scan(Enabled::Auto)
        .max_unused_warm_slots(32);
    let mut config = base(profile);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

fn fingerprint(engine: &Engine) -> String {
    /// Passes what `Hash` writes on to SHA-256: the standard hasher is neither stable nor wide enough for a cache key.
    struct Sha(Sha256);
    impl Hasher for Sha {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut sha = Sha(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut sha);
    HEXLOWER.encode(&sha.0.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_differ_by_profile_and_not_by_pool() {
        let engines = Engines::new();
        let fuel = engines.fingerprint(Metering::Fuel).unwrap();
        assert_ne!(fuel, engines.fingerprint(Metering::Ticks).unwrap());
        // The worker compiles without a pool; its code must still be for the server's engine.
        assert_eq!(fuel, fingerprint(engines.get(Metering::Fuel).unwrap()));
    }
}
