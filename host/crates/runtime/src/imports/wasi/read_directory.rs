//! Links the functions that read directories.

use super::blocking::FilesystemFuture;
use super::directory_stream::DirectoryStream;
use super::files::WasiHost;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource, ResourceType};
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, DirectoryEntry, ErrorCode};

type Caller<'a, T> = StoreContextMut<'a, T>;

/// Puts a stream of ours in the place of the standard's.
pub(super) fn add_to_linker<T: WasiHost>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    let resource = ResourceType::host::<DirectoryStream>();
    types.resource("directory-entry-stream", resource, |mut store: Caller<'_, T>, number| {
        store.data_mut().filesystem().table.delete(Resource::<DirectoryStream>::new_own(number))?;
        Ok(())
    })?;
    types.func_wrap_async("[method]descriptor.read-directory", open)?;
    types.func_wrap_async("[method]directory-entry-stream.read-directory-entry", next)
}

fn open<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory,): (Resource<Descriptor>,),
) -> FilesystemFuture<'_, Resource<DirectoryStream>> {
    Box::new(async move {
        let data = store.data_mut();
        let directory = match data.filesystem().table.get(&directory)? {
            Descriptor::Dir(directory) => directory.dir.clone(),
            Descriptor::File(_) => return Ok((Err(ErrorCode::NotDirectory),)),
        };
        if !data.may_open_file()? {
            return Ok((Err(ErrorCode::Quota),));
        }
        Ok((match DirectoryStream::open(directory).await {
            Ok(stream) => Ok(data.filesystem().table.push(stream)?),
            Err(code) => Err(code),
        },))
    })
}

fn next<T: WasiHost>(
    mut store: Caller<'_, T>,
    (stream,): (Resource<DirectoryStream>,),
) -> FilesystemFuture<'_, Option<DirectoryEntry>> {
    Box::new(async move { Ok((store.data_mut().filesystem().table.get_mut(&stream)?.next().await,)) })
}
