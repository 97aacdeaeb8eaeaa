//! A call that changes files, stopped at each of its records and gone on with: it comes to the same, and nothing is done twice.

use super::super::call_scope::CallScope;
use super::super::import_span::ImportSpan;
use super::super::log::GuestLog;
use super::super::types::CallContext;
use super::{CallClock, Files, OpenFiles, RefusedPath, WasiHost, changes, filesystem, metadata, new_context, open_at};
use super::{read_directory, removals};
use crate::journal::{CallJournal, JournalLog, JournalProblem, Step};
use platform::audit::CallAudit;
use platform::clock::{Clock, SystemClock};
use platform::durable::{
    Answer, DurableStore, Entries, Expected, Fence, Key, Lease, MemoryStore, Record, Revision, Strength,
};
use policy::{Authority, Limits, Lineage, PluginId, Side, TreeBudget};
use serde::Serialize;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime::{AsContextMut as _, Engine, Store};
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use wasmtime_wasi::p2::bindings::io::streams::{HostInputStream as _, HostOutputStream as _};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// The data of an instance that is no more than its files.
pub(super) struct Host {
    wasi: WasiCtx,
    pub(super) table: ResourceTable,
    files: Files,
    journal: CallJournal,
    clock: CallClock,
}

impl Host {
    pub(super) fn new(folder: &Path, journal: CallJournal) -> Self {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let grants = format!(r#"filesystem = [{{ host = "{}", guest = "/w", access = "write" }}]"#, folder.display());
        let requests = toml::from_str("filesystem = \"write\"").unwrap();
        let authority = Authority::new(plugin.clone(), &requests, &toml::from_str(&grants).unwrap());
        let limits = Arc::new(Limits::default());
        let clock = CallClock::default();
        let wasi = new_context(&authority, &GuestLog::new(plugin, &limits), &clock);
        let lineage = Lineage::root("plugins.p.x", &limits);
        let scope = CallScope::new(CallContext::new("local"), Arc::new(authority), lineage, limits);
        let files = Files::new(scope, None, OpenFiles::new(64), journal.clone());
        Self { wasi, table: ResourceTable::new(), files, journal, clock }
    }
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHost for Host {
    fn record_refused_path(&mut self, _: RefusedPath) {}

    fn files(&mut self) -> wasmtime::Result<(&mut Files, Option<String>)> {
        Ok((&mut self.files, None))
    }

    fn start_span(&mut self, name: &'static str) -> wasmtime::Result<ImportSpan> {
        Ok(ImportSpan::start(&CallAudit::default(), name))
    }

    fn clock(&self) -> &CallClock {
        &self.clock
    }

    fn begin_step(&mut self, import: &'static str, arguments: &impl Serialize) -> Step {
        self.journal.begin(import, arguments)
    }
}

/// Stores so many records, and then nothing more: as if the process had ended there.
pub(super) struct Dying {
    inner: MemoryStore,
    pub(super) left: AtomicU64,
    /// Whether the process learns that the last one is stored.
    answers_last: bool,
    died: Notify,
}

fn never<T: Send + 'static>() -> Answer<T> {
    Box::pin(std::future::pending())
}

impl DurableStore for Dying {
    fn append(&self, log: &Key, fence: Fence, next: u64, entries: Vec<Vec<u8>>, strength: Strength) -> Answer<()> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            self.died.notify_one();
            return never();
        }
        self.left.store(left - 1, Ordering::Relaxed);
        let stored = self.inner.append(log, fence, next, entries, strength);
        if left == 1 && !self.answers_last {
            self.died.notify_one();
            return Box::pin(async { stored.await.and(std::future::pending().await) });
        }
        stored
    }

    fn read(&self, log: &Key, from: u64, most_bytes: u64) -> Answer<Entries> {
        self.inner.read(log, from, most_bytes)
    }

    fn get(&self, _: &Key) -> Answer<Option<Record>> {
        never()
    }

    fn put(&self, _: &Key, _: Vec<u8>, _: Expected, _: Strength) -> Answer<Revision> {
        never()
    }

    fn remove(&self, _: &Key, _: Expected, _: Strength) -> Answer<()> {
        never()
    }

    fn list(&self, _: &Key, _: Option<&Key>, _: u32) -> Answer<Vec<(Key, Record)>> {
        never()
    }

    fn trim(&self, _: &Key, _: Fence, _: u64) -> Answer<()> {
        never()
    }

    fn replace(&self, _: &Key, _: Fence, _: u64, _: Vec<Vec<u8>>, _: Strength) -> Answer<()> {
        never()
    }

    fn remove_log(&self, _: &Key) -> Answer<()> {
        never()
    }

    fn acquire(&self, _: &Key, _: &str, _: Duration) -> Answer<Option<Lease>> {
        never()
    }

    fn renew(&self, _: Vec<Lease>, _: Duration) -> Answer<Vec<Lease>> {
        never()
    }

    fn release(&self, _: &Lease) -> Answer<()> {
        never()
    }
}

