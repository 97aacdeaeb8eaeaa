//! `wasi:filesystem` with what the standard implementation lacks: refused paths are recorded, files grow only within a
//! quota, only so many are open, and calls that have seen private results change nothing. Only functions that open or
//! change something are replaced; those that remove something or set its times are in `removals`.

use super::blocking::{FilesystemFuture, blocking};
use super::disk_quota::QuotaUse;
use super::files::{RefusedPath, WasiHost};
use super::outcome::{finish, finish_with, to_guest};
use super::quota_stream::QuotaStream;
use super::{metadata, outside, read_directory, removals};
use policy::Access;
use std::sync::Arc;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::DynOutputStream;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};

type Caller<'a, T> = StoreContextMut<'a, T>;

/// Links WASI 0.2, with the functions below in place of the standard's.
pub fn add_to_linker<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    linker.instance("wasi:filesystem/preopens@0.2.12")?.func_wrap("get-directories", directories)?;
    let mut types = linker.instance("wasi:filesystem/types@0.2.12")?;
    types.func_wrap_async("[method]descriptor.open-at", open_at)?;
    types.func_wrap_async("[method]descriptor.create-directory-at", create_directory_at)?;
    types.func_wrap_async("[method]descriptor.symlink-at", symlink_at)?;
    types.func_wrap_async("[method]descriptor.link-at", link_at)?;
    types.func_wrap_async("[method]descriptor.rename-at", rename_at)?;
    types.func_wrap_async("[method]descriptor.set-size", set_size)?;
    types.func_wrap_async("[method]descriptor.write", write)?;
    types
        .func_wrap("[method]descriptor.write-via-stream", |store: Caller<'_, T>, (file, at): (Resource<_>, u64)| {
            stream(store, &file, Some(at))
        })?;
    types.func_wrap("[method]descriptor.append-via-stream", |store: Caller<'_, T>, (file,): (Resource<_>,)| {
        stream(store, &file, None)
    })?;
    read_directory::add_to_linker(&mut types)?;
    removals::add_to_linker(&mut types)?;
    metadata::add_to_linker(&mut types)?;
    outside::add_to_linker(linker)?;
    linker.allow_shadowing(false);
    Ok(())
}

type Directories = (Vec<(Resource<Descriptor>, String)>,);

fn directories<T: WasiHost>(mut store: Caller<'_, T>, (): ()) -> wasmtime::Result<Directories> {
    let data = store.data_mut();
    // Before its call begins, an instance has no directories; that of a plugin with directories is made in its call.
    let Ok((files, own)) = data.files() else { return Ok((Vec::new(),)) };
    let mounts = files.mounts()?;
    let mut found = Vec::new();
    for (directory, path) in mounts {
        let descriptor = data.filesystem().table.push(Descriptor::Dir(directory))?;
        data.files()?.0.track(descriptor.rep(), own.as_ref() == Some(&path));
        found.push((descriptor, path));
    }
    Ok((found,))
}

type OpenAt = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);

fn open_at<'a, T: WasiHost>(
    mut store: Caller<'a, T>,
    (directory, path_flags, path, open_flags, flags): OpenAt,
) -> FilesystemFuture<'a, Resource<Descriptor>> {
    Box::new(async move {
        let data = store.data_mut();
        let span = data.start_span("filesystem.open-at")?;
        let writes = flags.intersects(DescriptorFlags::WRITE | DescriptorFlags::MUTATE_DIRECTORY)
            || open_flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE);
        let parent = directory.rep();
        if writes && let Err(denied) = data.files()?.0.may_change() {
            return finish_with(span, Err(denied.into()));
        }
        if !data.may_open_file()? {
            return finish_with(span, Err(ErrorCode::Quota.into()));
        }
        // From here on the call may hold a file that another one removes.
        let quota = data.files()?.0.quota_of(parent);
        let again = Resource::<Descriptor>::new_borrow(parent);
        match data.filesystem().stat_at(again, path_flags, path.clone()).await {
            Ok(found) if waits_when_opened(found.type_) => {
                return finish_with(span, Err(ErrorCode::Unsupported.into()));
            }
            Ok(_) => {}
            Err(_) if open_flags.contains(OpenFlags::CREATE) => {
                if let Err(full) = quota.add_entry() {
                    return finish_with(span, Err(full.into()));
                }
            }
            Err(_) => {}
        }
        let opened = data.filesystem().open_at(directory, path_flags, path.clone(), open_flags, flags).await;
        let opened = to_guest(opened)?;
        match &opened {
            Ok(descriptor) => {
                let (files, _) = data.files()?;
                let in_own = files.is_in_own(parent);
                files.track(descriptor.rep(), in_own);
            }
            Err(ErrorCode::NotPermitted | ErrorCode::ReadOnly) => {
                let access = if writes { Access::Write } else { Access::Read };
                data.record_refused_path(RefusedPath { path, access });
            }
            Err(_) => {}
        }
        finish(span, &opened);
        Ok((opened,))
    })
}

