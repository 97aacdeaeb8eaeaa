//! Functions of `wasi:filesystem` that add names or bytes, within a quota.

use super::super::price;
use super::super::streams::Data;
use super::blocking::{FilesystemFuture, blocking};
use super::disk_quota::{ENTRY_SIZE, QuotaUse};
use super::file_step::{ChangeStart, FileChange};
use super::files::WasiHost;
use super::metadata::follows;
use super::paid::paid;
use super::path_refusal;
use super::quota_stream::QuotaStream;
use crate::engine::charge;
use crate::journal::Repeat;
use policy::Access;
use std::fs::File;
use std::sync::Arc;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::DynOutputStream;
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, ErrorCode, HostDescriptor, PathFlags};

type Caller<'a, T> = StoreContextMut<'a, T>;

pub(super) fn add_to_linker<T: WasiHost>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.func_wrap_async("[method]descriptor.create-directory-at", paid(price::FILE, create_directory_at))?;
    types.func_wrap_async("[method]descriptor.symlink-at", paid(price::FILE, symlink_at))?;
    types.func_wrap_async("[method]descriptor.link-at", paid(price::FILE, link_at))?;
    types.func_wrap_async("[method]descriptor.rename-at", paid(price::FILE, rename_at))?;
    types.func_wrap_async("[method]descriptor.set-size", paid(price::FILE, set_size))?;
    types.func_wrap_async("[method]descriptor.write", paid(price::FILE, write))?;
    types.func_wrap(
        "[method]descriptor.write-via-stream",
        |mut store: Caller<'_, T>, (file, at): (Resource<_>, u64)| {
            charge(&mut store, price::CALL)?;
            stream(store, &file, Some(at))
        },
    )?;
    types.func_wrap("[method]descriptor.append-via-stream", |mut store: Caller<'_, T>, (file,): (Resource<_>,)| {
        charge(&mut store, price::CALL)?;
        stream(store, &file, None)
    })
}

pub(super) fn create_directory_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, path): (Resource<Descriptor>, String),
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let (data, of) = (store.data_mut(), directory.rep());
        let mut change =
            match FileChange::begin_name(data, "filesystem.create-directory-at", of, &path, (&path, false)).await? {
                ChangeStart::Now(change) => change,
                ChangeStart::Done(result) => return Ok((result,)),
            };
        let made = match change.adds_entry(data, of)? {
            Ok(()) => data.filesystem().create_directory_at(directory, path).await,
            Err(refused) => Err(refused.into()),
        };
        change.end_name(made, ErrorCode::Exist).await
    })
}

pub(super) fn symlink_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, target, path): (Resource<Descriptor>, String, String),
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let (data, of) = (store.data_mut(), directory.rep());
        let arguments = (&target, &path);
        let mut change =
            match FileChange::begin_name(data, "filesystem.symlink-at", of, &arguments, (&path, false)).await? {
                ChangeStart::Now(change) => change,
                ChangeStart::Done(result) => return Ok((result,)),
            };
        let made = match change.adds_entry(data, of)? {
            Ok(()) => data.filesystem().symlink_at(directory, target, path).await,
            Err(refused) => Err(refused.into()),
        };
        change.end_name(made, ErrorCode::Exist).await
    })
}

type LinkAt = (Resource<Descriptor>, PathFlags, String, Resource<Descriptor>, String);

pub(super) fn link_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (from, flags, old, to, new): LinkAt,
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let (data, of) = (store.data_mut(), to.rep());
        if let Some(refused) = path_refusal::refuse(data, from.rep(), &old, Access::Read) {
            return Ok((Err(refused),));
        }
        let arguments = (follows(flags), &old, &new);
        let mut change = match FileChange::begin_name(data, "filesystem.link-at", of, &arguments, (&new, false)).await?
        {
            ChangeStart::Now(change) => change,
            ChangeStart::Done(result) => return Ok((result,)),
        };
        change.needs(data, from.rep()).await?;
        let (files, _) = data.files()?;
        // Whoever adds a name may then remove the old one.
        let moving = files.start_moving(from.rep(), of);
        let made = match moving.and_then(|moving| files.add_entry(of).map(|()| moving)) {
            Err(refused) => Err(refused.into()),
            Ok(_moving) => {
                change.grew = ENTRY_SIZE;
                data.filesystem().link_at(from, flags, old, to, new).await
            }
        };
        change.end_name(made, ErrorCode::Exist).await
    })
}

type RenameAt = (Resource<Descriptor>, String, Resource<Descriptor>, String);

