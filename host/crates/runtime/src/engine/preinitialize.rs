//! Runs the start function of a WASI module when it is built, and keeps the resulting memory, so that its instances begin with
//! it.
//!
//! The start sees no arguments, no environment variables, no folders and no time. If it asks for more, its memory is not kept,
//! because each instance would then begin with the same answer.

use futures::FutureExt;
use std::future::Future;
use wasmtime::{Caller, Config, Engine, ExternType, Linker, Module, OptLevel, Store};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

const WASI: &str = "wasi_snapshot_preview1";
/// The name under which a reactor exports its start function.
const START: &str = "_initialize";
const MEMORY: &str = "memory";

/// Results of WASI's functions: `errno` of `wasi_snapshot_preview1`.
const SUCCESS: i32 = 0;
const NO_SUCH_DESCRIPTOR: i32 = 8;
/// The number of the monotonic clock for `clock_time_get`; clock 0 is the time of day.
const MONOTONIC: i32 = 1;
/// What the monotonic clock shows during the start: earlier than all that an instance will read, and not 0, because runtimes
/// take that for a clock that stands still.
const FIRST_NANOSECOND: u64 = 1;

/// What became of a module's start.
#[derive(Debug)]
pub enum Preinitialized {
    /// The module with the memory that its start has left. It has no start any more.
    Module(Vec<u8>),
    /// The start asked for something that may differ between instances; the text names it.
    Depends(String),
}

/// A module that cannot be started, or whose start fails.
#[derive(Debug, thiserror::Error)]
#[error("the module cannot be started: {0}")]
pub struct PreinitializeError(String);

/// What the start has asked for.
#[derive(Default)]
struct Asked {
    /// Whether it asked for random numbers. Once is allowed: a runtime does so for itself, and renews them in each instance.
    random: bool,
    refused: Option<String>,
}

/// Starts a module. Its code runs without limits of time and memory, because it is the code of the person who builds.
pub fn preinitialize(module: &[u8]) -> Result<Preinitialized, PreinitializeError> {
    let error = |error: wasmtime::Error| PreinitializeError(format!("{error:#}"));
    let mut wizer = Wizer::new();
    wizer.init_func(START);
    let (context, instrumented) = wizer.instrument(module).map_err(error)?;
    let mut config = Config::new();
    // The code runs only once, so optimizing it is not worth the time.
    config.cranelift_opt_level(OptLevel::None);
    let engine = Engine::new(&config).map_err(error)?;
    let compiled = Module::new(&engine, &instrumented).map_err(error)?;
    let linker = world(&engine, &compiled).map_err(error)?;
    let mut store = Store::new(&engine, Asked::default());
    let instance = linker.instantiate(&mut store, &compiled).map_err(error)?;
    let start = instance.get_typed_func::<(), ()>(&mut store, START).map_err(error)?;
    let started = start.call(&mut store, ());
    if let Some(refused) = store.data_mut().refused.take() {
        return Ok(Preinitialized::Depends(refused));
    }
    started.map_err(error)?;
    let mut left = Left { store, instance };
    let snapshot = wizer.snapshot(&context, &mut left).now_or_never();
    snapshot.expect("nothing of it waits").map(Preinitialized::Module).map_err(error)
}

/// The functions that a start may call. None of them returns anything that differs between instances.
fn world(engine: &Engine, module: &Module) -> wasmtime::Result<Linker<Asked>> {
    let mut linker = Linker::new(engine);
    linker.allow_shadowing(true);
    for import in module.imports() {
        let ExternType::Func(kind) = import.ty() else { continue };
        let what = match (import.module(), import.name()) {
            (WASI, "poll_oneoff") => "a pause".to_owned(),
            (WASI, "fd_write") => "something to write to".to_owned(),
            (WASI, name) if name.starts_with("path_") => "files".to_owned(),
            (module, name) => format!("`{name}` of {module}"),
        };
        let refused = move |mut caller: Caller<'_, Asked>, _: &[_], _: &mut [_]| refuse(&mut caller, &what).map(drop);
        linker.func_new(import.module(), import.name(), kind, refused)?;
    }
    for name in ["args_sizes_get", "environ_sizes_get"] {
        linker.func_wrap(WASI, name, |mut caller: Caller<'_, Asked>, count: u32, size: u32| {
            write(&mut caller, count, &[0; 4])?;
            write(&mut caller, size, &[0; 4])?;
            Ok(SUCCESS)
        })?;
    }
    linker.func_wrap(WASI, "clock_time_get", |mut caller: Caller<'_, Asked>, clock: i32, _: i64, to: u32| {
        if clock != MONOTONIC {
            return refuse(&mut caller, "what time it is");
        }
        write(&mut caller, to, &FIRST_NANOSECOND.to_le_bytes())?;
        Ok(SUCCESS)
    })?;
    linker.func_wrap(WASI, "random_get", |mut caller: Caller<'_, Asked>, to: u32, size: u32| {
        if std::mem::replace(&mut caller.data_mut().random, true) {
            return refuse(&mut caller, "random numbers");
        }
        // Runtimes distrust numbers that are all 0.
        bytes(&mut caller, to, size as usize)?.fill(1);
        Ok(SUCCESS)
    })?;
    linker.func_wrap(WASI, "fd_prestat_get", |_: i32, _: i32| NO_SUCH_DESCRIPTOR)?;
    linker.func_wrap(WASI, "fd_fdstat_get", |_: i32, _: i32| NO_SUCH_DESCRIPTOR)?;
    linker.func_wrap(WASI, "fd_fdstat_set_flags", |_: i32, _: i32| NO_SUCH_DESCRIPTOR)?;
    Ok(linker)
}

