//! Links the functions that read directories.

use super::super::price;
use super::blocking::FilesystemFuture;
use super::directory_stream::DirectoryStream;
use super::file_step::ask;
use super::files::WasiHost;
use super::paid::paid;
use super::path_refusal;
use super::recorded::{Code, RecordedEntry};
use policy::Access;
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource, ResourceType};
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, DirectoryEntry, ErrorCode};

type Caller<'a, T> = StoreContextMut<'a, T>;

/// Replaces the standard directory stream by our own.
pub(super) fn add_to_linker<T: WasiHost>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    let resource = ResourceType::host::<DirectoryStream>();
    types.resource("directory-entry-stream", resource, |mut store: Caller<'_, T>, number| {
        store.data_mut().filesystem().table.delete(Resource::<DirectoryStream>::new_own(number))?;
        Ok(())
    })?;
    types.func_wrap_async("[method]descriptor.read-directory", paid(price::FILE, open))?;
    types.func_wrap_async("[method]directory-entry-stream.read-directory-entry", paid(price::CALL, next))
}

pub(super) fn open<T: WasiHost>(
    mut store: Caller<'_, T>,
    (directory,): (Resource<Descriptor>,),
) -> FilesystemFuture<'_, Resource<DirectoryStream>> {
    Box::new(async move {
        let (data, of) = (store.data_mut(), directory.rep());
        if let Some(refused) = path_refusal::refuse(data, of, ".", Access::Read) {
            return Ok((Err(refused),));
        }
        let directory = match data.filesystem().table.get(&directory)? {
            Descriptor::Dir(directory) => directory.dir.clone(),
            Descriptor::File(_) => return Ok((Err(ErrorCode::NotDirectory),)),
        };
        let mut step = data.begin_file_step("filesystem.read-directory", of, &())?;
        let (replayed, gone) = (step.is_recorded(), data.files()?.0.gone(of));
        let opened = match step.recorded::<Result<(), Code>>().await {
            Some(Err(code)) => return Ok((Err(code.into()),)),
            Some(Ok(())) => {
                // The stream counts as an open file from now on, and is opened when it is needed.
                data.may_open_file()?;
                Ok(DirectoryStream::opened_before(directory, gone))
            }
            None if !data.may_open_file()? => Err(ErrorCode::Quota),
            None => DirectoryStream::open(directory).await,
        };
        if !replayed {
            step.ended(&opened.as_ref().map(|_| ()).map_err(|code| Code::from(*code))).await;
        }
        Ok((match opened {
            Ok(stream) => Ok(data.filesystem().table.push(stream)?),
            Err(code) => Err(code),
        },))
    })
}

pub(super) fn next<T: WasiHost>(
    mut store: Caller<'_, T>,
    (stream,): (Resource<DirectoryStream>,),
) -> FilesystemFuture<'_, Option<DirectoryEntry>> {
    Box::new(async move {
        let data = store.data_mut();
        let step = data.begin_step("filesystem.read-directory-entry", &());
        let stream = data.filesystem().table.get_mut(&stream)?;
        if step.is_recorded() {
            stream.passed_before();
        } else if let Some(lacks) = stream.gone() {
            step.lost(lacks);
        }
        ask::<RecordedEntry, _>(step, async { stream.next().await.map_err(Into::into) }).await
    })
}
