//! The steps of `wasi:filesystem`: what a guest learns of files is recorded, and a change is recorded before and after it is
//! made.

use super::super::import_span::ImportSpan;
use super::disk_quota::ENTRY_SIZE;
use super::files::WasiHost;
use super::outcome::{finish, to_guest};
use super::path_refusal;
use super::recorded::Code;
use crate::journal::{Repeat, Step};
use policy::Access;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, HostDescriptor as _, PathFlags};

/// What a function of `wasi:filesystem` gives the guest.
pub(super) type GuestResult<R> = (Result<R, ErrorCode>,);

/// Asks for something and changes nothing. `S` is the form in which the journal keeps the answer.
pub(super) async fn ask<S, R>(step: Step, work: impl Future<Output = FsResult<R>>) -> wasmtime::Result<GuestResult<R>>
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
    /// Bytes that were taken from a quota for it.
    pub(super) grew: u64,
}

/// How a change begins.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(super) enum ChangeStart<R> {
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
    /// Begins a change in or of the descriptor `of`. If the guest may change nothing, no step begins.
    pub(super) async fn begin<T: WasiHost, R: DeserializeOwned>(
        data: &mut T,
        import: &'static str,
        of: u32,
        arguments: &impl Serialize,
    ) -> wasmtime::Result<ChangeStart<R>> {
        match Self::first(data, import, of, arguments)? {
            Ok((step, span)) => Self::begin_step(data, step, Some(span), of, Repeat::Safe).await,
            Err(denied) => Ok(ChangeStart::Done(Err(denied))),
        }
    }

    /// Begins a change of a name in the directory `of`. It can be made only if the name exists, or only if it does not, as
    /// `is_there` says. Otherwise nothing will change, and only the answer is recorded. So if a change has begun and its
    /// outcome is not known, the name shows whether it was made.
    pub(super) async fn begin_name<T: WasiHost>(
        data: &mut T,
        import: &'static str,
        of: u32,
        arguments: &impl Serialize,
        (name, is_there): (&str, bool),
    ) -> wasmtime::Result<ChangeStart<()>> {
        if let Some(refused) = path_refusal::refuse(data, of, name, Access::Write) {
            return Ok(ChangeStart::Done(Err(refused)));
        }
        let (step, span) = match Self::first(data, import, of, arguments)? {
            Ok(first) => first,
            Err(denied) => return Ok(ChangeStart::Done(Err(denied))),
        };
        if step.is_new() {
            let directory = Resource::new_borrow(of);
            let found = data.filesystem().stat_at(directory, PathFlags::empty(), name.to_owned()).await;
            if found.is_ok() != is_there {
                return Ok(ChangeStart::Now(Self { step, span: Some(span), twice: false, grew: 0 }));
            }
        }
        Self::begin_step(data, step, Some(span), of, Repeat::Safe).await
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

    /// Begins a change whose step has begun already.
    pub(super) async fn begin_step<T: WasiHost, R: DeserializeOwned>(
        data: &mut T,
        mut step: Step,
        span: Option<ImportSpan>,
        of: u32,
        again: Repeat,
    ) -> wasmtime::Result<ChangeStart<R>> {
        if let Some(Changed { result, grew }) = step.recorded().await {
            data.files()?.0.grew_before(of, grew);
            return Ok(ChangeStart::Done(result.map_err(Code::into)));
        }
        let twice = step.before_effect(again).await;
        Ok(ChangeStart::Now(Self { step, span, twice, grew: 0 }))
    }

    pub(super) fn is_journaled(&self) -> bool {
        self.step.is_journaled()
    }

    /// Counts the name that the change adds to a directory. Returns an error if the quota has no room for it.
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

    /// Checks another descriptor that the change needs. Never returns if that one could not be opened again.
    pub(super) async fn needs<T: WasiHost>(&self, data: &mut T, descriptor: u32) -> wasmtime::Result<()> {
        if let Some(lacks) = data.files()?.0.gone(descriptor) {
            self.step.lost(lacks);
            return std::future::pending().await;
        }
        Ok(())
    }

    /// Ends the change with its outcome.
    pub(super) async fn end<R: Serialize + DeserializeOwned>(
        self,
        result: FsResult<R>,
    ) -> wasmtime::Result<GuestResult<R>> {
        self.end_unless(result, None, None).await
    }

    /// Ends a change of a name. If an earlier run may have made it, the error `done` shows that it was made.
    pub(super) async fn end_name(self, result: FsResult<()>, done: ErrorCode) -> wasmtime::Result<GuestResult<()>> {
        self.end_unless(result, Some(done), Some(())).await
    }

    async fn end_unless<R: Serialize + DeserializeOwned>(
        self,
        result: FsResult<R>,
        done: Option<ErrorCode>,
        then: Option<R>,
    ) -> wasmtime::Result<GuestResult<R>> {
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
