//! Links every import that a guest of this version may use.

use super::super::guest::Guest;
use wasmtime::Engine;
use wasmtime::component::Linker;

pub(in super::super) fn new_linker(engine: &Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    crate::imports::wasi::add_to_linker(&mut linker)?;
    super::http::add_to_linker(&mut linker)?;
    super::agent_tools::add_to_linker(&mut linker)?;
    super::checkpoint::add_to_linker(&mut linker)?;
    super::client::add_to_linker(&mut linker)?;
    super::connections::add_to_linker(&mut linker)?;
    super::events::add_to_linker(&mut linker)?;
    super::log::add_to_linker(&mut linker)?;
    super::meter::add_to_linker(&mut linker)?;
    super::output::add_to_linker(&mut linker)?;
    super::progress::add_to_linker(&mut linker)?;
    super::publish::add_to_linker(&mut linker)?;
    super::state::add_to_linker(&mut linker)?;
    super::steering::add_to_linker(&mut linker)?;
    Ok(linker)
}
