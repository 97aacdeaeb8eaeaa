//! What a component exports: the interfaces of a version of the guest API or of a foreign dialect, or functions of its own.

use super::dialect::Dialect;
use super::foreign::Foreign;
use super::guest::Guest;
use super::link_error::LinkError;
use super::{plain, v0_1};
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::InstancePre;

pub(super) enum Exports {
    V0_1(Arc<v0_1::V01Exports>),
    Foreign(Arc<Foreign>),
    Plain(Arc<plain::Functions>),
}

impl Exports {
    /// A component that exports any interface of the guest API is a guest of it, whatever else it exports.
    pub(super) fn find(engine: &Engine, component: &InstancePre<Guest>) -> Result<Self, LinkError> {
        let of = component.component();
        let exported = of.component_type();
        let dialect = Dialect::of_exports(exported.exports(engine).map(|(name, _)| name));
        if let Some(foreign) = Foreign::find(dialect, engine, component).map_err(LinkError::Export)? {
            return Ok(Self::Foreign(Arc::new(foreign)));
        }
        if dialect == Dialect::Portcullis {
            let exports = v0_1::V01Exports::find(component);
            return Ok(Self::V0_1(Arc::new(exports.map_err(|error| LinkError::Export(format!("{error:#}")))?)));
        }
        Ok(Self::Plain(Arc::new(plain::Functions::find(engine, of).map_err(LinkError::Export)?)))
    }
}
