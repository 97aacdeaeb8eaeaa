//! The test bed for replays: a call whose process ends somewhere, and that continues in the next process.

use super::call_scope::CallScope;
use super::call_sink::OutputError;
use super::http::{Egress, HttpHooks, HttpHost, NoEgress};
use super::import_span::ImportSpan;
use super::log::GuestLog;
use super::types::{CallContext, Content};
use super::wasi::{CallClock, Files, OpenFiles, RefusedPath, StandardStreams, WasiHost, new_context};
use crate::journal::{CallJournal, JournalLog, JournalProblem, Step};
use fastrand::Rng;
use platform::audit::CallAudit;
use platform::clock::{Clock, SystemClock};
use platform::durable::{
    Durability, DurableStore, Entries, Expected, Fence, Key, Lease, MemoryStore, Record, Revision, StoreAnswer,
};
use policy::{Access, Authority, Limits, Lineage, PluginId, Side, TreeBudget};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use wasmtime::component::ResourceTable;
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// A process that ends early ends after a random number of records below this.
const MOST_RECORDS: u64 = 40;
/// The server that calls may ask.
pub(super) const WEB: &str = "web.test";

/// The data of an instance that has files, and sends requests.
pub(super) struct ReplayHost {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: HttpHooks,
    pub(super) table: ResourceTable,
    files: Files,
    journal: CallJournal,
    clock: CallClock,
    streams: StandardStreams,
}

impl ReplayHost {
    pub(super) fn new(folder: &Path, egress: Arc<dyn Egress>, journal: CallJournal) -> Self {
        Self::with_files(folder, OpenFiles::new(64), egress, journal)
    }

    fn with_files(folder: &Path, open_files: Arc<OpenFiles>, egress: Arc<dyn Egress>, journal: CallJournal) -> Self {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let allow = format!("GET,PUT,POST,DELETE http://{WEB}");
        let folder = folder.display();
        let grants = format!(
            "filesystem = [{{ host = \"{folder}\", guest = \"/w\", access = \"write\" }}]\nhttp = [{{ allow = \"{allow}\" }}]"
        );
        let requests = toml::from_str(&format!("filesystem = \"write\"\nhttp = [\"{allow}\"]")).unwrap();
        let authority = Authority::new(plugin.clone(), &requests, &toml::from_str(&grants).unwrap());
        let limits = Arc::new(Limits::default());
        let clock = CallClock::default();
        let streams = StandardStreams::default();
        let wasi = new_context(&authority, &GuestLog::new(plugin, &limits), &clock, &streams);
        let lineage = Lineage::root("plugins.p.x", &limits);
        let scope = CallScope::new(CallContext::new("local"), Arc::new(authority), lineage, limits);
        let files = Files::new(scope.clone(), None, open_files, journal.clone());
        let (http, mut hooks) = (WasiHttpCtx::new(), HttpHooks::default());
        hooks.begin(scope, egress, journal.clone());
        Self { wasi, http, hooks, table: ResourceTable::new(), files, journal, clock, streams }
    }

    /// Bytes that files have grown by.
    pub(super) fn grown(&self) -> u64 {
        self.files.scope().lineage.used(TreeBudget::FileGrowth)
    }
}

impl WasiView for ReplayHost {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for ReplayHost {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.hooks, table: &mut self.table, ctx: &mut self.http }
    }
}

impl HttpHost for ReplayHost {
    fn hooks(&mut self) -> &mut HttpHooks {
        &mut self.hooks
    }
}

impl WasiHost for ReplayHost {
    fn record_refused_path(&mut self, _: RefusedPath) {}

    fn requests_files(&self) -> bool {
        true
    }

    fn record_ungranted_path(&mut self, _: &str, _: Access) {}

    fn files(&mut self) -> wasmtime::Result<(&mut Files, Option<String>)> {
        Ok((&mut self.files, None))
    }

    fn start_span(&mut self, name: &'static str) -> wasmtime::Result<ImportSpan> {
        Ok(ImportSpan::start(&CallAudit::default(), name))
    }

    fn clock(&self) -> &CallClock {
        &self.clock
    }

    fn streams(&self) -> &StandardStreams {
        &self.streams
    }

    fn note_environment(&mut self) {}

    async fn emit(&mut self, _: Vec<Content>) -> wasmtime::Result<Result<u64, OutputError>> {
        Ok(Ok(0))
    }

    fn begin_step(&mut self, import: &'static str, arguments: &impl Serialize) -> Step {
        self.journal.begin(import, arguments)
    }
}

/// Stores `left` records and then nothing more, as if the process had ended there.
pub(super) struct Dying {
    inner: MemoryStore,
    pub(super) left: AtomicU64,
    /// Whether the process learns that its last record is stored.
    answers_last: bool,
    died: Notify,
}

fn never<T: Send + 'static>() -> StoreAnswer<T> {
    Box::pin(std::future::pending())
}

