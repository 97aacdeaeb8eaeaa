//! What a component exports, found once by name: it may leave out what it does not have.

use super::super::guest::Guest;
use super::bindings::exports::portcullis::plugin::{completions, prompts, resources, tools};
use wasmtime::component::InstancePre;

/// The interfaces that are there. Each is loaded from an instance only when it is called.
pub(super) struct Exports {
    pub(super) tools: Option<tools::GuestIndices>,
    pub(super) resources: Option<resources::GuestIndices>,
    pub(super) prompts: Option<prompts::GuestIndices>,
    pub(super) completions: Option<completions::GuestIndices>,
}

impl Exports {
    /// Of this component. An interface that is there but lacks a function is an error.
    pub(super) fn find(pre: &InstancePre<Guest>) -> wasmtime::Result<Self> {
        Ok(Self {
            tools: found(pre, "portcullis:plugin/tools@0.1.0", tools::GuestIndices::new)?,
            resources: found(pre, "portcullis:plugin/resources@0.1.0", resources::GuestIndices::new)?,
            prompts: found(pre, "portcullis:plugin/prompts@0.1.0", prompts::GuestIndices::new)?,
            completions: found(pre, "portcullis:plugin/completions@0.1.0", completions::GuestIndices::new)?,
        })
    }
}

fn found<I>(
    pre: &InstancePre<Guest>,
    interface: &str,
    indices: fn(&InstancePre<Guest>) -> wasmtime::Result<I>,
) -> wasmtime::Result<Option<I>> {
    match pre.component().get_export_index(None, interface) {
        Some(_) => indices(pre).map(Some),
        None => Ok(None),
    }
}
