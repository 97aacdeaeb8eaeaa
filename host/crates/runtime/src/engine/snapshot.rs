//! Runs functions of a component while a plugin is built, and keeps the memory that they leave: an interpreter that has loaded
//! the author's modules. The code is compiled once for all builds.

use super::artifact;
use super::cache::CompileCache;
use super::incremental::build;
use super::profile::{Engines, Profile, compile_only};
use super::supervision::bytes;
use super::worker::CompileWorker;
use bytesize::ByteSize;
use data_encoding::HEXLOWER;
use platform::folder::Folder;
use policy::{Limits, Metering};
use sha2::{Digest as _, Sha256};
use std::io;
use std::path::PathBuf;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{
    Component, ComponentNamedList, Instance, Lift, Linker, Resource, ResourceTable, ResourceType, WasmList,
};
use wasmtime::{Engine, Store, StoreContextMut, StoreLimits, StoreLimitsBuilder};
use wasmtime_wasi::filesystem::{Descriptor, Dir};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{FsPerms, OpenMode, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wizer::{ComponentContext, ComponentInstanceState, Wizer};

/// Without fuel metering: only calls pay with fuel, and building a plugin is no call.
const PROFILE: Profile = Metering::Ticks;
/// An epoch deadline that is never reached, since nobody advances the epoch of this engine.
const FOR_EVER: u64 = 1 << 60;
/// The WASI interfaces that the component can use. Functions of all other interfaces trap.
const THERE: [&str; 6] = ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];
/// Bytes of its memory. As much as a plugin's call can get at most, since each call begins with this memory.
const MAX_MEMORY: ByteSize = Limits::MEMORY_CEILING;
/// Bytes that are kept of what the component writes to its output and its errors.
const MAX_OUTPUT: usize = 1 << 20;

/// Where code is compiled and kept.
pub struct SnapshotCompiler {
    pub cache: CompileCache,
    pub worker: CompileWorker,
}

/// A folder that the component sees while it runs.
pub struct MountedFolder {
    pub host: PathBuf,
    pub guest: String,
    pub is_writable: bool,
}

/// A component that cannot be run, or whose function failed.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The error that the function returned, or why it stopped, after what it has written to its output.
    #[error("{0}")]
    Failed(String),
    #[error("the interpreter cannot be run: {0}")]
    NotRun(String),
}

/// An instance whose memory can be kept.
pub struct RunningComponent<'a> {
    wizer: Wizer,
    context: ComponentContext<'a>,
    state: State,
    output: MemoryOutputPipe,
}

impl SnapshotCompiler {
    /// Starts a component. Its code runs without a time limit, because it is the code of the person who builds. It can reach
    /// these folders and nothing else.
    pub async fn start<'a>(
        &self,
        component: &'a [u8],
        folders: &[MountedFolder],
    ) -> Result<RunningComponent<'a>, SnapshotError> {
        let wizer = Wizer::new();
        let (context, instrumented) = wizer.instrument_component(component).map_err(not_run)?;
        let (engine, compiled) = self.compiled(&instrumented).await?;
        let output = MemoryOutputPipe::new(MAX_OUTPUT);
        let state = State::start(&engine, &compiled, folders, &output).await.map_err(not_run)?;
        Ok(RunningComponent { wizer, context, state, output })
    }

    /// Compiles a component, or takes its code from the cache. The engine has no instance pool, since the pool's limits are
    /// those of calls.
    async fn compiled(&self, component: &[u8]) -> Result<(Engine, Component), SnapshotError> {
        let engine = compile_only(PROFILE).map_err(not_run)?;
        let engines = Engines::new();
        let fingerprint = engines.fingerprint(PROFILE).map_err(SnapshotError::NotRun)?;
        let digest = format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(component)));
        let cached = self.cache.code(&digest, fingerprint).and_then(|code| artifact::load(&engine, &code).ok());
        if let Some(compiled) = cached {
            return Ok((engine, compiled));
        }
        let compile = |bytes| self.worker.compile(bytes, PROFILE);
        let built = build(compile, &self.cache, component, fingerprint).await.map_err(SnapshotError::NotRun)?;
        // If this fails, the next build only takes longer.
        if let Err(error) = built.save(&self.cache, &digest, fingerprint) {
            tracing::warn!(%error, "cannot write compiled code to the cache");
        }
        let compiled = artifact::load(&engine, &built.code).map_err(not_run)?;
        Ok((engine, compiled))
    }
}

