//! Functions of `wasi:filesystem` that remove something or set its times. They need no quota, but others would see what
//! they change.

use super::super::price;
use super::blocking::FilesystemFuture;
use super::file_step::{ChangeStart, FileChange};
use super::files::WasiHost;
use super::metadata::follows;
use super::paid::paid;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, ErrorCode, HostDescriptor, NewTimestamp, PathFlags};

pub(super) fn add_to_linker<T: WasiHost>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.func_wrap_async("[method]descriptor.unlink-file-at", paid(price::FILE, unlink_file_at))?;
    types.func_wrap_async("[method]descriptor.remove-directory-at", paid(price::FILE, remove_directory_at))?;
    types.func_wrap_async("[method]descriptor.set-times", paid(price::FILE, set_times))?;
    types.func_wrap_async("[method]descriptor.set-times-at", paid(price::FILE, set_times_at))
}

type Caller<'a, T> = StoreContextMut<'a, T>;
type Place = (Resource<Descriptor>, String);

pub(super) fn unlink_file_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, path): Place,
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let (data, of) = (store.data_mut(), directory.rep());
        let change = match FileChange::begin_name(data, "filesystem.unlink-file-at", of, &path, (&path, true)).await? {
            ChangeStart::Now(change) => change,
            ChangeStart::Done(result) => return Ok((result,)),
        };
        change.end_name(data.filesystem().unlink_file_at(directory, path).await, ErrorCode::NoEntry).await
    })
}

pub(super) fn remove_directory_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, path): Place,
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let (data, of) = (store.data_mut(), directory.rep());
        let change =
            match FileChange::begin_name(data, "filesystem.remove-directory-at", of, &path, (&path, true)).await? {
                ChangeStart::Now(change) => change,
                ChangeStart::Done(result) => return Ok((result,)),
            };
        change.end_name(data.filesystem().remove_directory_at(directory, path).await, ErrorCode::NoEntry).await
    })
}

type SetTimes = (Resource<Descriptor>, NewTimestamp, NewTimestamp);

pub(super) fn set_times<T: WasiHost>(
    mut store: Caller<'_, T>,
    (file, accessed, modified): SetTimes,
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let (data, of) = (store.data_mut(), file.rep());
        let arguments = (time(&accessed), time(&modified));
        let change = match FileChange::begin(data, "filesystem.set-times", of, &arguments).await? {
            ChangeStart::Now(change) => change,
            ChangeStart::Done(result) => return Ok((result,)),
        };
        change.end(data.filesystem().set_times(file, accessed, modified).await).await
    })
}

type SetTimesAt = (Resource<Descriptor>, PathFlags, String, NewTimestamp, NewTimestamp);

pub(super) fn set_times_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, flags, path, accessed, modified): SetTimesAt,
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let (data, of) = (store.data_mut(), directory.rep());
        let arguments = (follows(flags), &path, time(&accessed), time(&modified));
        let change = match FileChange::begin(data, "filesystem.set-times-at", of, &arguments).await? {
            ChangeStart::Now(change) => change,
            ChangeStart::Done(result) => return Ok((result,)),
        };
        change.end(data.filesystem().set_times_at(directory, flags, path, accessed, modified).await).await
    })
}

/// A new timestamp as an argument of a step.
fn time(time: &NewTimestamp) -> (bool, Option<(u64, u32)>) {
    match time {
        NewTimestamp::NoChange => (false, None),
        NewTimestamp::Now => (true, None),
        NewTimestamp::Timestamp(at) => (true, Some((at.seconds, at.nanoseconds))),
    }
}
