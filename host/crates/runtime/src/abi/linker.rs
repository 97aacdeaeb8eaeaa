//! Resolves what components import, and finds what they export.

use super::component::LinkedComponent;
use super::exports::Exports;
use super::guest::Guest;
use super::link_error::LinkError;
use super::{v0_1, wasmcp};
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

/// Every import that a guest may use, linked once per engine.
pub struct GuestLinker {
    linker: Linker<Guest>,
}

impl GuestLinker {
    pub fn new(engine: &Engine) -> wasmtime::Result<Self> {
        let mut linker = v0_1::new_linker(engine)?;
        wasmcp::add_to_linker(&mut linker)?;
        Ok(Self { linker })
    }

    pub fn link(&self, component: &Component) -> Result<LinkedComponent, LinkError> {
        let sentence = |error: wasmtime::Error| format!("{error:#}");
        let engine = self.linker.engine().clone();
        wasmcp::check_imports(&engine, component).map_err(LinkError::Import)?;
        let instance_pre =
            self.linker.instantiate_pre(component).map_err(|error| LinkError::Import(sentence(error)))?;
        let exports = Exports::find(&engine, &instance_pre)?;
        Ok(LinkedComponent::new(engine, instance_pre, exports))
    }
}