impl RunningComponent<'_> {
    /// Runs an exported function without parameters that returns `result<_, string>`.
    pub async fn run(&mut self, function: &str) -> Result<(), SnapshotError> {
        let ended = self.state.call::<(Result<(), String>,)>(function).await;
        let written = String::from_utf8_lossy(&self.output.contents()).into_owned();
        match ended {
            Ok((Ok(()),)) => Ok(()),
            Ok((Err(said),)) => Err(SnapshotError::Failed(written + &said)),
            // Without the backtrace, which lists the interpreter's own functions.
            Err(error) => Err(SnapshotError::Failed(format!("{written}the code stopped: {}", error.root_cause()))),
        }
    }

    /// Runs an exported function without parameters and results.
    pub async fn call(&mut self, function: &str) -> Result<(), SnapshotError> {
        self.state.call::<()>(function).await.map_err(not_run)
    }

    /// The component with the memory that it has now.
    pub async fn snapshot(mut self) -> Result<Vec<u8>, SnapshotError> {
        // Wizer adds a page to the memory and reads all of it at once, so the limits must not apply any more.
        self.state.store.data_mut().limits = StoreLimits::default();
        self.state.store.set_hostcall_fuel(usize::MAX);
        self.wizer.snapshot_component(&self.context, &mut self.state).await.map_err(not_run)
    }
}

fn not_run(error: wasmtime::Error) -> SnapshotError {
    SnapshotError::NotRun(format!("{error:#}"))
}

type Directories = (Vec<(Resource<Descriptor>, String)>,);

/// The data of the Store: what the WASI functions work with.
struct World {
    wasi: WasiCtx,
    table: ResourceTable,
    folders: Vec<(Dir, String)>,
    limits: StoreLimits,
}

impl MountedFolder {
    fn open(&self) -> io::Result<(Dir, String)> {
        let (perms, mode) = match self.is_writable {
            true => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
            false => (FsPerms::ReadOnly, OpenMode::READ),
        };
        Ok((Dir::new(Folder::open(&self.host)?.into_file(), perms, mode, true), self.guest.clone()))
    }
}

fn directories(mut store: StoreContextMut<'_, World>, (): ()) -> wasmtime::Result<Directories> {
    let World { table, folders, .. } = store.data_mut();
    let opened =
        folders.iter().map(|(folder, guest)| Ok((table.push(Descriptor::Dir(folder.clone()))?, guest.clone())));
    Ok((opened.collect::<wasmtime::Result<_>>()?,))
}

impl WasiView for World {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

struct State {
    store: Store<World>,
    instance: Instance,
}

impl State {
    async fn start(
        engine: &Engine,
        component: &Component,
        folders: &[MountedFolder],
        output: &MemoryOutputPipe,
    ) -> wasmtime::Result<Self> {
        let mut wasi = WasiCtxBuilder::new();
        wasi.stdout(output.clone()).stderr(output.clone()).allow_blocking_current_thread(true);
        let folders = folders.iter().map(MountedFolder::open).collect::<io::Result<_>>()?;
        let mut linker = Linker::new(engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        linker.allow_shadowing(true);
        linker.instance("wasi:filesystem/preopens@0.2.12")?.func_wrap("get-directories", directories)?;
        linker.allow_shadowing(false);
        refuse_the_rest(&mut linker, component)?;
        let limits = StoreLimitsBuilder::new().memory_size(bytes(MAX_MEMORY)).build();
        let world = World { wasi: wasi.build(), table: ResourceTable::new(), folders, limits };
        let mut store = Store::new(engine, world);
        store.limiter(|world| &mut world.limits);
        store.set_epoch_deadline(FOR_EVER);
        let instance = linker.instantiate_async(&mut store, component).await?;
        Ok(Self { store, instance })
    }

    async fn call<R>(&mut self, function: &str) -> wasmtime::Result<R>
    where
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let function = self.instance.get_typed_func::<(), R>(&mut self.store, function)?;
        function.call_async(&mut self.store, ()).await
    }

