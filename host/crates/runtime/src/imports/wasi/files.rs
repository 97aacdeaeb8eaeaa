//! The files of one call: its directories, which descriptors are in the plugin's own directory, and which quota each write
//! counts against.

use super::super::call_scope::CallScope;
use super::super::call_sink::OutputError;
use super::super::import_span::ImportSpan;
use super::super::types::Content;
use super::clocks::CallClock;
use super::disk_quota::{DiskQuota, Moving, QuotaUse};
use super::mounts::{MountError, open_mounts};
use super::open_files::{OpenFiles, Reservation, count};
use super::standard_streams::StandardStreams;
use super::ungranted_paths::UngrantedPaths;
use super::uses::SandboxUses;
use crate::engine::CallError;
use crate::journal::{CallJournal, Step};
use policy::{Access, Recipient, TreeBudget};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use wasmtime_wasi::WasiView;
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// What a replayed call lacks if one of its files is no longer there, or if it may not open that file.
pub(super) const GONE: &str = "a file that cannot be opened any more";
pub(super) const REPLACED: &str = "a file whose name another one has by now";
pub(super) const OVER_LIMIT: &str = "more open files than limits.open-files allows by now";

/// A path that the sandbox refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPath {
    /// As the guest passed it, relative to one of its directories.
    pub path: String,
    pub access: Access,
}

pub struct Files {
    scope: Arc<CallScope>,
    /// The directories as they were when the call began.
    mounts: Result<Vec<(Dir, String)>, MountError>,
    disk_quota: Option<Arc<DiskQuota>>,
    /// Quota use of the plugin's own directory, and of the granted ones.
    own: Option<Arc<QuotaUse>>,
    granted: Option<Arc<QuotaUse>>,
    /// Descriptors in the plugin's own directory. Updated when a number is reused.
    in_own: HashSet<u32>,
    /// Likewise, descriptors of files that an earlier run had open and that could not be opened again, each with what the call
    /// lacks. They are good enough as long as the journal has the answers that the guest asks for.
    gone: HashMap<u32, &'static str>,
    reservation: Reservation,
    uses: SandboxUses,
    /// Whether the log already says that the call may open no more files.
    has_warned: bool,
    journal: CallJournal,
    ungranted: UngrantedPaths,
}

impl Files {
    /// Opens the call's directories. `disk_quota` is the quota of the plugin's own directory.
    pub fn new(
        scope: Arc<CallScope>,
        disk_quota: Option<Arc<DiskQuota>>,
        open_files: Arc<OpenFiles>,
        journal: CallJournal,
    ) -> Self {
        let mounts = open_mounts(&scope.authority);
        let reservation = Reservation::new(open_files, scope.context.principal.clone());
        Self {
            scope,
            mounts,
            disk_quota,
            own: None,
            granted: None,
            in_own: HashSet::new(),
            gone: HashMap::new(),
            reservation,
            uses: SandboxUses::default(),
            has_warned: false,
            journal,
            ungranted: UngrantedPaths::default(),
        }
    }

    pub(super) fn journal(&self) -> &CallJournal {
        &self.journal
    }

    /// Whether another file may be opened beside `open` of this call.
    pub(super) fn may_open_another(&mut self, open: usize) -> bool {
        let limit = self.scope.limits.open_files;
        let may = self.reservation.covers_another(open, limit);
        if !may && !std::mem::replace(&mut self.has_warned, true) {
            let plugin = self.scope.authority.plugin();
            let why = match open >= limit as usize {
                true => format!("the call has {open} open; limits.open-files under [{}] sets how many", plugin.table()),
                false => "guests have too many open together, or those that this principal called".to_owned(),
            };
            tracing::warn!(%plugin, "a file was not opened: {why}");
        }
        may
    }

    /// The same for a file that an earlier run had open, but it waits until other calls have freed theirs.
    pub(super) async fn wait_for_another(&mut self, open: usize) -> bool {
        self.reservation.wait_for_another(open, self.scope.limits.open_files).await
    }

    /// Whether the call may change anything in its directories. Other programs and other calls would see what it writes,
    /// removes or renames.
    pub(super) fn may_change(&self) -> Result<(), ErrorCode> {
        may_change(&self.scope)
    }

    pub(in crate::imports) fn scope(&self) -> &Arc<CallScope> {
        &self.scope
    }

    /// The call's directories and their paths in the guest.
    pub(super) fn mounts(&self) -> Result<Vec<(Dir, String)>, CallError> {
        self.mounts.as_ref().cloned().map_err(CallError::internal)
    }

    pub(super) fn track(&mut self, descriptor: u32, in_own: bool) {
        if in_own {
            self.in_own.insert(descriptor);
        } else {
            self.in_own.remove(&descriptor);
        }
        self.gone.remove(&descriptor);
    }

    pub(super) fn track_gone(&mut self, descriptor: u32, in_own: bool, lacks: &'static str) {
        self.track(descriptor, in_own);
        self.gone.insert(descriptor, lacks);
    }