fn refuse(caller: &mut Caller<'_, Asked>, what: &str) -> wasmtime::Result<i32> {
    caller.data_mut().refused.get_or_insert_with(|| what.to_owned());
    Err(wasmtime::Error::msg(format!("the start asked for {what}")))
}

fn write(caller: &mut Caller<'_, Asked>, to: u32, value: &[u8]) -> wasmtime::Result<()> {
    bytes(caller, to, value.len())?.copy_from_slice(value);
    Ok(())
}

fn bytes<'a>(caller: &'a mut Caller<'_, Asked>, from: u32, size: usize) -> wasmtime::Result<&'a mut [u8]> {
    let memory = caller.get_export(MEMORY).and_then(wasmtime::Extern::into_memory);
    let memory = memory.ok_or_else(|| wasmtime::Error::msg("the module exports no memory"))?;
    let from = from as usize;
    memory
        .data_mut(caller)
        .get_mut(from..from + size)
        .ok_or_else(|| wasmtime::Error::msg("a pointer leads out of the memory"))
}

/// An instance after its start.
struct Left {
    store: Store<Asked>,
    instance: wasmtime::Instance,
}

impl InstanceState for Left {
    fn global_get(&mut self, name: &str, _: ValType) -> impl Future<Output = SnapshotVal> + Send {
        let global = self.instance.get_global(&mut self.store, name).expect("what wizer exports is there");
        let value = match global.get(&mut self.store) {
            wasmtime::Val::I32(value) => SnapshotVal::I32(value),
            wasmtime::Val::I64(value) => SnapshotVal::I64(value),
            wasmtime::Val::F32(bits) => SnapshotVal::F32(bits),
            wasmtime::Val::F64(bits) => SnapshotVal::F64(bits),
            wasmtime::Val::V128(value) => SnapshotVal::V128(value.as_u128()),
            _ => unreachable!("wizer refuses globals with references"),
        };
        std::future::ready(value)
    }

    fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) -> impl Future<Output = ()> + Send {
        let memory = self.instance.get_memory(&mut self.store, name).expect("what wizer exports is there");
        contents(memory.data(&self.store));
        std::future::ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module whose start runs this code.
    fn module(start: &str) -> Vec<u8> {
        let text = format!(
            r#"(module
            (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
            (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_prestat_get" (func $folder (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "path_open" (func $open (param i32) (result i32)))
            (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
            (import "portcullis:plugin/log@0.1.0" "log" (func $log (param i32 i32)))
            (memory (export "memory") 1)
            (global $count (export "count") (mut i64) (i64.const 1))
            (func (export "_initialize") {start})
            (func (export "run") (result i32) (i32.load (i32.const 8))))"#
        );
        wat::parse_str(text).unwrap()
    }

    fn depends(start: &str) -> String {
        match preinitialize(&module(start)).unwrap() {
            Preinitialized::Depends(on) => on,
            Preinitialized::Module(_) => panic!("{start} depends on nothing"),
        }
    }

    #[test]
    fn an_instance_begins_where_the_start_has_ended() {
        let start = r#"
            (drop (call $args (i32.const 0) (i32.const 4)))
            (drop (call $clock (i32.const 1) (i64.const 0) (i32.const 16)))
            (drop (call $random (i32.const 24) (i32.const 4)))
            (i32.store (i32.const 8) (i32.add (call $folder (i32.const 3) (i32.const 0)) (i32.const 34)))
            (drop (memory.grow (i32.const 1)))
            (global.set $count (i64.const 7))"#;
        let Preinitialized::Module(started) = preinitialize(&module(start)).unwrap() else { panic!("it depends") };
        let engine = Engine::default();
        let compiled = Module::new(&engine, &started).unwrap();
        assert!(compiled.get_export(START).is_none());
        let mut store = Store::new(&engine, Asked::default());
        let instance = world(&engine, &compiled).unwrap().instantiate(&mut store, &compiled).unwrap();
        let run = instance.get_typed_func::<(), i32>(&mut store, "run").unwrap();
        assert_eq!(run.call(&mut store, ()).unwrap(), 42);
        assert_eq!(instance.get_global(&mut store, "count").unwrap().get(&mut store).i64(), Some(7));
        let memory = instance.get_memory(&mut store, MEMORY).unwrap();
        assert_eq!(memory.size(&store), 2);
        assert_eq!(memory.data(&store)[16..28], [1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn a_start_that_asks_for_more_is_not_kept() {
        let clock = "(drop (call $clock (i32.const 0) (i64.const 0) (i32.const 0)))";
        assert_eq!(depends(clock), "what time it is");
        let random = "(drop (call $random (i32.const 0) (i32.const 4)))";
        assert_eq!(depends(&random.repeat(2)), "random numbers");
        let write = "(drop (call $write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))";
        assert_eq!(depends(&format!("{write} {clock}")), "something to write to");
        assert_eq!(depends("(drop (call $open (i32.const 0)))"), "files");
        assert_eq!(depends("(drop (call $yield))"), "`sched_yield` of wasi_snapshot_preview1");
        let log = "(call $log (i32.const 0) (i32.const 0))";
        assert_eq!(depends(log), "`log` of portcullis:plugin/log@0.1.0");
    }

    #[test]
    fn what_cannot_be_started_is_an_error() {
        let said = |module: &[u8]| preinitialize(module).unwrap_err().to_string();
        assert!(said(&module("unreachable")).contains("unreachable"));
        let outside = "(drop (call $random (i32.const 65535) (i32.const 2)))";
        assert!(said(&module(outside)).contains("a pointer leads out of the memory"));
        assert!(said(&wat::parse_str("(module (memory (export \"memory\") 1))").unwrap()).contains(START));
        assert!(said(b"\0asm").starts_with("the module cannot be started: "));
    }
}