/// Opening a FIFO waits for its other end, and some devices wait too. Nothing could end that wait, which takes a thread.
/// wasmtime-wasi says `unknown` of a FIFO.
fn waits_when_opened(kind: DescriptorType) -> bool {
    match kind {
        DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink => false,
        DescriptorType::Fifo
        | DescriptorType::CharacterDevice
        | DescriptorType::BlockDevice
        | DescriptorType::Socket
        | DescriptorType::Unknown => true,
    }
}

fn create_directory_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, path): (Resource<Descriptor>, String),
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let span = data.start_span("filesystem.create-directory-at")?;
        match data.files()?.0.add_entry(directory.rep()) {
            Err(refused) => finish_with(span, Err(refused.into())),
            Ok(()) => finish_with(span, data.filesystem().create_directory_at(directory, path).await),
        }
    })
}

fn symlink_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, target, path): (Resource<Descriptor>, String, String),
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let span = data.start_span("filesystem.symlink-at")?;
        match data.files()?.0.add_entry(directory.rep()) {
            Err(refused) => finish_with(span, Err(refused.into())),
            Ok(()) => finish_with(span, data.filesystem().symlink_at(directory, target, path).await),
        }
    })
}

type LinkAt = (Resource<Descriptor>, PathFlags, String, Resource<Descriptor>, String);

fn link_at<T: WasiHost>(mut store: Caller<'_, T>, (from, flags, old, to, new): LinkAt) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let span = data.start_span("filesystem.link-at")?;
        let (files, _) = data.files()?;
        // Whoever adds a name may then remove the old one.
        let moving = files.start_moving(from.rep(), to.rep());
        match moving.and_then(|moving| files.add_entry(to.rep()).map(|()| moving)) {
            Err(refused) => finish_with(span, Err(refused.into())),
            Ok(_moving) => finish_with(span, data.filesystem().link_at(from, flags, old, to, new).await),
        }
    })
}

type RenameAt = (Resource<Descriptor>, String, Resource<Descriptor>, String);

fn rename_at<T: WasiHost>(mut store: Caller<'_, T>, (from, old, to, new): RenameAt) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let span = data.start_span("filesystem.rename-at")?;
        match data.files()?.0.start_moving(from.rep(), to.rep()) {
            Err(refused) => finish_with(span, Err(refused.into())),
            Ok(_moving) => finish_with(span, data.filesystem().rename_at(from, old, to, new).await),
        }
    })
}

fn set_size<T: WasiHost>(
    mut store: Caller<'_, T>,
    (file, size): (Resource<Descriptor>, u64),
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let (file, quota) = match writable(store.data_mut(), &file)? {
            Ok(found) => found,
            Err(code) => return Ok((Err(code),)),
        };
        Ok((blocking(move || quota.resize(&file, size)).await,))
    })
}

fn write<T: WasiHost>(
    mut store: Caller<'_, T>,
    (file, bytes, at): (Resource<Descriptor>, Vec<u8>, u64),
) -> FilesystemFuture<'_, u64> {
    Box::new(async move {
        let (file, quota) = match writable(store.data_mut(), &file)? {
            Ok(found) => found,
            Err(code) => return Ok((Err(code),)),
        };
        Ok((blocking(move || quota.write(&file, Some(at), &bytes).map(|()| bytes.len() as u64)).await,))
    })
}

type Streamed = (Result<Resource<DynOutputStream>, ErrorCode>,);

fn stream<T: WasiHost>(
    mut store: Caller<'_, T>,
    file: &Resource<Descriptor>,
    at: Option<u64>,
) -> wasmtime::Result<Streamed> {
    let (file, quota) = match writable(store.data_mut(), file)? {
        Ok(found) => found,
        Err(code) => return Ok((Err(code),)),
    };
    let scope = store.data_mut().files()?.0.scope().clone();
    let stream: DynOutputStream = Box::new(QuotaStream::new(file, &quota, scope, at));
    Ok((Ok(store.data_mut().filesystem().table.push(stream)?),))
}

type Writable = Result<(Arc<std::fs::File>, Arc<QuotaUse>), ErrorCode>;

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
