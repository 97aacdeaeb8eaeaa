//! A store that ends the process at a chosen change, to test what a crash leaves behind. In debug builds only.

use super::contract::{DurableStore, StoreAnswer};
use super::error::DurableError;
use super::key::Key;
use super::types::{Durability, Entries, Expected, Fence, Lease, Record, Revision};
use futures::FutureExt as _;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of a change, counted from 1, and whether the process ends before the change or after it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashPoint {
    change: u64,
    after: bool,
}

impl FromStr for CrashPoint {
    type Err = String;

    /// Parses a text such as `12:before`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(':').and_then(|(number, when)| {
            let after = match when {
                "before" => false,
                "after" => true,
                _ => return None,
            };
            Some(Self { change: number.parse().ok()?, after })
        });
        parts.ok_or_else(|| format!("{text:?} is no crash point: write `12:before` or `12:after`"))
    }
}

/// Passes everything on to another store, until the chosen change comes.
pub struct CrashingStore {
    store: Arc<dyn DurableStore>,
    point: CrashPoint,
    changes: AtomicU64,
}

impl CrashingStore {
    pub fn new(store: Arc<dyn DurableStore>, point: CrashPoint) -> Self {
        Self { store, point, changes: AtomicU64::new(0) }
    }

    fn change<T: Send + 'static>(
        &self,
        name: &'static str,
        key: &Key,
        make: impl FnOnce() -> StoreAnswer<T>,
    ) -> StoreAnswer<T> {
        let is_point = self.changes.fetch_add(1, Ordering::Relaxed) + 1 == self.point.change;
        if !is_point {
            return make();
        }
        let kind = key.as_str().split('/').next().unwrap_or_default().to_owned();
        if !self.point.after {
            end(name, &kind, "before");
        }
        let answer = make();
        // The process ends even if nobody waits for the answer.
        let ended = tokio::spawn(async move {
            let answer = answer.await;
            end(name, &kind, "after");
            answer
        });
        ended.map(|answer| answer.unwrap_or(Err(DurableError::Closed))).boxed()
    }
}

/// Nothing is dropped or flushed, just as when the process is killed.
fn end(name: &str, kind: &str, when: &str) {
    tracing::error!("crash point: {when} {name} of {kind}");
    std::process::abort();
}

impl DurableStore for CrashingStore {
    fn get(&self, key: &Key) -> StoreAnswer<Option<Record>> {
        self.store.get(key)
    }

    fn put(&self, key: &Key, value: Vec<u8>, expected: Expected, durability: Durability) -> StoreAnswer<Revision> {
        self.change("put", key, || self.store.put(key, value, expected, durability))
    }

    fn remove(&self, key: &Key, expected: Expected, durability: Durability) -> StoreAnswer<()> {
        self.change("remove", key, || self.store.remove(key, expected, durability))
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
        self.change("append", log, || self.store.append(log, fence, next, entries, durability))
    }

    fn read(&self, log: &Key, from: u64, most_bytes: u64) -> StoreAnswer<Entries> {
        self.store.read(log, from, most_bytes)
    }

    fn trim(&self, log: &Key, fence: Fence, before: u64) -> StoreAnswer<()> {
        self.change("trim", log, || self.store.trim(log, fence, before))
    }

    fn replace(
        &self,
        log: &Key,
        fence: Fence,
        next: u64,
        entries: Vec<Vec<u8>>,
        durability: Durability,
    ) -> StoreAnswer<()> {
        self.change("replace", log, || self.store.replace(log, fence, next, entries, durability))
    }

    fn remove_log(&self, log: &Key) -> StoreAnswer<()> {
        self.change("remove log", log, || self.store.remove_log(log))
    }

    fn acquire(&self, name: &Key, holder: &str, time: Duration) -> StoreAnswer<Option<Lease>> {
        self.change("acquire", name, || self.store.acquire(name, holder, time))
    }

    fn renew(&self, leases: Vec<Lease>, time: Duration) -> StoreAnswer<Vec<Lease>> {
        match leases.first().map(|lease| lease.name.clone()) {
            Some(name) => self.change("renew", &name, || self.store.renew(leases, time)),
            None => self.store.renew(leases, time),
        }
    }

    fn expired(&self, prefix: &Key) -> StoreAnswer<Vec<Lease>> {
        self.store.expired(prefix)
    }

    fn release(&self, lease: &Lease) -> StoreAnswer<()> {
        self.change("release", &lease.name, || self.store.release(lease))
    }

    fn problem(&self) -> Option<DurableError> {
        self.store.problem()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_point_is_a_number_and_a_side() {
        assert_eq!("12:before".parse(), Ok(CrashPoint { change: 12, after: false }));
        assert_eq!("1:after".parse(), Ok(CrashPoint { change: 1, after: true }));
        for bad in ["", "12", "x:after", "3:later", ":before"] {
            assert!(bad.parse::<CrashPoint>().is_err(), "{bad}");
        }
    }
}
