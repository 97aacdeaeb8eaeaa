//! Who keeps what calls leave behind, and what is said of where it came from.

use super::{
    Attributes, Budgeted, CallContext, Event, EventError, EventSink, Exhaustion, PublishError, PublishedPrompt,
    Publisher, ResourceBody, StateStore, state::NoState,
};
use policy::{PluginId, Principal};
use serde::Serialize;
use std::sync::Arc;

/// Where something that a call left behind comes from. Clients see it: the JSON form is in `wit/extensions/meta.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// The plugin's name; `agent.<name>` on the agent's side, since both sides may use one name.
    pub plugin: String,
    /// The call's id.
    pub call: String,
    /// The client's mark on the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

impl Provenance {
    /// Of this plugin, in this call.
    pub fn of(plugin: &PluginId, call: &CallContext) -> Self {
        Self { plugin: plugin.handle(), call: call.id.clone(), correlation_id: call.correlation_id.clone() }
    }
}

/// Who keeps what calls leave behind. Clones are the same keepers.
#[derive(Clone)]
pub struct Keepers {
    /// Resources and prompts.
    pub publisher: Arc<dyn Publisher>,
    /// Events.
    pub events: Arc<dyn EventSink>,
    /// Values.
    pub state: Arc<dyn StateStore>,
}

impl Keepers {
    /// With somebody who keeps values.
    pub fn with_state(mut self, state: Option<Arc<dyn StateStore>>) -> Self {
        self.state = state.unwrap_or(self.state);
        self
    }

    /// Nobody: for asking a component for its tools, and wherever nothing outlives a call.
    pub fn none() -> Self {
        Self { publisher: Arc::new(Nobody), events: Arc::new(Nobody), state: Arc::new(NoState) }
    }
}

/// Has no room for anything.
struct Nobody;

const NO_ROOM: Exhaustion = Exhaustion { budget: Budgeted::Stored, limit: 0 };

impl Publisher for Nobody {
    fn put_resource(
        &self,
        _owner: &Principal,
        _source: Provenance,
        _path: &str,
        _body: ResourceBody,
        _attributes: Attributes,
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
    fn emit(&self, _owner: &Principal, _source: Provenance, _event: Event) -> Result<bool, EventError> {
        Err(EventError::Exhausted(NO_ROOM))
    }
}
