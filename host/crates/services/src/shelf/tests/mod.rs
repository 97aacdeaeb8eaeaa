//! What is kept, for whom, how much and how long.

mod news;
mod published;

use super::*;
use runtime::imports::{
    Attributes, Budgeted, Event, EventError, EventSink, Exhaustion, Provenance, PublishError, PublishedPrompt,
    Publisher, ResourceBody, Role,
};
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;

struct FakeClock(Mutex<Instant>);

impl Clock for FakeClock {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000)
    }
}

struct Lab {
    shelf: Arc<Shelf>,
    clock: Arc<FakeClock>,
    news: Receiver<Change>,
}

impl Lab {
    fn new() -> Self {
        let clock = Arc::new(FakeClock(Mutex::new(platform::clock::SystemClock.now())));
        let changes = Changes::new();
        let news = changes.subscribe();
        Self { shelf: Arc::new(Shelf::new(clock.clone(), changes)), clock, news }
    }

    fn pass(&self, time: Duration) {
        *self.clock.0.lock().unwrap() += time;
    }

    /// A second makes room for more changes; `n` of them for many.
    fn rest(&self) {
        self.pass(Duration::from_secs(10));
    }

    fn put(&self, owner: &Principal, plugin: &str, path: &str, text: &str) -> Result<String, PublishError> {
        self.shelf.put_resource(owner, source(plugin), path, ResourceBody::Text(text.into()), Attributes::default())
    }

    fn append(&self, owner: &Principal, plugin: &str, path: &str, text: &str) -> Result<String, PublishError> {
        self.shelf.append_resource(owner, source(plugin), path, ResourceBody::Text(text.into()))
    }

    fn text(&self, owner: &Principal, uri: &str) -> Option<String> {
        match self.shelf.read(owner, uri)?.body {
            ResourceBody::Text(text) => Some(text),
            ResourceBody::Blob(_) => panic!("{uri} is bytes"),
        }
    }

    fn json(&self, owner: &Principal, uri: &str) -> Value {
        serde_json::from_str(&self.text(owner, uri).unwrap()).unwrap()
    }

    fn emit(&self, owner: &Principal, plugin: &str, payload: Value, key: Option<&str>) -> Result<bool, EventError> {
        let event = Event { name: "a.b".into(), payload: payload.to_string(), dedupe_key: key.map(str::to_owned) };
        self.shelf.emit(owner, source(plugin), event)
    }

    fn uris(&self, owner: &Principal) -> Vec<String> {
        self.shelf.list_resources(owner).into_iter().map(|listed| listed.uri).collect()
    }

    fn news(&mut self) -> Vec<Change> {
        std::iter::from_fn(|| self.news.try_recv().ok()).collect()
    }

    /// Nothing is left of anybody, and nothing is counted.
    fn assert_empty(&self) {
        self.pass(STAY * 2);
        self.shelf.list_resources(&bob());
        let state = self.shelf.state.lock().unwrap();
        assert!(state.owners.is_empty());
        assert_eq!(state.held, Held::default());
    }
}

fn alice() -> Principal {
    Principal::known("key", "alice")
}

fn bob() -> Principal {
    Principal::known("key", "bob")
}

fn source(plugin: &str) -> Provenance {
    Provenance { plugin: plugin.into(), call: "0123456789abcdef".into(), correlation_id: None }
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
    Exhaustion { budget: Budgeted::Stored, limit }
}
