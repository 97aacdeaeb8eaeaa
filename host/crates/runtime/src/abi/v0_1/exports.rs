//! The interfaces that a component exports, found once by name. A component may leave out what it does not have.

use super::super::guest::Guest;
use super::bindings::exports::portcullis::plugin::{completions, prompts, resources, tools};
use wasmtime::component::InstancePre;

/// Each interface is loaded from an instance only when it is called.
pub(super) struct Exports {
    pub(super) tools: Option<tools::GuestIndices>,
    pub(super) resources: Option<resources::GuestIndices>,
    pub(super) prompts: Option<prompts::GuestIndices>,
    pub(super) completions: Option<completions::GuestIndices>,
}

impl Exports {
    /// Fails if an exported interface lacks a function.
    pub(super) fn find(component: &InstancePre<Guest>) -> wasmtime::Result<Self> {
        Ok(Self {
            tools: find(component, "portcullis:plugin/tools@0.1.0", tools::GuestIndices::new)?,
            resources: find(component, "portcullis:plugin/resources@0.1.0", resources::GuestIndices::new)?,
            prompts: find(component, "portcullis:plugin/prompts@0.1.0", prompts::GuestIndices::new)?,
            completions: find(component, "portcullis:plugin/completions@0.1.0", completions::GuestIndices::new)?,
        })
    }
}

fn find<I>(
    component: &InstancePre<Guest>,
    interface: &str,
    indices: fn(&InstancePre<Guest>) -> wasmtime::Result<I>,
) -> wasmtime::Result<Option<I>> {
    match component.component().get_export_index(None, interface) {
        Some(_) => indices(component).map(Some),
        None => Ok(None),
    }
}