    /// Calls one of the functions by which wizer reads the state.
    async fn read<R: Lift + Send + Sync + 'static>(&mut self, instance: &str, function: &str) -> R {
        let read = async {
            let of = self.instance.get_export_index(&mut self.store, None, instance)?;
            let function = self.instance.get_export_index(&mut self.store, Some(&of), function)?;
            let function = self.instance.get_typed_func::<(), (R,)>(&mut self.store, function).ok()?;
            function.call_async(&mut self.store, ()).await.ok()
        };
        read.await.expect("what wizer exports is there").0
    }
}

/// Makes functions of all other interfaces trap: the host's own functions work only during a call.
fn refuse_the_rest(linker: &mut Linker<World>, component: &Component) -> wasmtime::Result<()> {
    let engine = linker.engine().clone();
    let mut resources = Vec::new();
    for (interface, import) in component.component_type().imports(&engine) {
        let ComponentItem::ComponentInstance(instance) = import.ty else { continue };
        let mut defined =
            if THERE.iter().any(|one| interface.starts_with(one)) { None } else { Some(linker.instance(interface)?) };
        for (name, export) in instance.exports(&engine) {
            match (export.ty, &mut defined) {
                // Interfaces use each other's resources, so each resource is defined only in the interface that it comes from.
                (ComponentItem::Resource(resource), defined) if !resources.contains(&resource) => {
                    resources.push(resource);
                    if let Some(defined) = defined {
                        defined.resource(name, ResourceType::host::<()>(), |_, _| Ok(()))?;
                    }
                }
                (ComponentItem::ComponentFunc(_), Some(defined)) => {
                    let said =
                        format!("{interface}#{name} was called outside of a call; the host is there in calls only");
                    defined.func_new(name, move |_, _, _, _| Err(wasmtime::Error::msg(said.clone())))?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

impl ComponentInstanceState for State {
    async fn call_func_ret_list_u8(&mut self, instance: &str, func: &str, contents: impl FnOnce(&[u8]) + Send) {
        let list: WasmList<u8> = self.read(instance, func).await;
        contents(list.as_le_slice(&self.store));
    }

    async fn call_func_ret_s32(&mut self, instance: &str, func: &str) -> i32 {
        self.read(instance, func).await
    }

    async fn call_func_ret_s64(&mut self, instance: &str, func: &str) -> i64 {
        self.read(instance, func).await
    }

    async fn call_func_ret_f32(&mut self, instance: &str, func: &str) -> u32 {
        self.read::<f32>(instance, func).await.to_bits()
    }

    async fn call_func_ret_f64(&mut self, instance: &str, func: &str) -> u64 {
        self.read::<f64>(instance, func).await.to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::super::cache::TrustedCode;
    use super::*;

    /// A component whose `run` executes this code last; `look` returns the sum of what it has left in its global and its
    /// memory.
    fn component(code: &str) -> Vec<u8> {
        let text = format!(
            r#"(component
            (import "test:host/calls" (instance $host (export "call" (func))))
            (core func $call (canon lower (func $host "call")))
            (core instance $imports (export "call" (func $call)))
            (core module $module
                (import "host" "call" (func $call))
                (memory (export "memory") 1)
                (global $count (mut i32) (i32.const 0))
                (data (i32.const 32) "it is broken")
                (func $fail
                    (i32.store (i32.const 0) (i32.const 1))
                    (i32.store (i32.const 4) (i32.const 32))
                    (i32.store (i32.const 8) (i32.const 12)))
                (func (export "run") (result i32)
                    (global.set $count (i32.const 7))
                    (i32.store (i32.const 64) (i32.const 30))
                    {code}
                    i32.const 0)
                (func (export "let-go") (i32.store (i32.const 68) (i32.const 5)))
                (func (export "look") (result i32)
                    (i32.add (global.get $count) (i32.add (i32.load (i32.const 64)) (i32.load (i32.const 68))))))
            (core instance $instance (instantiate $module (with "host" (instance $imports))))
            (func (export "run") (result (result (error string)))
                (canon lift (core func $instance "run") (memory $instance "memory")))
            (func (export "let-go") (canon lift (core func $instance "let-go")))
            (func (export "look") (result u32) (canon lift (core func $instance "look"))))"#
        );
        wat::parse_str(text).unwrap()
    }

    /// Runs a component, and takes its snapshot. Its code is put into the cache first, since unit tests have no compile worker.
    async fn run(component: &[u8]) -> Result<Vec<u8>, SnapshotError> {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(&folder.path().join("cache")).unwrap();
        let (_, instrumented) = Wizer::new().instrument_component(component).unwrap();
        let code = compile_only(PROFILE).unwrap().precompile_component(&instrumented).unwrap();
        let digest = format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&instrumented)));
        let engines = Engines::new();
        cache.put_code(&digest, engines.fingerprint(PROFILE).unwrap(), &TrustedCode::from_worker(code)).unwrap();
        let compiler = SnapshotCompiler { cache, worker: CompileWorker::new("/nowhere".into()) };
        let mut running = compiler.start(component, &[]).await?;
        running.run("run").await?;
        running.call("let-go").await?;
        running.snapshot().await
    }

    #[tokio::test]
    async fn an_instance_begins_where_the_snapshot_was_taken() {
        let snapshot = run(&component("")).await.unwrap();
        let engine = compile_only(PROFILE).unwrap();
        let component = Component::new(&engine, &snapshot).unwrap();
        let mut state = State::start(&engine, &component, &[], &MemoryOutputPipe::new(0)).await.unwrap();
        assert_eq!(
            state.call::<(u32,)>("look").await.unwrap(),
            (42,),
            "a global, and memory that both functions wrote"
        );
    }

    #[tokio::test]
    async fn what_fails_says_why() {
        let failed = async |code: &str| run(&component(code)).await.unwrap_err().to_string();
        assert_eq!(failed("call $fail").await, "it is broken");
        let refused =
            "the code stopped: test:host/calls#call was called outside of a call; the host is there in calls only";
        assert_eq!(failed("call $call").await, refused);
        assert_eq!(failed("unreachable").await, "the code stopped: wasm trap: wasm `unreachable` instruction executed");
    }

    #[tokio::test]
    async fn memory_is_bounded_and_a_large_one_is_kept() {
        let grown = |pages: u32, then: &str| {
            format!(
                "(i32.eq (memory.grow (i32.const {pages})) (i32.const -1)) if {then} end (i32.store (i32.const 64) (i32.const 30))"
            )
        };
        // More memory than wasmtime lifts unless it is told to.
        let snapshot = run(&component(&grown(3_000, "call $fail"))).await.unwrap();
        assert!(snapshot.len() < 10_000);
        let all = u32::try_from(MAX_MEMORY.as_u64() >> 16).unwrap() - 1;
        run(&component(&grown(all, "call $fail"))).await.unwrap();
        assert_eq!(run(&component(&grown(all + 1, "call $fail"))).await.unwrap_err().to_string(), "it is broken");
    }

    #[tokio::test]
    async fn what_cannot_be_compiled_or_called_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(&folder.path().join("cache")).unwrap();
        let compiler = SnapshotCompiler { cache, worker: CompileWorker::new("/nowhere".into()) };
        let said = |started: Result<RunningComponent<'_>, SnapshotError>| started.err().unwrap().to_string();
        assert!(said(compiler.start(b"\0asm", &[]).await).starts_with("the interpreter cannot be run: "));
        assert!(said(compiler.start(&component(""), &[]).await).contains("/nowhere did not start"));
    }
}