/// What the call was told, in its order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Results(pub(super) Vec<String>);

impl Results {
    pub(super) fn add<R: Debug>(&mut self, result: (Result<R, ErrorCode>,)) -> Option<R> {
        self.0.push(format!("{:?}", result.0.as_ref().map(|_| ()).map_err(|code| *code)));
        result.0.ok()
    }

    pub(super) fn see<R: Debug>(&mut self, result: (Result<R, ErrorCode>,)) {
        self.0.push(format!("{:?}", result.0));
    }
}

pub(super) fn again(of: &Resource<Descriptor>) -> Resource<Descriptor> {
    Resource::new_borrow(of.rep())
}

/// Uses each function that changes something, and some that look.
async fn each_change(store: &mut Store<Host>) -> wasmtime::Result<Results> {
    let mut told = Results::default();
    let read_write = DescriptorFlags::READ | DescriptorFlags::WRITE;
    let (none, made) = (PathFlags::empty(), OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
    let (directories,) = filesystem::directories(store.as_context_mut(), ())?;
    let top = &directories[0].0;
    macro_rules! make {
        ($function:path, $($argument:expr),+) => { Box::into_pin($function(store.as_context_mut(), ($($argument,)+))).await? };
    }
    told.see(make!(changes::create_directory_at, again(top), "a".into()));
    told.see(make!(changes::create_directory_at, again(top), "a".into()));
    let file = told.add(make!(open_at::open_at, again(top), none, "a/f".into(), made, read_write)).unwrap();
    told.see(make!(changes::write, again(&file), b"hello".to_vec(), 0));
    let (stream,) = changes::stream(store.as_context_mut(), &again(&file), Some(5))?;
    let stream = stream.unwrap();
    for piece in ["1234", "5678"] {
        store.data_mut().table.blocking_write_and_flush(Resource::new_borrow(stream.rep()), piece.into()).await?;
    }
    let (log,) = changes::stream(store.as_context_mut(), &again(&file), None)?;
    let log = log.unwrap();
    for piece in ["x", "y"] {
        store.data_mut().table.blocking_write_and_flush(Resource::new_borrow(log.rep()), piece.into()).await?;
    }
    told.see(make!(metadata::read, again(&file), 100, 0));
    told.see(make!(changes::set_size, again(&file), 11));
    let (input,) = metadata::read_via_stream(store.as_context_mut(), (again(&file), 3))?;
    let input = input.unwrap();
    for length in [4, 2, 9] {
        let input = Resource::new_borrow(input.rep());
        told.0.push(format!("{:?}", store.data_mut().table.blocking_read(input, length).await.ok()));
    }
    told.see(make!(changes::symlink_at, again(top), "a/f".into(), "link".into()));
    told.see(make!(changes::link_at, again(top), none, "a/f".into(), again(top), "other".into()));
    told.see(make!(changes::rename_at, again(top), "other".into(), again(top), "third".into()));
    let (directory, read) = (OpenFlags::DIRECTORY, DescriptorFlags::READ);
    let opened = told.add(make!(open_at::open_at, again(top), none, ".".into(), directory, read)).unwrap();
    let list = told.add(make!(read_directory::open, again(&opened))).unwrap();
    let mut names = Vec::new();
    while let Some(entry) = make!(read_directory::next, Resource::new_borrow(list.rep())).0.unwrap() {
        names.push(entry.name);
    }
    names.sort();
    told.0.push(names.join(" "));
    told.see(make!(metadata::readlink_at, again(top), "link".into()));
    told.see(make!(removals::unlink_file_at, again(top), "link".into()));
    told.see(make!(removals::unlink_file_at, again(top), "link".into()));
    // From here on the file that is open has another name, and then none.
    told.see(make!(changes::rename_at, again(top), "a/f".into(), again(top), "moved".into()));
    told.see(make!(removals::remove_directory_at, again(top), "a".into()));
    told.see(make!(metadata::read, again(&file), 100, 0));
    Ok(told)
}

fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap_or_default())
        })
        .collect();
    found.sort();
    found
}

