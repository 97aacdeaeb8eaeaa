//! A store in memory for tests of how tasks use it.

use platform::clock::Clock;
use platform::durable::{
    Durability, DurableStore, Entries, Expected, Fence, Key, Lease, MemoryStore, Record, Revision, StoreAnswer,
};
use platform::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// Records with which durability entries of logs were stored. Waiting for a record lets other tasks run first, as with a disk.
pub(in crate::tasks) struct WatchedStore {
    store: MemoryStore,
    pub(in crate::tasks) strengths: Mutex<Vec<Durability>>,
}

impl WatchedStore {
    pub(in crate::tasks) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { store: MemoryStore::new(clock), strengths: Mutex::default() }
    }
}

impl DurableStore for WatchedStore {
    fn get(&self, key: &Key) -> StoreAnswer<Option<Record>> {
        self.store.get(key)
    }

    fn put(&self, key: &Key, value: Vec<u8>, expected: Expected, durability: Durability) -> StoreAnswer<Revision> {
        let answer = self.store.put(key, value, expected, durability);
        Box::pin(async {
            tokio::task::yield_now().await;
            answer.await
        })
    }

    fn remove(&self, key: &Key, expected: Expected, durability: Durability) -> StoreAnswer<()> {
        self.store.remove(key, expected, durability)
    }

    fn list(&self, prefix: &Key, after: Option<&Key>, most: u32) -> StoreAnswer<Vec<(Key, Record)>> {
        self.store.list(prefix, after, most)
    }

    fn append(
        &self,
        log: &Key,
        fence: Fence,
        next: u64,
        entries: Vec<Vec<u8>>,
        durability: Durability,
    ) -> StoreAnswer<()> {
        if !entries.is_empty() {
            self.strengths.lock().push(durability);
        }
        self.store.append(log, fence, next, entries, durability)
    }

    fn read(&self, log: &Key, from: u64, most_bytes: u64) -> StoreAnswer<Entries> {
        self.store.read(log, from, most_bytes)
    }

    fn trim(&self, log: &Key, fence: Fence, before: u64) -> StoreAnswer<()> {
        self.store.trim(log, fence, before)
    }

    fn replace(
        &self,
        log: &Key,
        fence: Fence,
        next: u64,
        entries: Vec<Vec<u8>>,
        durability: Durability,
    ) -> StoreAnswer<()> {
        self.store.replace(log, fence, next, entries, durability)
    }

    fn remove_log(&self, log: &Key) -> StoreAnswer<()> {
        self.store.remove_log(log)
    }

    fn acquire(&self, name: &Key, holder: &str, time: Duration) -> StoreAnswer<Option<Lease>> {
        self.store.acquire(name, holder, time)
    }

    fn renew(&self, leases: Vec<Lease>, time: Duration) -> StoreAnswer<Vec<Lease>> {
        self.store.renew(leases, time)
    }

    fn expired(&self, prefix: &Key) -> StoreAnswer<Vec<Lease>> {
        self.store.expired(prefix)
    }

    fn release(&self, lease: &Lease) -> StoreAnswer<()> {
        self.store.release(lease)
    }
}
