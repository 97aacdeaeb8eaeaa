//! Functions of `wasi:filesystem` that remove something or set its times. They need no quota, but others would see what
//! they change.

use super::blocking::FilesystemFuture;
use super::files::WasiHost;
use super::outcome::finish_with;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, HostDescriptor, NewTimestamp, PathFlags};

pub(super) fn add_to_linker<T: WasiHost>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.func_wrap_async("[method]descriptor.unlink-file-at", unlink_file_at)?;
    types.func_wrap_async("[method]descriptor.remove-directory-at", remove_directory_at)?;
    types.func_wrap_async("[method]descriptor.set-times", set_times)?;
    types.func_wrap_async("[method]descriptor.set-times-at", set_times_at)
}

type Caller<'a, T> = StoreContextMut<'a, T>;
type Place = (Resource<Descriptor>, String);

fn unlink_file_at<T: WasiHost>(mut store: Caller<'_, T>, (directory, path): Place) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let span = data.start_span("filesystem.unlink-file-at")?;
        match data.files()?.0.may_change() {
            Err(denied) => finish_with(span, Err(denied.into())),
            Ok(()) => finish_with(span, data.filesystem().unlink_file_at(directory, path).await),
        }
    })
}

fn remove_directory_at<T: WasiHost>(mut store: Caller<'_, T>, (directory, path): Place) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let span = data.start_span("filesystem.remove-directory-at")?;
        match data.files()?.0.may_change() {
            Err(denied) => finish_with(span, Err(denied.into())),
            Ok(()) => finish_with(span, data.filesystem().remove_directory_at(directory, path).await),
        }
    })
}

type SetTimes = (Resource<Descriptor>, NewTimestamp, NewTimestamp);

fn set_times<T: WasiHost>(mut store: Caller<'_, T>, (file, accessed, modified): SetTimes) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let span = data.start_span("filesystem.set-times")?;
        match data.files()?.0.may_change() {
            Err(denied) => finish_with(span, Err(denied.into())),
            Ok(()) => finish_with(span, data.filesystem().set_times(file, accessed, modified).await),
        }
    })
}

type SetTimesAt = (Resource<Descriptor>, PathFlags, String, NewTimestamp, NewTimestamp);

fn set_times_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, flags, path, accessed, modified): SetTimesAt,
) -> FilesystemFuture<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let span = data.start_span("filesystem.set-times-at")?;
        match data.files()?.0.may_change() {
            Err(denied) => finish_with(span, Err(denied.into())),
            Ok(()) => {
                let set = data.filesystem().set_times_at(directory, flags, path, accessed, modified).await;
                finish_with(span, set)
            }
        }
    })
}
