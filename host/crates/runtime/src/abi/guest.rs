//! The data of a Store: everything that belongs to one call.

use crate::engine::{Allowance, Supervised, Supervision};
use crate::imports::wasi::{self, Files, MountError, RefusedPath, Watched};
use crate::imports::{CallCtx, Doing, GuestLog, Outlet};
use platform::clock::Clock;
use policy::Authority;
use std::sync::Arc;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// All fields of one header map, by wasmtime's count. Bounds memory that a guest fills header by header.
const MAX_FIELDS: usize = 64 << 10;

/// All that a call needs to begin.
pub struct CallSetup {
    /// Which tool is called; for the log.
    pub tool: String,
    /// What it may use.
    pub allowance: Allowance,
    /// What it may ask for.
    pub call: Box<CallCtx>,
    /// Its directories.
    pub authority: Arc<Authority>,
    /// Its time.
    pub clock: Arc<dyn Clock>,
    /// Whether it belongs to another call of this host, and computes where that one does.
    pub nested: bool,
}

/// The state of an instance, and of its one call once that has begun.
pub(super) struct Guest {
    supervision: Supervision,
    call: Option<Box<CallCtx>>,
    pub(super) log: GuestLog,
    pub(super) clock: Arc<dyn Clock>,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    outlet: Outlet,
    table: ResourceTable,
}

impl Guest {
    /// For an instance that waits for its call.
    pub(super) fn new(authority: &Authority, allowance: Allowance, clock: Arc<dyn Clock>) -> Result<Self, MountError> {
        let log = GuestLog::new(authority.plugin().clone(), "", "", &allowance.limits);
        let wasi = wasi::context(authority, &log)?;
        let mut table = ResourceTable::new();
        // WASI keeps a resource or two of its own behind a handle, so this is never the limit that is met first.
        let handles = usize::try_from(allowance.limits.handles).unwrap_or(usize::MAX);
        table.set_max_capacity(handles.saturating_mul(2).saturating_add(16));
        let supervision = Supervision::new(allowance, clock.clone());
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(MAX_FIELDS);
        Ok(Self { supervision, call: None, log, clock, wasi, http, outlet: Outlet::default(), table })
    }

    /// Its call begins.
    pub(super) fn begin(&mut self, tool: &str, allowance: Allowance, call: Box<CallCtx>) {
        self.log.begin(tool, &call.context.id);
        self.supervision.begin(allowance);
        self.outlet.begin(call.http.clone());
        self.call = Some(call);
    }

    /// Its call ends; whoever waits for what it says is let go, and its connections are closed.
    pub(super) fn end(&mut self) -> Option<Box<CallCtx>> {
        self.outlet.end();
        self.log.finish();
        self.call.take()
    }

    /// The call that is running. An instance that asks for something before its call has begun gets an error: it is
    /// then made anew inside its call, where it can have it.
    pub(super) fn call(&mut self) -> wasmtime::Result<&mut CallCtx> {
        self.call.as_deref_mut().ok_or_else(|| wasmtime::Error::msg("no call has begun"))
    }
}

impl Supervised for Guest {
    fn supervision(&mut self) -> &mut Supervision {
        &mut self.supervision
    }

    fn before_failure(&mut self) {
        if let Some(words) = self.log.last_words() {
            self.supervision.set_last_words(words);
        }
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.outlet, table: &mut self.table, ctx: &mut self.http }
    }
}

impl Watched for Guest {
    fn files(&mut self) -> wasmtime::Result<(&mut Files, Option<String>)> {
        let call = self.call()?;
        let own = call.permit.scratch().ok().map(|grant| grant.guest.clone());
        Ok((&mut call.files, own))
    }

    fn doing(&mut self, name: &'static str) -> wasmtime::Result<Doing> {
        Ok(self.call()?.doing(name, 0))
    }

    fn refused(&mut self, path: RefusedPath) {
        if let Some(call) = &mut self.call {
            call.trail().record((&call.permit.path_refused(&path.path, path.access)).into());
            call.refused_path = Some(path);
        }
    }
}
