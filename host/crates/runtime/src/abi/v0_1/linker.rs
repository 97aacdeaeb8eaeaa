//! Links every import that a guest of this version may use.

use super::super::guest::Guest;
use super::{
    agent_tools, checkpoint, client, connections, events, http, log, meter, output, progress, publish, state, steering,
};
use wasmtime::Engine;
use wasmtime::component::Linker;

pub(in super::super) fn new_linker(engine: &Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    crate::imports::wasi::add_to_linker(&mut linker)?;
    http::add_to_linker(&mut linker)?;
    agent_tools::add_to_linker(&mut linker)?;
    checkpoint::add_to_linker(&mut linker)?;
    client::add_to_linker(&mut linker)?;
    connections::add_to_linker(&mut linker)?;
    events::add_to_linker(&mut linker)?;
    log::add_to_linker(&mut linker)?;
    meter::add_to_linker(&mut linker)?;
    output::add_to_linker(&mut linker)?;
    progress::add_to_linker(&mut linker)?;
    publish::add_to_linker(&mut linker)?;
    state::add_to_linker(&mut linker)?;
    steering::add_to_linker(&mut linker)?;
    Ok(linker)
}
