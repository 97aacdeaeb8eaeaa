//! `wasi:filesystem` with what the standard implementation lacks: refused paths are recorded, files grow only within a quota,
//! only a limited number can be open, calls that have seen private results change nothing, and what a call learns and does is
//! in its journal.

use super::super::price;
use super::files::WasiHost;
use super::paid::{paid, paid_now};
use super::{
    changes, config_store, environment, input_streams, metadata, open_at, outside, program_streams, read_directory,
    removals, ungranted_root,
};
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::bindings::filesystem::types::Descriptor;

/// Links WASI 0.2, with our functions in place of the standard's.
pub fn add_to_linker<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    linker
        .instance("wasi:filesystem/preopens@0.2.12")?
        .func_wrap("get-directories", paid_now(price::CALL, directories))?;
    let mut types = linker.instance("wasi:filesystem/types@0.2.12")?;
    types.func_wrap_async("[method]descriptor.open-at", paid(price::FILE, open_at::open_at))?;
    changes::add_to_linker(&mut types)?;
    read_directory::add_to_linker(&mut types)?;
    removals::add_to_linker(&mut types)?;
    metadata::add_to_linker(&mut types)?;
    outside::add_to_linker(linker)?;
    program_streams::add_to_linker(linker)?;
    input_streams::add_to_linker(linker)?;
    environment::add_to_linker(linker)?;
    linker.allow_shadowing(false);
    config_store::add_to_linker(linker)?;
    Ok(())
}

type Directories = (Vec<(Resource<Descriptor>, String)>,);

pub(super) fn directories<T: WasiHost>(mut store: StoreContextMut<'_, T>, (): ()) -> wasmtime::Result<Directories> {
    let data = store.data_mut();
    let mut found = Vec::new();
    // Before its call begins, an instance has no directories; for a plugin with directories, the instance is made within the
    // call.
    let (mounts, own) = match data.files() {
        Ok((files, own)) => (files.mounts()?, own),
        Err(_) => (Vec::new(), None),
    };
    let has_root = !data.requests_files() || mounts.iter().any(|(_, path)| path == ungranted_root::PATH);
    for (directory, path) in mounts {
        let descriptor = data.filesystem().table.push(Descriptor::Dir(directory))?;
        data.files()?.0.track(descriptor.rep(), own.as_ref() == Some(&path));
        found.push((descriptor, path));
    }
    if let Some(root) = ungranted_root::directory().filter(|_| !has_root) {
        let descriptor = data.filesystem().table.push(Descriptor::Dir(root))?;
        found.push((descriptor, ungranted_root::PATH.to_owned()));
    }
    Ok((found,))
}
