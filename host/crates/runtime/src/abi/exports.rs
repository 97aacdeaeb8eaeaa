//! What a component exports: the interfaces of a version of the guest API, or functions of its own.

use super::guest::Guest;
use super::link_error::LinkError;
use super::{plain, v0_1};
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::InstancePre;

/// The package of the guest API, in all its versions.
const PACKAGE: &str = "portcullis:plugin/";

pub(super) enum Exports {
    V0_1(Arc<v0_1::Exports>),
    Plain(Arc<plain::Functions>),
}

impl Exports {
    /// A component that exports any interface of the guest API is a guest of it, whatever else it exports.
    pub(super) fn find(engine: &Engine, component: &InstancePre<Guest>) -> Result<Self, LinkError> {
        let exported = component.component().component_type();
        if exported.exports(engine).any(|(name, _)| name.starts_with(PACKAGE)) {
            let exports = v0_1::Exports::find(component);
            return Ok(Self::V0_1(Arc::new(exports.map_err(|error| LinkError::Export(format!("{error:#}")))?)));
        }
        Ok(Self::Plain(Arc::new(plain::Functions::find(engine, component.component()).map_err(LinkError::Export)?)))
    }
}