pub(super) fn rename_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (from, old, to, new): RenameAt,
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let (data, of) = (store.data_mut(), from.rep());
        if let Some(refused) = path_refusal::refuse(data, to.rep(), &new, Access::Write) {
            return Ok((Err(refused),));
        }
        let mut change =
            match FileChange::begin_name(data, "filesystem.rename-at", of, &(&old, &new), (&old, true)).await? {
                ChangeStart::Now(change) => change,
                ChangeStart::Done(result) => return Ok((result,)),
            };
        change.needs(data, to.rep()).await?;
        let renamed = match data.files()?.0.start_moving(of, to.rep()) {
            Err(refused) => Err(refused.into()),
            Ok(_moving) => data.filesystem().rename_at(from, old.clone(), to, new).await,
        };
        if change.twice && renamed.is_err() {
            // What is missing may be the directory of the new name.
            let left = data.filesystem().stat_at(Resource::new_borrow(of), PathFlags::empty(), old).await;
            change.twice = left.is_err();
        }
        change.end_name(renamed, ErrorCode::NoEntry).await
    })
}

pub(super) fn set_size<T: WasiHost>(
    mut store: Caller<'_, T>,
    (file, size): (Resource<Descriptor>, u64),
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let (data, of) = (store.data_mut(), file.rep());
        let (file, quota) = match writable(data, &file)? {
            Ok(found) => found,
            Err(code) => return Ok((Err(code),)),
        };
        let step = data.begin_file_step("filesystem.set-size", of, &size)?;
        let mut change = match FileChange::begin_step(data, step, None, of, Repeat::Safe).await? {
            ChangeStart::Now(change) => change,
            ChangeStart::Done(result) => return Ok((result,)),
        };
        let grew = blocking(move || quota.resize(&file, size)).await;
        change.grew = grew.unwrap_or_default();
        change.end(grew.map(|_| ()).map_err(Into::into)).await
    })
}

pub(super) fn write<T: WasiHost>(
    mut store: Caller<'_, T>,
    (file, bytes, at): (Resource<Descriptor>, Vec<u8>, u64),
) -> FilesystemFuture<'_, u64> {
    Box::new(async move {
        charge(&mut store, bytes.len() as u64 / price::COPIED)?;
        let (data, of, length) = (store.data_mut(), file.rep(), bytes.len() as u64);
        let (file, quota) = match writable(data, &file)? {
            Ok(found) => found,
            Err(code) => return Ok((Err(code),)),
        };
        let arguments = (at, Data(bytes));
        let step = data.begin_file_step("filesystem.write", of, &arguments)?;
        let mut change = match FileChange::begin_step(data, step, None, of, Repeat::Safe).await? {
            ChangeStart::Now(change) => change,
            ChangeStart::Done(result) => return Ok((result,)),
        };
        let (_, Data(bytes)) = arguments;
        let grew = blocking(move || quota.write(&file, Some(at), &bytes)).await;
        change.grew = grew.unwrap_or_default();
        change.end(grew.map(|_| length).map_err(Into::into)).await
    })
}

type Streamed = (Result<Resource<DynOutputStream>, ErrorCode>,);

pub(super) fn stream<T: WasiHost>(
    mut store: Caller<'_, T>,
    descriptor: &Resource<Descriptor>,
    at: Option<u64>,
) -> wasmtime::Result<Streamed> {
    let data = store.data_mut();
    let (file, quota) = match writable(data, descriptor)? {
        Ok(found) => found,
        Err(code) => return Ok((Err(code),)),
    };
    let (files, _) = data.files()?;
    let gone = files.gone(descriptor.rep());
    let in_own = files.is_in_own(descriptor.rep());
    let (scope, journal) = (files.scope().clone(), files.journal().clone());
    let stream: DynOutputStream = Box::new(QuotaStream::new(file, &quota, scope, at, in_own, journal, gone));
    Ok((Ok(data.filesystem().table.push(stream)?),))
}

type Writable = Result<(Arc<File>, Arc<QuotaUse>), ErrorCode>;

/// A writable file and the quota that its growth counts against.
fn writable<T: WasiHost>(data: &mut T, descriptor: &Resource<Descriptor>) -> wasmtime::Result<Writable> {
    let file = match data.filesystem().table.get(descriptor)? {
        Descriptor::Dir(_) => return Ok(Err(ErrorCode::BadDescriptor)),
        Descriptor::File(file) if file.perms.write_not_permitted() => return Ok(Err(ErrorCode::NotPermitted)),
        Descriptor::File(file) => file.file.clone(),
    };
    let (files, _) = data.files()?;
    Ok(files.may_change().map(|()| (file, files.quota_of(descriptor.rep()))))
}
