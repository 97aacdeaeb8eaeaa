//! The steps of `wasi:filesystem`: what a guest asks of files is recorded; what it changes is recorded before and after.

use super::super::import_span::ImportSpan;
use super::disk_quota::ENTRY_SIZE;
use super::files::WasiHost;
use super::outcome::{finish, to_guest};
use super::path_refusal;
use super::recorded::Code;
use crate::journal::{Again, Step};
use policy::Access;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, HostDescriptor as _, PathFlags};

/// What a function of `wasi:filesystem` gives the guest.
pub(super) type Given<R> = (Result<R, ErrorCode>,);

/// Asks for something of files. `S` is the form in which the journal keeps it.
pub(super) async fn ask<S, R>(step: Step, work: impl Future<Output = FsResult<R>>) -> wasmtime::Result<Given<R>>
where
    S: From<R> + Into<R> + Serialize + DeserializeOwned,
{
    if !step.is_journaled() {
        return Ok((to_guest(work.await)?,));
    }
    let work = async { Ok::<_, wasmtime::Error>(to_guest(work.await)?.map(S::from).map_err(Code::from)) };
    let told = step.try_ask(work).await?;
    Ok((told.map(S::into).map_err(Code::into),))
}

/// A change that is about to be made.
pub(super) struct FileChange {
    step: Step,
    span: Option<ImportSpan>,
    /// Whether an earlier run may have made it.
    pub(super) twice: bool,
    /// Bytes that were taken of a quota for it.
    pub(super) grew: u64,
}

/// How a change begins.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(super) enum Begun<R> {
    /// It is to be made.
    Now(FileChange),
    /// An earlier run has made it, or it must not be made.
    Done(Result<R, ErrorCode>),
}

/// What a journal keeps of a change.
#[derive(Serialize, Deserialize)]
struct Changed<R> {
    result: Result<R, Code>,
    grew: u64,
}

impl FileChange {
    /// Begins a change in or of the descriptor `of`. If the guest may change nothing, that is no step.
    pub(super) async fn begin<T: WasiHost, R: DeserializeOwned>(
        data: &mut T,
        import: &'static str,
        of: u32,
        arguments: &impl Serialize,
    ) -> wasmtime::Result<Begun<R>> {
        match Self::first(data, import, of, arguments)? {
            Ok((step, span)) => Self::begin_step(data, step, Some(span), of, Again::Safe).await,
            Err(denied) => Ok(Begun::Done(Err(denied))),
        }
    }

    /// Begins a change of a name in the directory `of`, which makes sense only if that `is_there`, or is not. Otherwise
    /// nothing will change, and that is recorded as an answer: of a change that has begun and whose outcome is not known,
    /// the name says whether it was made.
    pub(super) async fn begin_name<T: WasiHost>(
        data: &mut T,
        import: &'static str,
        of: u32,
        arguments: &impl Serialize,
        (name, is_there): (&str, bool),
    ) -> wasmtime::Result<Begun<()>> {
        if let Some(refused) = path_refusal::refuse(data, of, name, Access::Write) {
            return Ok(Begun::Done(Err(refused)));
        }
        let (step, span) = match Self::first(data, import, of, arguments)? {
            Ok(first) => first,
            Err(denied) => return Ok(Begun::Done(Err(denied))),
        };
        if step.is_new() {
            let directory = Resource::new_borrow(of);
            let found = data.filesystem().stat_at(directory, PathFlags::empty(), name.to_owned()).await;
            if found.is_ok() != is_there {
                return Ok(Begun::Now(Self { step, span: Some(span), twice: false, grew: 0 }));
            }
        }
        Self::begin_step(data, step, Some(span), of, Again::Safe).await
    }

    fn first<T: WasiHost>(
        data: &mut T,
        import: &'static str,
        of: u32,
        arguments: &impl Serialize,
    ) -> wasmtime::Result<Result<(Step, ImportSpan), ErrorCode>> {
        let (files, _) = data.files()?;
        files.note_change(of);
        if let Err(denied) = files.may_change() {
            finish::<()>(data.start_span(import)?, &Err(denied));
            return Ok(Err(denied));
        }
        let step = data.begin_file_step(import, of, arguments)?;
        Ok(Ok((step, data.start_span(import)?)))
    }

    /// The same for a step that has begun already.
    pub(super) async fn begin_step<T: WasiHost, R: DeserializeOwned>(
        data: &mut T,
        mut step: Step,
        span: Option<ImportSpan>,
        of: u32,
        again: Again,
    ) -> wasmtime::Result<Begun<R>> {
        if let Some(Changed { result, grew }) = step.recorded().await {
            data.files()?.0.grew_before(of, grew);
            return Ok(Begun::Done(result.map_err(Code::into)));
        }
        let twice = step.before_effect(again).await;
        Ok(Begun::Now(Self { step, span, twice, grew: 0 }))
    }

    pub(super) fn is_journaled(&self) -> bool {
        self.step.is_journaled()
    }

    /// Says that the change adds a name to a directory. An error if the quota has no place for it.
    pub(super) fn adds_entry<T: WasiHost>(
        &mut self,
        data: &mut T,
        directory: u32,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        let added = data.files()?.0.add_entry(directory);
        if added.is_ok() {
            self.grew = ENTRY_SIZE;
        }
        Ok(added)
    }

    /// Says that the change needs another descriptor, too. Never returns if that cannot be opened any more.
    pub(super) async fn needs<T: WasiHost>(&self, data: &mut T, descriptor: u32) -> wasmtime::Result<()> {
        if let Some(lacks) = data.files()?.0.gone(descriptor) {
            self.step.lost(lacks);
            return std::future::pending().await;
        }
        Ok(())
    }

    /// Ends it with what came of it.
    pub(super) async fn end<R: Serialize + DeserializeOwned>(self, result: FsResult<R>) -> wasmtime::Result<Given<R>> {
        self.end_unless(result, None, None).await
    }

    /// The same for a change of a name. If it may have been made already, this code says that it was.
    pub(super) async fn end_name(self, result: FsResult<()>, done: ErrorCode) -> wasmtime::Result<Given<()>> {
        self.end_unless(result, Some(done), Some(())).await
    }

    async fn end_unless<R: Serialize + DeserializeOwned>(
        self,
        result: FsResult<R>,
        done: Option<ErrorCode>,
        then: Option<R>,
    ) -> wasmtime::Result<Given<R>> {
        let Self { step, span, twice, grew } = self;
        let result = match (to_guest(result)?, then) {
            (Err(code), Some(then)) if twice && Some(code) == done => Ok(then),
            (result, _) => result,
        };
        if let Some(span) = span {
            finish(span, &result);
        }
        if !step.is_journaled() {
            return Ok((result,));
        }
        let changed = Changed { result: result.map_err(Code::from), grew };
        step.ended(&changed).await;
        Ok((changed.result.map_err(Code::into),))
    }
}
