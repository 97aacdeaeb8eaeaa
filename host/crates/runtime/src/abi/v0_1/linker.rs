//! Links every import that a guest of this version may use.

use super::super::guest::Guest;
use super::component::LinkedComponent;
use super::{
    agent_tools, checkpoint, client, connections, events, http, log, meter, output, progress, publish, state, steering,
};
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

/// The imports of this version, linked once per engine.
pub struct GuestLinker {
    linker: Linker<Guest>,
}

impl GuestLinker {
    pub fn new(engine: &Engine) -> wasmtime::Result<Self> {
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
        Ok(Self { linker })
    }

    /// Resolves a component's imports. The error is a sentence that names an import which the host does not offer.
    pub fn link(&self, component: &Component) -> Result<LinkedComponent, String> {
        let sentence = |error: wasmtime::Error| format!("{error:#}");
        let instance_pre = self.linker.instantiate_pre(component).map_err(sentence)?;
        LinkedComponent::new(self.linker.engine().clone(), instance_pre).map_err(sentence)
    }
}
