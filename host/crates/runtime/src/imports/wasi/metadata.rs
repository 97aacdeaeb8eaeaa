//! The functions of `wasi:filesystem` that look at files and change nothing. They work like the standard functions, but what
//! they find is recorded, because it may have changed by the time the call is replayed.

use super::super::price;
use super::super::streams::{JournaledInput, wrap_input};
use super::blocking::FilesystemFuture;
use super::file_step::ask;
use super::files::WasiHost;
use super::outcome::to_guest;
use super::paid::{paid, paid_now};
use super::path_refusal;
use super::recorded::{Flags, Kind, MetadataHash, Piece, Stat};
use crate::engine::charge;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::DynInputStream;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, HostDescriptor, MetadataHashValue,
    PathFlags,
};

type Caller<'a, T> = StoreContextMut<'a, T>;
type File = Resource<Descriptor>;
type At = (File, PathFlags, String);

pub(super) fn add_to_linker<T: WasiHost>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.func_wrap_async("[method]descriptor.read", paid(price::FILE, read))?;
    types.func_wrap("[method]descriptor.read-via-stream", paid_now(price::CALL, read_via_stream))?;
    types.func_wrap_async("[method]descriptor.stat", paid(price::FILE, stat))?;
    types.func_wrap_async("[method]descriptor.stat-at", paid(price::FILE, stat_at))?;
    types.func_wrap_async("[method]descriptor.readlink-at", paid(price::FILE, readlink_at))?;
    types.func_wrap_async("[method]descriptor.metadata-hash", paid(price::FILE, metadata_hash))?;
    types.func_wrap_async("[method]descriptor.metadata-hash-at", paid(price::FILE, metadata_hash_at))?;
    types.func_wrap_async("[method]descriptor.get-flags", paid(price::FILE, get_flags))?;
    types.func_wrap_async("[method]descriptor.get-type", paid(price::FILE, get_type))?;
    types.func_wrap_async("[method]descriptor.is-same-object", paid(price::FILE, is_same_object))?;
    types.func_wrap_async("[method]descriptor.advise", paid(price::FILE, advise))?;
    types.func_wrap_async("[method]descriptor.sync", paid(price::FILE, sync))?;
    types.func_wrap_async("[method]descriptor.sync-data", paid(price::FILE, sync_data))
}

pub(super) fn read<T: WasiHost>(
    mut store: Caller<'_, T>,
    (file, length, at): (File, u64, u64),
) -> FilesystemFuture<'_, (Vec<u8>, bool)> {
    Box::new(async move {
        let data = store.data_mut();
        let step = data.begin_file_step("filesystem.read", file.rep(), &(length, at))?;
        let read = ask::<Piece, _>(step, data.filesystem().read(file, length, at)).await?;
        if let (Ok((bytes, _)),) = &read {
            charge(&mut store, bytes.len() as u64 / price::COPIED)?;
        }
        Ok(read)
    })
}

type Streamed = (Result<Resource<DynInputStream>, ErrorCode>,);

pub(super) fn read_via_stream<T: WasiHost>(
    mut store: Caller<'_, T>,
    (file, at): (File, u64),
) -> wasmtime::Result<Streamed> {
    let data = store.data_mut();
    let (files, _) = data.files()?;
    let (journal, gone) = (files.journal().clone(), files.gone(file.rep()));
    let stream = to_guest(data.filesystem().read_via_stream(file, at))?;
    if let (true, Ok(stream)) = (journal.is_on(), &stream) {
        wrap_input(data.ctx().table, stream, |inner| JournaledInput::of_file(inner, journal, gone))?;
    }
    Ok((stream,))
}

pub(super) fn stat<T: WasiHost>(mut store: Caller<'_, T>, (file,): (File,)) -> FilesystemFuture<'_, DescriptorStat> {
    Box::new(async move {
        let data = store.data_mut();
        let step = data.begin_file_step("filesystem.stat", file.rep(), &())?;
        ask::<Stat, _>(step, data.filesystem().stat(file)).await
    })
}

pub(super) fn stat_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, flags, path): At,
) -> FilesystemFuture<'_, DescriptorStat> {
    Box::new(async move {
        let data = store.data_mut();
        if path != "."
            && let Some(refused) = path_refusal::refuse_look(data, directory.rep(), &path)
        {
            return Ok((Err(refused),));
        }
        let arguments = (follows(flags), &path);
        let step = data.begin_file_step("filesystem.stat-at", directory.rep(), &arguments)?;
        ask::<Stat, _>(step, data.filesystem().stat_at(directory, flags, path)).await
    })
}