/// A call whose process ends after so many records, and another process that goes on with it.
pub(super) struct Run {
    pub(super) folder: tempfile::TempDir,
    pub(super) store: Arc<Dying>,
}

impl Run {
    pub(super) fn new(records: u64, answers_last: bool) -> Self {
        let (inner, left) = (MemoryStore::new(Arc::new(SystemClock)), AtomicU64::new(records));
        let store = Dying { inner, left, answers_last, died: Notify::new() };
        Self { folder: tempfile::tempdir().unwrap(), store: Arc::new(store) }
    }

    /// What was told and how much files grew; the error is why the call had to end, if not because its process did.
    pub(super) async fn process(
        &self,
        number: u64,
        call: impl AsyncFnOnce(&mut Store<Host>) -> wasmtime::Result<Results>,
    ) -> Result<(Results, u64), Option<JournalProblem>> {
        let key = Key::new("journal/c").unwrap();
        let records = self.store.read(&key, 0, u64::MAX).await.unwrap().entries;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let next = records.len() as u64;
        let (fence, strength) = (Fence(number), Strength::Process);
        let log = JournalLog { store: self.store.clone(), key, fence, strength, next, room: Arc::new(|_| true) };
        let journal = if records.is_empty() {
            // It begins, and none of its own records is stored yet.
            let left = self.store.left.swap(u64::MAX, Ordering::Relaxed);
            let journal = CallJournal::in_memory(clock);
            assert!(journal.store_in(log).await.unwrap());
            self.store.left.store(left, Ordering::Relaxed);
            journal
        } else {
            CallJournal::stored(clock, log, records, Duration::ZERO).unwrap()
        };
        let cancel = CancellationToken::new();
        journal.end_with(&cancel);
        let mut store = Store::new(&Engine::default(), Host::new(self.folder.path(), journal.clone()));
        let told = tokio::select! {
            told = call(&mut store) => told.unwrap(),
            () = self.store.died.notified() => return Err(None),
            () = cancel.cancelled() => return Err(journal.problem()),
        };
        Ok((told, store.data().files.scope().lineage.used(TreeBudget::FileGrowth)))
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_anywhere_comes_to_the_same() {
    let plain = tempfile::tempdir().unwrap();
    let mut store = Store::new(&Engine::default(), Host::new(plain.path(), CallJournal::default()));
    let told = each_change(&mut store).await.unwrap();
    let grew = store.data().files.scope().lineage.used(TreeBudget::FileGrowth);
    let end = content(plain.path());
    assert_eq!(end, [("moved".into(), b"hello123456"[..11].to_vec()), ("third".into(), b"hello123456".to_vec())]);

    let (mut records, mut unknown, mut lost) = (0, Vec::new(), Vec::new());
    loop {
        let mut ended = 0;
        for answers_last in [false, true] {
            let run = Run::new(records, answers_last);
            ended += u32::from(run.process(1, each_change).await.is_ok());
            run.store.left.store(u64::MAX, Ordering::Relaxed);
            match run.process(2, each_change).await {
                Ok((second, _)) => {
                    assert_eq!(
                        (second, content(run.folder.path())),
                        (Results(told.0.clone()), end.clone()),
                        "{records}"
                    );
                    // All of it from the journal, although the file that was open has lost its name.
                    let third = run.process(3, each_change).await.unwrap();
                    assert_eq!(third.0, told, "{records}");
                    assert_eq!(content(run.folder.path()), end);
                }
                Err(Some(JournalProblem::Unknown { import, .. })) => unknown.push(import),
                // The file that is open has got another name, and nobody has read it for the last time.
                Err(Some(JournalProblem::Lost { import, .. })) => lost.push(import),
                Err(problem) => panic!("after {records} records: {problem:?}"),
            }
        }
        if ended == 2 {
            break;
        }
        records += 1;
    }
    unknown.sort();
    assert!(records > 40, "{records}");
    assert!(!lost.is_empty() && lost.iter().all(|import| import == "filesystem.read"), "{lost:?}");
    // The new file that was made, and each end of the file that was added to, whether or not that was done.
    assert_eq!(unknown, ["filesystem.open-at", "streams.write", "streams.write", "streams.write", "streams.write"]);

    let run = Run::new(u64::MAX, true);
    for process in 1..3 {
        assert_eq!(
            run.process(process, each_change).await.unwrap(),
            (Results(told.0.clone()), grew),
            "process {process}"
        );
    }
}
