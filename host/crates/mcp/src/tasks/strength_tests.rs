//! What the steps of a task survive, as its store is told.

use super::tests::{Fixture, finish};
use platform::clock::SystemClock;
use platform::durable::{
    Answer, DurableStore, Entries, Expected, Fence, Key, Lease, MemoryStore, Record, Revision, Strength,
};
use platform::sync::Mutex;
use policy::Survive;
use runtime::journal::CallJournal;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Remembers how entries of logs were stored.
struct WatchedStore(MemoryStore, Mutex<Vec<Strength>>);

impl DurableStore for WatchedStore {
    fn get(&self, key: &Key) -> Answer<Option<Record>> {
        self.0.get(key)
    }

    fn put(&self, key: &Key, value: Vec<u8>, expected: Expected, strength: Strength) -> Answer<Revision> {
        self.0.put(key, value, expected, strength)
    }

    fn remove(&self, key: &Key, expected: Expected, strength: Strength) -> Answer<()> {
        self.0.remove(key, expected, strength)
    }

    fn list(&self, prefix: &Key, after: Option<&Key>, most: u32) -> Answer<Vec<(Key, Record)>> {
        self.0.list(prefix, after, most)
    }

    fn append(&self, log: &Key, fence: Fence, next: u64, entries: Vec<Vec<u8>>, strength: Strength) -> Answer<()> {
        if !entries.is_empty() {
            self.1.lock().push(strength);
        }
        self.0.append(log, fence, next, entries, strength)
    }

    fn read(&self, log: &Key, from: u64, most_bytes: u64) -> Answer<Entries> {
        self.0.read(log, from, most_bytes)
    }

    fn trim(&self, log: &Key, fence: Fence, before: u64) -> Answer<()> {
        self.0.trim(log, fence, before)
    }

    fn replace(&self, log: &Key, fence: Fence, next: u64, entries: Vec<Vec<u8>>, strength: Strength) -> Answer<()> {
        self.0.replace(log, fence, next, entries, strength)
    }

    fn remove_log(&self, log: &Key) -> Answer<()> {
        self.0.remove_log(log)
    }

    fn acquire(&self, name: &Key, holder: &str, time: Duration) -> Answer<Option<Lease>> {
        self.0.acquire(name, holder, time)
    }

    fn renew(&self, lease: &Lease, time: Duration) -> Answer<()> {
        self.0.renew(lease, time)
    }

    fn release(&self, lease: &Lease) -> Answer<()> {
        self.0.release(lease)
    }
}

#[tokio::test]
async fn a_plugin_may_have_its_steps_survive_more_or_less_than_others() {
    let said = [
        (None, Strength::Process),
        (Some(Survive::PowerLoss), Strength::Power),
        (Some(Survive::Crash), Strength::Process),
    ];
    for (survive, expected) in said {
        let store = Arc::new(WatchedStore(MemoryStore::new(Arc::new(SystemClock)), Mutex::default()));
        let mut fixture = Fixture::new();
        fixture.store = store.clone();
        let mut new = fixture.new_task();
        new.call.survive = survive;
        let created = fixture.process().create(new).await.unwrap();
        let live = fixture.live(CancellationToken::new(), CallJournal::in_memory(Arc::new(SystemClock)));
        created.start(live, finish()).await.unwrap();
        assert_eq!(*store.1.lock(), [expected], "{survive:?}");
    }
}
