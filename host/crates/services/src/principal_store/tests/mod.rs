//! What is kept, for whom, how much and how long.

mod durable;
mod inbox_and_runs;
mod published;

use super::context::MAX_AGE;
use super::quota::Usage;
use super::*;
use platform::changes::{Change, ChangeNotifier, ListPart};
use platform::clock::ManualClock;
use policy::{DataKey, Principal, PrivateOrigins};
use runtime::imports::{
    BudgetKind, EventError, EventSink, Exhaustion, PluginEvent, Provenance, PublishError, PublishedPrompt, Publisher,
    ResourceAttributes, ResourceBody, Role,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;

struct Fixture {
    store: Arc<PrincipalStore>,
    clock: Arc<ManualClock>,
    changes: Receiver<Change>,
}

impl Fixture {
    fn new() -> Self {
        Self::with_clock(ManualClock::at(Duration::from_secs(1_790_000_000)))
    }

    fn with_clock(clock: Arc<ManualClock>) -> Self {
        let notifier = ChangeNotifier::new();
        let changes = notifier.subscribe();
        Self { store: Arc::new(PrincipalStore::new(clock.clone(), notifier)), clock, changes }
    }

    fn advance(&self, time: Duration) {
        self.clock.pass(time);
    }

    fn refill_rates(&self) {
        self.advance(Duration::from_secs(10));
    }

    fn put(&self, owner: &Principal, plugin: &str, path: &str, text: &str) -> Result<String, PublishError> {
        self.store.put_resource(
            owner,
            source(plugin),
            path,
            ResourceBody::Text(text.into()),
            ResourceAttributes::default(),
        )
    }

    fn append(&self, owner: &Principal, plugin: &str, path: &str, text: &str) -> Result<String, PublishError> {
        self.store.append_resource(owner, source(plugin), path, ResourceBody::Text(text.into()))
    }

    fn text(&self, owner: &Principal, uri: &str) -> Option<String> {
        match self.store.read(owner, uri)?.body {
            ResourceBody::Text(text) => Some(text),
            ResourceBody::Blob(_) => panic!("{uri} is bytes"),
        }
    }

    fn json(&self, owner: &Principal, uri: &str) -> Value {
        serde_json::from_str(&self.text(owner, uri).unwrap()).unwrap()
    }

    fn emit(&self, owner: &Principal, plugin: &str, payload: Value, key: Option<&str>) -> Result<bool, EventError> {
        let event =
            PluginEvent { name: "a.b".into(), payload: payload.to_string(), dedupe_key: key.map(str::to_owned) };
        self.store.emit(owner, source(plugin), event)
    }

    fn uris(&self, owner: &Principal) -> Vec<String> {
        self.store.list_resources(owner).into_iter().map(|listed| listed.uri).collect()
    }

    fn changes(&mut self) -> Vec<Change> {
        std::iter::from_fn(|| self.changes.try_recv().ok()).collect()
    }

    /// Asserts that no owner's data is left, and that nothing is counted.
    fn assert_empty(&self) {
        self.advance(MAX_AGE * 2);
        self.store.list_resources(&bob());
        let state = self.store.state.lock();
        assert!(state.owners.is_empty());
        assert_eq!(state.usage, Usage::default());
    }
}

fn alice() -> Principal {
    Principal::from_source("key", "alice")
}

fn bob() -> Principal {
    Principal::from_source("key", "bob")
}

fn source(plugin: &str) -> Provenance {
    let (data, knows) = (DataKey::from_stored(&format!("plugins.{plugin}")), PrivateOrigins::new());
    Provenance { plugin: plugin.into(), call: "0123456789abcdef".into(), correlation_id: None, data, knows }
}

fn prompt(name: &str, arguments: &[&str], text: &str) -> PublishedPrompt {
    PublishedPrompt {
        name: name.into(),
        title: None,
        description: None,
        arguments: arguments.iter().map(|&name| name.into()).collect(),
        messages: vec![(Role::User, text.into())],
        ttl: None,
    }
}

fn given(arguments: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    arguments.iter().map(|&(name, value)| (name.into(), value.into())).collect()
}

fn full(limit: u64) -> Exhaustion {
    Exhaustion { budget: BudgetKind::Stored, limit }
}
