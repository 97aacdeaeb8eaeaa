//! The interfaces that a component exports, found once by name. A component may leave out what it does not have.

use super::super::guest::Guest;
use super::bindings::exports::portcullis::plugin as bound;
use super::{prompts, resources, tools};
use crate::imports::Offer;
use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

/// Each interface is loaded from an instance only when it is called.
pub(in super::super) struct V01Exports {
    pub(super) tools: Option<bound::tools::GuestIndices>,
    pub(super) resources: Option<bound::resources::GuestIndices>,
    pub(super) prompts: Option<bound::prompts::GuestIndices>,
    pub(super) completions: Option<bound::completions::GuestIndices>,
    pub(in super::super) reconcile: Option<bound::reconcile::GuestIndices>,
}

impl V01Exports {
    /// Fails if an exported interface lacks a function.
    pub(in super::super) fn find(component: &InstancePre<Guest>) -> wasmtime::Result<Self> {
        Ok(Self {
            tools: find(component, "portcullis:plugin/tools@0.1.0", bound::tools::GuestIndices::new)?,
            resources: find(component, "portcullis:plugin/resources@0.1.0", bound::resources::GuestIndices::new)?,
            prompts: find(component, "portcullis:plugin/prompts@0.1.0", bound::prompts::GuestIndices::new)?,
            completions: find(component, "portcullis:plugin/completions@0.1.0", bound::completions::GuestIndices::new)?,
            reconcile: find(component, "portcullis:plugin/reconcile@0.1.0", bound::reconcile::GuestIndices::new)?,
        })
    }

    /// Lists everything that the component offers.
    pub(in super::super) async fn describe(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
    ) -> wasmtime::Result<Offer> {
        let mut offer = Offer { completes: self.completions.is_some(), ..Offer::default() };
        if let Some(export) = &self.tools {
            offer.tools = tools::list_tools(export, store, instance).await?;
        }
        if let Some(export) = &self.resources {
            offer.resources = resources::list_resources(export, store, instance).await?;
            offer.templates = resources::list_templates(export, store, instance).await?;
        }
        if let Some(export) = &self.prompts {
            offer.prompts = prompts::list_prompts(export, store, instance).await?;
        }
        if let Some(export) = &self.completions {
            // Checks the types of the exported functions.
            export.load(&mut *store, instance)?;
        }
        if let Some(export) = &self.reconcile {
            export.load(&mut *store, instance)?;
        }
        Ok(offer)
    }
}

/// An interface, or an error if the component was loaded without it.
pub(super) fn exported<I>(indices: &Option<I>) -> wasmtime::Result<&I> {
    indices.as_ref().ok_or_else(|| wasmtime::Error::msg("the component does not export the interface that is called"))
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