impl DurableStore for Dying {
    fn append(
        &self,
        log: &Key,
        fence: Fence,
        next: u64,
        entries: Vec<Vec<u8>>,
        durability: Durability,
    ) -> StoreAnswer<()> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            self.died.notify_one();
            return never();
        }
        self.left.store(left - 1, Ordering::Relaxed);
        let stored = self.inner.append(log, fence, next, entries, durability);
        if left == 1 && !self.answers_last {
            self.died.notify_one();
            return Box::pin(async { stored.await.and(std::future::pending().await) });
        }
        stored
    }

    fn read(&self, log: &Key, from: u64, most_bytes: u64) -> StoreAnswer<Entries> {
        self.inner.read(log, from, most_bytes)
    }

    fn get(&self, _: &Key) -> StoreAnswer<Option<Record>> {
        never()
    }

    fn put(&self, _: &Key, _: Vec<u8>, _: Expected, _: Durability) -> StoreAnswer<Revision> {
        never()
    }

    fn remove(&self, _: &Key, _: Expected, _: Durability) -> StoreAnswer<()> {
        never()
    }

    fn list(&self, _: &Key, _: Option<&Key>, _: u32) -> StoreAnswer<Vec<(Key, Record)>> {
        never()
    }

    fn trim(&self, _: &Key, _: Fence, _: u64) -> StoreAnswer<()> {
        never()
    }

    fn replace(&self, _: &Key, _: Fence, _: u64, _: Vec<Vec<u8>>, _: Durability) -> StoreAnswer<()> {
        never()
    }

    fn remove_log(&self, _: &Key) -> StoreAnswer<()> {
        never()
    }

    fn acquire(&self, _: &Key, _: &str, _: Duration) -> StoreAnswer<Option<Lease>> {
        never()
    }

    fn renew(&self, _: Vec<Lease>, _: Duration) -> StoreAnswer<Vec<Lease>> {
        never()
    }

    fn expired(&self, _: &Key) -> StoreAnswer<Vec<Lease>> {
        never()
    }

    fn release(&self, _: &Lease) -> StoreAnswer<()> {
        never()
    }
}

/// A call whose process ends after a number of records, and another process that continues it.
pub(super) struct ReplayRun {
    pub(super) folder: tempfile::TempDir,
    pub(super) store: Arc<Dying>,
    pub(super) egress: Arc<dyn Egress>,
    pub(super) open_files: Arc<OpenFiles>,
}

impl ReplayRun {
    pub(super) fn new(records: u64, answers_last: bool) -> Self {
        let (inner, left) = (MemoryStore::new(Arc::new(SystemClock)), AtomicU64::new(records));
        let store = Dying { inner, left, answers_last, died: Notify::new() };
        Self {
            folder: tempfile::tempdir().unwrap(),
            store: Arc::new(store),
            egress: Arc::new(NoEgress),
            open_files: OpenFiles::new(64),
        }
    }

    /// Runs a call whose process ends after random numbers of records, at most `ends` times, and then no more.
    pub(super) async fn to_end<T>(
        &self,
        rng: &mut Rng,
        ends: u64,
        call: impl AsyncFn(&mut Store<ReplayHost>) -> wasmtime::Result<T>,
    ) -> Result<T, JournalProblem> {
        let mut process = 1;
        loop {
            let left = if process > ends { u64::MAX } else { rng.u64(..MOST_RECORDS) };
            self.store.left.store(left, Ordering::Relaxed);
            match self.process(process, &call).await {
                Ok((told, _)) => return Ok(told),
                Err(Some(problem)) => return Err(problem),
                Err(None) => process += 1,
            }
        }
    }

    /// The same, but requests go to this egress.
    pub(super) fn with(self, egress: Arc<dyn Egress>) -> Self {
        Self { egress, ..self }
    }

    /// Returns what `call` returned and by how much files grew. The error is the reason why the call had to end, or none if its
    /// process ended.
    pub(super) async fn process<T>(
        &self,
        number: u64,
        call: impl AsyncFnOnce(&mut Store<ReplayHost>) -> wasmtime::Result<T>,
    ) -> Result<(T, u64), Option<JournalProblem>> {
        let key = Key::new("journal/c").unwrap();
        let records = self.store.read(&key, 0, u64::MAX).await.unwrap().entries;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let next = records.len() as u64;
        let (fence, durability) = (Fence(number), Durability::Process);
        let log = JournalLog {
            store: self.store.clone(),
            key,
            fence,
            durability,
            next,
            room: Arc::new(|_| true),
            before_checkpoint: None,
        };
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
        let (files, egress) = (self.open_files.clone(), self.egress.clone());
        let host = ReplayHost::with_files(self.folder.path(), files, egress, journal.clone());
        let mut store = Store::new(&Engine::default(), host);
        let told = tokio::select! {
            told = call(&mut store) => told.unwrap(),
            () = self.store.died.notified() => return Err(None),
            () = cancel.cancelled() => return Err(journal.problem()),
        };
        Ok((told, store.data().grown()))
    }
}
