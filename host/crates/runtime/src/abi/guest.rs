//! The data of a guest's Store.

use crate::engine::{Allowance, InstancePermit, Supervised, Supervision};
use crate::imports::wasi::{self, CallClock, Files, RefusedPath, StandardStreams, WasiHost};
use crate::imports::{CallImports, Content, GuestLog, HttpHooks, HttpHost, ImportSpan, OutputError};
use crate::journal::Step;
use policy::{Access, Authority};
use serde::Serialize;
use std::sync::Arc;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// Size of all fields of one header map, as wasmtime counts it. Bounds memory that a guest fills header by header.
const MAX_HEADER_SIZE: usize = 64 << 10;

/// Handles that every guest has: its standard streams, directories and the like.
const FREE_HANDLES: usize = 16;
/// The most bytes that the host holds behind each further handle: the headers of a request, or the buffer of a stream.
const HANDLE_BYTES: u64 = 128 << 10;

/// The data of an instance, and of its one call once that has begun.
pub(super) struct Guest {
    supervision: Supervision,
    /// Whether it has learnt something from outside before its call, which no journal knows.
    has_looked_outside: bool,
    /// Whether it has asked for its environment, in its call or before.
    asked_environment: bool,
    requests_files: bool,
    /// None before the call begins and after it has ended.
    imports: Option<Box<CallImports>>,
    pub(super) log: GuestLog,
    call_clock: CallClock,
    streams: StandardStreams,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    http_hooks: HttpHooks,
    table: ResourceTable,
}

impl Guest {
    /// For an instance whose call has not begun.
    pub(super) fn new(authority: &Authority, allowance: Allowance) -> Self {
        let log = GuestLog::new(authority.plugin().clone(), &allowance.limits);
        let call_clock = CallClock::default();
        let streams = StandardStreams::default();
        let wasi = wasi::new_context(authority, &log, &call_clock, &streams);
        let mut table = ResourceTable::new();
        // WASI keeps up to two resources of its own behind a handle, so `limits.handles` is always reached first.
        let handles = usize::try_from(allowance.limits.handles).unwrap_or(usize::MAX);
        table.set_max_capacity(handles.saturating_mul(2).saturating_add(16));
        let supervision = Supervision::new(allowance);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(MAX_HEADER_SIZE);
        let (has_looked_outside, asked_environment) = (false, false);
        Self {
            supervision,
            has_looked_outside,
            asked_environment,
            requests_files: authority.requests_files(),
            imports: None,
            log,
            call_clock,
            streams,
            wasi,
            http,
            http_hooks: HttpHooks::default(),
            table,
        }
    }

    /// `permit` is none if nobody's call is to pay for the instance.
    pub(super) fn begin_call(
        &mut self,
        tool: &Arc<str>,
        allowance: Allowance,
        imports: Box<CallImports>,
        permit: Option<InstancePermit>,
    ) {
        self.log.begin(tool, &imports.scope.context.id, &imports.scope.lineage, imports.journal.silence());
        self.supervision.begin_call(allowance, permit);
        self.http_hooks.begin(imports.scope.clone(), imports.egress(), imports.journal.clone());
        self.imports = Some(imports);
    }

    /// Whether another instance would be in the same state when its call begins.
    pub(super) fn is_as_made(&self) -> bool {
        !self.has_looked_outside
    }

    /// Closes the call's connections, and ends its log.
    pub(super) fn end_call(&mut self) -> Option<Box<CallImports>> {
        let refused_request = self.http_hooks.end();
        self.log.finish();
        let mut imports = self.imports.take()?;
        imports.refused_request = refused_request;
        if self.asked_environment {
            imports.files.note_environment();
        }
        Some(imports)
    }

    /// Counts what the host holds for a guest that begins to wait: what it passed, what is behind its handles, what is
    /// recorded of its call, and what a program has written.
    pub(super) fn count_host_bytes(&mut self, passed: u64) {
        let handles = self.table.iter_mut().count().saturating_sub(FREE_HANDLES) as u64;
        let kept = |imports: &CallImports| imports.journal.kept_bytes() + imports.checkpoint_bytes();
        let recorded = self.imports.as_deref().map_or(0, kept);
        let held = recorded.saturating_add(self.streams.held_bytes());
        self.supervision.set_host_bytes(passed.saturating_add(handles * HANDLE_BYTES).saturating_add(held));
    }

    /// The imports of the running call. Fails when an instance uses one while it is made before its call; such a
    /// component is instantiated inside its calls instead.
    pub(super) fn imports(&mut self) -> wasmtime::Result<&mut CallImports> {
        self.imports.as_deref_mut().ok_or_else(|| wasmtime::Error::msg("no call has begun"))
    }
}

impl Supervised for Guest {
    fn supervision(&mut self) -> &mut Supervision {
        &mut self.supervision
    }

    fn before_failure(&mut self) {
        if let Some(message) = self.log.failure_message() {
            self.supervision.set_last_message(message);
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
        WasiHttpCtxView { hooks: &mut self.http_hooks, table: &mut self.table, ctx: &mut self.http }
    }
}

impl HttpHost for Guest {
    fn hooks(&mut self) -> &mut HttpHooks {
        &mut self.http_hooks
    }
}

impl WasiHost for Guest {
    fn files(&mut self) -> wasmtime::Result<(&mut Files, Option<String>)> {
        let imports = self.imports()?;
        let scratch = imports.scope.authority.scratch().ok().map(|grant| grant.guest.clone());
        Ok((&mut imports.files, scratch))
    }

    fn start_span(&mut self, name: &'static str) -> wasmtime::Result<ImportSpan> {
        Ok(self.imports()?.start_span(name, 0))
    }

    fn clock(&self) -> &CallClock {
        &self.call_clock
    }

    fn streams(&self) -> &StandardStreams {
        &self.streams
    }

    fn note_environment(&mut self) {
        self.asked_environment = true;
    }

    async fn emit(&mut self, content: Vec<Content>) -> wasmtime::Result<Result<u64, OutputError>> {
        Ok(self.imports()?.emit(content).await)
    }

    fn begin_step(&mut self, import: &'static str, arguments: &impl Serialize) -> Step {
        match &self.imports {
            Some(imports) => imports.journal.begin(import, arguments),
            None => {
                self.has_looked_outside = true;
                Step::none()
            }
        }
    }

    fn record_refused_path(&mut self, path: RefusedPath) {
        if let Some(imports) = &mut self.imports {
            let refused = imports.scope.authority.path_refused(&path.path, path.access);
            imports.scope.authority.record_denial(&refused);
            imports.refused_path = Some(path);
        }
    }

    fn requests_files(&self) -> bool {
        self.requests_files
    }

    fn record_ungranted_path(&mut self, path: &str, access: Access) {
        if self.imports.as_mut().is_some_and(|imports| imports.files.note_ungranted(path, access)) {
            self.record_refused_path(RefusedPath { path: path.to_owned(), access });
        }
    }
}
