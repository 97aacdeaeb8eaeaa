//! The services of the host that the imports of all calls use.

use super::connections::{Connections, NoConnections};
use super::events::{EventError, EventSink, PluginEvent};
use super::http::{Egress, NoEgress};
use super::provenance::Provenance;
use super::publish::{PublishError, PublishedPrompt, Publisher, ResourceAttributes};
use super::state::StateStore;
use super::types::{BudgetKind, Exhaustion, ResourceBody};
use super::unusable_state::UnusableState;
use super::wasi::OpenFiles;
use policy::Principal;
use std::sync::Arc;

/// The services that the imports of all calls use.
pub struct HostServices {
    pub publisher: Arc<dyn Publisher>,
    pub events: Arc<dyn EventSink>,
    pub state: Arc<dyn StateStore>,
    /// Sends HTTP requests.
    pub egress: Arc<dyn Egress>,
    /// The accounts that users have connected.
    pub connections: Arc<dyn Connections>,
    /// Counts and limits the files that all guests together have open.
    pub open_files: Arc<OpenFiles>,
}

impl HostServices {
    /// Services that refuse everything: for asking a component what it offers, and for a host without them.
    pub fn none() -> Self {
        Self {
            publisher: Arc::new(Nobody),
            events: Arc::new(Nobody),
            state: Arc::new(UnusableState::NO_FOLDER),
            egress: Arc::new(NoEgress),
            connections: Arc::new(NoConnections),
            open_files: OpenFiles::new(0),
        }
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
