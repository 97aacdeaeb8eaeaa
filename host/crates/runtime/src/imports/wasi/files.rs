//! The files of one call: its directories, which descriptors are in the plugin's own directory, and which quota each write
//! counts against.

use super::super::call_authority::CallAuthority;
use super::super::import_span::ImportSpan;
use super::disk_quota::{DiskQuota, QuotaUse};
use super::mounts::{MountError, open_mounts};
use crate::engine::CallError;
use policy::Access;
use std::collections::HashSet;
use std::sync::Arc;
use wasmtime_wasi::WasiView;
use wasmtime_wasi::filesystem::Dir;

/// A path that the sandbox refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPath {
    /// As the guest passed it, relative to one of its directories.
    pub path: String,
    pub access: Access,
}

pub struct Files {
    /// As they were when the call began.
    mounts: Result<Vec<(Dir, String)>, MountError>,
    /// Quota use of the plugin's own directory.
    own: Option<Arc<QuotaUse>>,
    granted: Arc<QuotaUse>,
    /// Descriptors in the plugin's own directory. Updated when a number is reused.
    in_own: HashSet<u32>,
}

impl Files {
    /// Opens the call's directories. `growth` is the limit for granted ones, in bytes.
    pub fn new(growth: u64, authority: &CallAuthority) -> Self {
        let granted = QuotaUse::for_granted(growth, authority.clone());
        Self { mounts: open_mounts(authority), own: None, granted, in_own: HashSet::new() }
    }

    /// The call's directories and their paths in the guest.
    pub(super) fn mounts(&self) -> Result<Vec<(Dir, String)>, CallError> {
        self.mounts.as_ref().cloned().map_err(CallError::internal)
    }

    pub(in crate::imports) fn set_own_quota(&mut self, quota: Option<&Arc<DiskQuota>>, authority: &CallAuthority) {
        self.own = quota.map(|quota| QuotaUse::for_scratch(quota.clone(), authority.clone()));
    }

    /// Growth of files by this call, in bytes.
    pub fn growth(&self) -> u64 {
        self.granted.taken() + self.own.as_ref().map_or(0, |own| own.taken())
    }

    pub(super) fn track(&mut self, descriptor: u32, in_own: bool) {
        if in_own {
            self.in_own.insert(descriptor);
        } else {
            self.in_own.remove(&descriptor);
        }
    }

    pub(super) fn is_in_own(&self, descriptor: u32) -> bool {
        self.in_own.contains(&descriptor)
    }

    pub(super) fn quota_of(&self, descriptor: u32) -> Arc<QuotaUse> {
        let own = self.own.as_ref().filter(|_| self.in_own.contains(&descriptor));
        own.unwrap_or(&self.granted).clone()
    }
}

/// Store data with the files of the running call.
pub trait WasiHost: WasiView + 'static {
    fn record_refused_path(&mut self, path: RefusedPath);
    /// The running call's files, and the guest path of the plugin's own directory; an error before the call has begun.
    fn files(&mut self) -> wasmtime::Result<(&mut Files, Option<String>)>;
    fn start_span(&mut self, name: &'static str) -> wasmtime::Result<ImportSpan>;
}
