//! The services that store what outlives a call.

use super::events::{EventError, EventSink, PluginEvent};
use super::provenance::Provenance;
use super::publish::{PublishError, PublishedPrompt, Publisher, ResourceAttributes};
use super::state::{NoState, StateStore};
use super::types::{BudgetKind, Exhaustion, ResourceBody};
use policy::Principal;
use std::sync::Arc;

/// The services that store what outlives a call. Clones share them.
#[derive(Clone)]
pub struct HostServices {
    pub publisher: Arc<dyn Publisher>,
    pub events: Arc<dyn EventSink>,
    pub state: Arc<dyn StateStore>,
}

impl HostServices {
    pub fn with_state(mut self, state: Option<Arc<dyn StateStore>>) -> Self {
        self.state = state.unwrap_or(self.state);
        self
    }

    /// Services that refuse everything: for listing a component's tools, and where nothing outlives a call.
    pub fn none() -> Self {
        Self { publisher: Arc::new(Nobody), events: Arc::new(Nobody), state: Arc::new(NoState) }
    }
}

/// Refuses to store anything.
struct Nobody;

const NO_ROOM: Exhaustion = Exhaustion { budget: BudgetKind::Stored, limit: 0 };

impl Publisher for Nobody {
    fn put_resource(
        &self,
        _owner: &Principal,
        _source: Provenance,
        _path: &str,
        _body: ResourceBody,
        _attributes: ResourceAttributes,
    ) -> Result<String, PublishError> {
        Err(PublishError::Exhausted(NO_ROOM))
    }

    fn append_resource(
        &self,
        _owner: &Principal,
        _source: Provenance,
        _path: &str,
        _body: ResourceBody,
    ) -> Result<String, PublishError> {
        Err(PublishError::Exhausted(NO_ROOM))
    }

    fn remove_resource(&self, _owner: &Principal, _source: Provenance, _path: &str) -> Result<(), PublishError> {
        Err(PublishError::NotFound)
    }

    fn put_prompt(
        &self,
        _owner: &Principal,
        _source: Provenance,
        _prompt: PublishedPrompt,
    ) -> Result<(), PublishError> {
        Err(PublishError::Exhausted(NO_ROOM))
    }

    fn remove_prompt(&self, _owner: &Principal, _source: Provenance, _name: &str) -> Result<(), PublishError> {
        Err(PublishError::NotFound)
    }
}

impl EventSink for Nobody {
    fn emit(&self, _owner: &Principal, _source: Provenance, _event: PluginEvent) -> Result<bool, EventError> {
        Err(EventError::Exhausted(NO_ROOM))
    }
}
