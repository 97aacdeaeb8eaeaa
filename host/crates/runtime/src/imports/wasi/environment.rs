//! `wasi:cli/environment` as in the standard implementation, but the host notes that the guest asked for it.

use super::super::price;
use super::files::WasiHost;
use crate::engine::charge;
use wasmtime::StoreContextMut;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::WasiCliView as _;
use wasmtime_wasi::p2::bindings::cli::environment::Host as _;

pub(super) type Variables = Vec<(String, String)>;

/// Replaces the function; shadowing must be allowed.
pub(super) fn add_to_linker<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    linker
        .instance("wasi:cli/environment@0.2.12")?
        .func_wrap("get-environment", |mut store: StoreContextMut<'_, T>, (): ()| Ok((variables(&mut store)?,)))
}

/// The granted variables, for a guest that asks for them and pays for the copy.
pub(super) fn variables<T: WasiHost>(store: &mut StoreContextMut<'_, T>) -> wasmtime::Result<Variables> {
    let data = store.data_mut();
    data.note_environment();
    let variables = data.cli().get_environment()?;
    let bytes: usize = variables.iter().map(|(name, value)| name.len() + value.len()).sum();
    charge(store, price::CALL + bytes as u64 * price::BYTE)?;
    Ok(variables)
}