pub(super) fn readlink_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, path): (File, String),
) -> FilesystemFuture<'_, String> {
    Box::new(async move {
        let data = store.data_mut();
        let step = data.begin_file_step("filesystem.readlink-at", directory.rep(), &path)?;
        ask::<String, _>(step, data.filesystem().readlink_at(directory, path)).await
    })
}

fn metadata_hash<T: WasiHost>(mut store: Caller<'_, T>, (file,): (File,)) -> FilesystemFuture<'_, MetadataHashValue> {
    Box::new(async move {
        let data = store.data_mut();
        let step = data.begin_file_step("filesystem.metadata-hash", file.rep(), &())?;
        ask::<MetadataHash, _>(step, data.filesystem().metadata_hash(file)).await
    })
}

fn metadata_hash_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, flags, path): At,
) -> FilesystemFuture<'_, MetadataHashValue> {
    Box::new(async move {
        let data = store.data_mut();
        if path != "."
            && let Some(refused) = path_refusal::refuse_look(data, directory.rep(), &path)
        {
            return Ok((Err(refused),));
        }
        let arguments = (follows(flags), &path);
        let step = data.begin_file_step("filesystem.metadata-hash-at", directory.rep(), &arguments)?;
        ask::<MetadataHash, _>(step, data.filesystem().metadata_hash_at(directory, flags, path)).await
    })
}

fn get_flags<T: WasiHost>(mut store: Caller<'_, T>, (file,): (File,)) -> FilesystemFuture<'_, DescriptorFlags> {
    Box::new(async move {
        let data = store.data_mut();
        let step = data.begin_file_step("filesystem.get-flags", file.rep(), &())?;
        ask::<Flags, _>(step, data.filesystem().get_flags(file)).await
    })
}

fn get_type<T: WasiHost>(mut store: Caller<'_, T>, (file,): (File,)) -> FilesystemFuture<'_, DescriptorType> {
    Box::new(async move {
        let data = store.data_mut();
        let step = data.begin_file_step("filesystem.get-type", file.rep(), &())?;
        ask::<Kind, _>(step, data.filesystem().get_type(file)).await
    })
}

type Same<'a> = Box<dyn Future<Output = wasmtime::Result<(bool,)>> + Send + 'a>;

fn is_same_object<T: WasiHost>(mut store: Caller<'_, T>, (one, other): (File, File)) -> Same<'_> {
    Box::new(async move {
        let data = store.data_mut();
        let step = data.begin_file_step("filesystem.is-same-object", one.rep(), &())?;
        if let Some(lacks) = data.files()?.0.gone(other.rep())
            && !step.is_recorded()
        {
            step.lost(lacks);
        }
        Ok((step.try_ask(data.filesystem().is_same_object(one, other)).await?,))
    })
}

/// The result shows the guest only whether the descriptor is a file.
fn advise<T: WasiHost>(
    mut store: Caller<'_, T>,
    (file, at, length, advice): (File, u64, u64, Advice),
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let step = data.begin_file_step("filesystem.advise", file.rep(), &(at, length))?;
        ask::<(), _>(step, data.filesystem().advise(file, at, length, advice)).await
    })
}

fn sync<T: WasiHost>(mut store: Caller<'_, T>, (file,): (File,)) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        // A guest without a directory must not be able to make the disk write.
        if path_refusal::has_root(data, file.rep()) {
            return Ok((Ok(()),));
        }
        let step = data.begin_file_step("filesystem.sync", file.rep(), &())?;
        ask::<(), _>(step, data.filesystem().sync(file)).await
    })
}

fn sync_data<T: WasiHost>(mut store: Caller<'_, T>, (file,): (File,)) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        // A guest without a directory must not be able to make the disk write.
        if path_refusal::has_root(data, file.rep()) {
            return Ok((Ok(()),));
        }
        let step = data.begin_file_step("filesystem.sync-data", file.rep(), &())?;
        ask::<(), _>(step, data.filesystem().sync_data(file)).await
    })
}

pub(super) fn follows(flags: PathFlags) -> bool {
    flags.contains(PathFlags::SYMLINK_FOLLOW)
}
