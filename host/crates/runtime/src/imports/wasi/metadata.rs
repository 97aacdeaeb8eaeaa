//! The functions of `wasi:filesystem` that look at files without opening them. They are as the standard's, and say that the
//! call cannot be replayed: what they find may have changed by then.

use super::blocking::FilesystemFuture;
use super::files::WasiHost;
use super::outcome::to_guest;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Descriptor, DescriptorStat, HostDescriptor, MetadataHashValue, PathFlags,
};

type Caller<'a, T> = StoreContextMut<'a, T>;
type At = (Resource<Descriptor>, PathFlags, String);

pub(super) fn add_to_linker<T: WasiHost>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.func_wrap_async("[method]descriptor.stat", stat)?;
    types.func_wrap_async("[method]descriptor.stat-at", stat_at)?;
    types.func_wrap_async("[method]descriptor.readlink-at", readlink_at)?;
    types.func_wrap_async("[method]descriptor.metadata-hash", metadata_hash)?;
    types.func_wrap_async("[method]descriptor.metadata-hash-at", metadata_hash_at)
}

fn stat<T: WasiHost>(
    mut store: Caller<'_, T>,
    (file,): (Resource<Descriptor>,),
) -> FilesystemFuture<'_, DescriptorStat> {
    Box::new(async move {
        let data = store.data_mut();
        data.files()?.0.looked_at();
        Ok((to_guest(data.filesystem().stat(file).await)?,))
    })
}

fn stat_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, flags, path): At,
) -> FilesystemFuture<'_, DescriptorStat> {
    Box::new(async move {
        let data = store.data_mut();
        data.files()?.0.looked_at();
        Ok((to_guest(data.filesystem().stat_at(directory, flags, path).await)?,))
    })
}

fn readlink_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, path): (Resource<Descriptor>, String),
) -> FilesystemFuture<'_, String> {
    Box::new(async move {
        let data = store.data_mut();
        data.files()?.0.looked_at();
        Ok((to_guest(data.filesystem().readlink_at(directory, path).await)?,))
    })
}

fn metadata_hash<T: WasiHost>(
    mut store: Caller<'_, T>,
    (file,): (Resource<Descriptor>,),
) -> FilesystemFuture<'_, MetadataHashValue> {
    Box::new(async move {
        let data = store.data_mut();
        data.files()?.0.looked_at();
        Ok((to_guest(data.filesystem().metadata_hash(file).await)?,))
    })
}

fn metadata_hash_at<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory, flags, path): At,
) -> FilesystemFuture<'_, MetadataHashValue> {
    Box::new(async move {
        let data = store.data_mut();
        data.files()?.0.looked_at();
        Ok((to_guest(data.filesystem().metadata_hash_at(directory, flags, path).await)?,))
    })
}
