//! What a tested plugin publishes and which events it sends: kept in memory as in a server, and noted.

use platform::changes::ChangeNotifier;
use platform::clock::SystemClock;
use platform::sync::Mutex;
use policy::Principal;
use runtime::imports::{
    EventError, EventSink, PluginEvent, Provenance, PublishError, PublishedPrompt, Publisher, ResourceAttributes,
    ResourceBody,
};
use services::principal_store::PrincipalStore;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) struct Published {
    store: PrincipalStore,
    used: AtomicBool,
    /// The names of events that were sent. The manifest's patterns and the room of the inbox bound how many there are.
    events: Mutex<BTreeSet<String>>,
}

impl Published {
    pub(super) fn new() -> Self {
        let store = PrincipalStore::new(Arc::new(SystemClock), ChangeNotifier::new());
        Self { store, used: AtomicBool::new(false), events: Mutex::default() }
    }

    /// Whether the plugin tried to publish or remove a resource or a prompt.
    pub(super) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn events(&self) -> BTreeSet<String> {
        self.events.lock().clone()
    }

    fn store(&self) -> &PrincipalStore {
        self.used.store(true, Ordering::Relaxed);
        &self.store
    }
}

impl Publisher for Published {
    fn put_resource(
        &self,
        owner: &Principal,
        source: Provenance,
        path: &str,
        body: ResourceBody,
        attributes: ResourceAttributes,
    ) -> Result<String, PublishError> {
        self.store().put_resource(owner, source, path, body, attributes)
    }

    fn append_resource(
        &self,
        owner: &Principal,
        source: Provenance,
        path: &str,
        body: ResourceBody,
    ) -> Result<String, PublishError> {
        self.store().append_resource(owner, source, path, body)
    }

    fn remove_resource(&self, owner: &Principal, source: Provenance, path: &str) -> Result<(), PublishError> {
        self.store().remove_resource(owner, source, path)
    }

    fn put_prompt(&self, owner: &Principal, source: Provenance, prompt: PublishedPrompt) -> Result<(), PublishError> {
        self.store().put_prompt(owner, source, prompt)
    }

    fn remove_prompt(&self, owner: &Principal, source: Provenance, name: &str) -> Result<(), PublishError> {
        self.store().remove_prompt(owner, source, name)
    }
}

impl EventSink for Published {
    fn emit(&self, owner: &Principal, source: Provenance, event: PluginEvent) -> Result<bool, EventError> {
        let name = event.name.clone();
        let sent = self.store.emit(owner, source, event);
        if sent.is_ok() {
            self.events.lock().insert(name);
        }
        sent
    }
}