    /// What the call lacks, if it has a descriptor of a file that could not be opened again.
    pub(super) fn gone(&self, descriptor: u32) -> Option<&'static str> {
        self.gone.get(&descriptor).copied()
    }

    /// Counts by how much a change of an earlier run made files grow. In the plugin's own directory, growth is measured
    /// instead.
    pub(super) fn grew_before(&self, descriptor: u32, bytes: u64) {
        if !self.is_in_own(descriptor) {
            self.scope.lineage.take_up_to(TreeBudget::FileGrowth, bytes);
        }
    }

    /// Notes a path outside of the call's directories. Returns whether it is new.
    pub fn note_ungranted(&mut self, path: &str, access: Access) -> bool {
        self.ungranted.add(path, access)
    }

    pub fn ungranted(&self) -> &UngrantedPaths {
        &self.ungranted
    }

    /// What the call has used up to now.
    pub fn uses(&self) -> SandboxUses {
        self.uses
    }

    pub(super) fn note_look(&mut self, import: &str, descriptor: u32) {
        self.uses.look(import, self.is_in_own(descriptor));
    }

    pub(super) fn note_change(&mut self, directory: u32) {
        self.uses.change(self.is_in_own(directory));
    }

    /// Also called for what the guest asked before its call, while the instance was made.
    pub(crate) fn note_environment(&mut self) {
        self.uses.environment = true;
    }

    pub(super) fn is_in_own(&self, descriptor: u32) -> bool {
        self.in_own.contains(&descriptor)
    }

    /// Returns a guard, to be held while something in one directory gets a name in another. Between the plugin's own directory
    /// and others that is refused, because the file would then count against another quota, or against none.
    pub(super) fn start_moving(&mut self, from: u32, to: u32) -> Result<Moving, ErrorCode> {
        self.may_change()?;
        if self.is_in_own(from) != self.is_in_own(to) {
            return Err(ErrorCode::CrossDevice);
        }
        Ok(self.quota_of(from).start_moving())
    }

    /// Counts a new directory entry.
    pub(super) fn add_entry(&mut self, directory: u32) -> Result<(), ErrorCode> {
        self.may_change()?;
        Ok(self.quota_of(directory).add_entry()?)
    }

    pub(super) fn quota_of(&mut self, descriptor: u32) -> Arc<QuotaUse> {
        let authority = &self.scope.authority;
        if let (Some(quota), true) = (&self.disk_quota, self.in_own.contains(&descriptor)) {
            return self.own.get_or_insert_with(|| QuotaUse::for_scratch(quota.clone(), authority.clone())).clone();
        }
        let lineage = &self.scope.lineage;
        self.granted.get_or_insert_with(|| QuotaUse::for_granted(lineage.clone(), authority.clone())).clone()
    }
}

/// Whether the call may change files: not once it has seen private results, unless that flow is granted.
pub(super) fn may_change(scope: &CallScope) -> Result<(), ErrorCode> {
    scope.check_flow(&Recipient::Files).map_err(|_| ErrorCode::NotPermitted)
}

/// Store data with the files of the running call.
pub trait WasiHost: WasiView + 'static {
    fn record_refused_path(&mut self, path: RefusedPath);
    /// Whether the guest's manifest requests files. Many components that request none cannot use any, because their build left
    /// that out.
    fn requests_files(&self) -> bool;
    /// Records a path outside of the directories of the guest, if its call has begun.
    fn record_ungranted_path(&mut self, path: &str, access: Access);
    /// The running call's files, and the guest path of the plugin's own directory; an error before the call has begun.
    fn files(&mut self) -> wasmtime::Result<(&mut Files, Option<String>)>;
    fn start_span(&mut self, name: &'static str) -> wasmtime::Result<ImportSpan>;
    /// The clock of its WASI context.
    fn clock(&self) -> &CallClock;
    /// The standard streams of its WASI context.
    fn streams(&self) -> &StandardStreams;
    /// Notes that the guest asks for its environment.
    fn note_environment(&mut self);
    /// Sends a chunk of the running call.
    fn emit(
        &mut self,
        content: Vec<Content>,
    ) -> impl Future<Output = wasmtime::Result<Result<u64, OutputError>>> + Send;
    /// Begins a step of the guest's call. Also called if the guest learns something from outside before its call has begun.
    fn begin_step(&mut self, import: &'static str, arguments: &impl Serialize) -> Step;

    /// The same for a step that needs this descriptor unless its outcome is recorded.
    fn begin_file_step(
        &mut self,
        import: &'static str,
        descriptor: u32,
        arguments: &impl Serialize,
    ) -> wasmtime::Result<Step> {
        let step = self.begin_step(import, arguments);
        let (files, _) = self.files()?;
        files.note_look(import, descriptor);
        if let Some(lacks) = files.gone(descriptor)
            && !step.is_recorded()
        {
            step.lost(lacks);
        }
        Ok(step)
    }

    /// Whether the running call may open another file.
    fn may_open_file(&mut self) -> wasmtime::Result<bool> {
        let open = count(self.ctx().table);
        Ok(self.files()?.0.may_open_another(open))
    }
}
