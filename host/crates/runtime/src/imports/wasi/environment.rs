//! `wasi:cli/environment` as the standard implementation has it; that it was asked is noted.

use super::files::WasiHost;
use wasmtime::StoreContextMut;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::WasiCliView as _;
use wasmtime_wasi::p2::bindings::cli::environment::Host as _;

pub(super) type Variables = Vec<(String, String)>;

/// Replaces the function; shadowing must be allowed.
pub(super) fn add_to_linker<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    linker
        .instance("wasi:cli/environment@0.2.12")?
        .func_wrap("get-environment", |mut store: StoreContextMut<'_, T>, (): ()| Ok((variables(store.data_mut())?,)))
}

/// The granted variables, for a guest that asks for them.
pub(super) fn variables<T: WasiHost>(data: &mut T) -> wasmtime::Result<Variables> {
    data.note_environment();
    data.cli().get_environment()
}
