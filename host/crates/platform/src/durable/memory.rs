//! A store in memory, for tests and for a host without a state folder. It keeps the contract as long as the process lives.

use super::contract::{DurableStore, StoreAnswer};
use super::error::DurableError;
use super::key::Key;
use super::types::{Durability, Entries, Expected, Fence, Lease, Record, Revision};
use crate::clock::Clock;
use crate::sync::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// Clones share the data.
#[derive(Clone)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct State {
    records: BTreeMap<Key, Record>,
    logs: HashMap<Key, Log>,
    /// Each lease with the time at which it ends.
    leases: HashMap<Key, (Lease, Duration)>,
    /// The last revision or token that was given out.
    last: u64,
    is_full: bool,
}

#[derive(Default)]
struct Log {
    first: u64,
    entries: Vec<Vec<u8>>,
    fence: Fence,
}

impl Log {
    fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
}

impl State {
    fn check(&self, key: &Key, expected: Expected) -> Result<(), DurableError> {
        let found = self.records.get(key).map(|record| record.revision);
        let holds = match expected {
            Expected::Any => true,
            Expected::Nothing => found.is_none(),
            Expected::At(revision) => found == Some(revision),
        };
        if holds { Ok(()) } else { Err(DurableError::Conflict(found)) }
    }

    fn has_room(&self) -> Result<(), DurableError> {
        if self.is_full { Err(DurableError::Full("the disk is full".into())) } else { Ok(()) }
    }

    /// The log, if an owner with this token may write to it at this number.
    fn writable(&mut self, log: &Key, fence: Fence, next: u64) -> Result<&mut Log, DurableError> {
        self.has_room()?;
        let (seen, end) = self.logs.get(log).map_or((Fence(0), 0), |log| (log.fence, log.next()));
        if fence < seen {
            return Err(DurableError::Fenced);
        }
        if next != end {
            return Err(DurableError::Moved { next: end });
        }
        let log = self.logs.entry(log.clone()).or_default();
        log.fence = fence;
        Ok(log)
    }

    fn count(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// When a lease ends, if nobody else has taken it.
    fn end_of(&mut self, lease: &Lease) -> Option<&mut Duration> {
        self.leases.get_mut(&lease.name).filter(|(held, _)| held == lease).map(|(_, end)| end)
    }
}

impl MemoryStore {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { state: Arc::default(), clock }
    }

    /// Sets whether the store has no room for anything more, like a full disk.
    pub fn set_full(&self, is_full: bool) {
        self.state.lock().is_full = is_full;
    }

    fn answer<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut State, Duration) -> Result<T, DurableError>,
    ) -> StoreAnswer<T> {
        let answer = request(&mut self.state.lock(), self.clock.awake());
        Box::pin(std::future::ready(answer))
    }
}

impl DurableStore for MemoryStore {
    fn get(&self, key: &Key) -> StoreAnswer<Option<Record>> {
        self.answer(|state, _| Ok(state.records.get(key).cloned()))
    }

    fn put(&self, key: &Key, value: Vec<u8>, expected: Expected, _: Durability) -> StoreAnswer<Revision> {
        self.answer(|state, _| {
            state.check(key, expected)?;
            state.has_room()?;
            let revision = Revision(state.count());
            state.records.insert(key.clone(), Record { value, revision });
            Ok(revision)
        })
    }

    fn remove(&self, key: &Key, expected: Expected, _: Durability) -> StoreAnswer<()> {
        self.answer(|state, _| {
            state.check(key, expected)?;
            state.records.remove(key);
            Ok(())
        })
    }

    fn list(&self, prefix: &Key, after: Option<&Key>, most: u32) -> StoreAnswer<Vec<(Key, Record)>> {
        self.answer(|state, _| {
            let begin = format!("{prefix}/");
            let after = Bound::Excluded(after.max(Some(prefix)).unwrap_or(prefix));
            let below = state.records.range((after, Bound::Unbounded));
            let below = below.filter(|(key, _)| key.as_str().starts_with(&begin)).take(most as usize);
            Ok(below.map(|(key, record)| (key.clone(), record.clone())).collect())
        })
    }

    fn append(&self, log: &Key, fence: Fence, next: u64, entries: Vec<Vec<u8>>, _: Durability) -> StoreAnswer<()> {
        self.answer(|state, _| {
            state.writable(log, fence, next)?.entries.extend(entries);
            Ok(())
        })
    }

    fn read(&self, log: &Key, from: u64, most_bytes: u64) -> StoreAnswer<Entries> {
        self.answer(|state, _| {
            let Some(log) = state.logs.get(log) else { return Ok(Entries::default()) };
            let first = from.clamp(log.first, log.next());
            let mut bytes = 0;
            let fitting =
                log.entries.iter().skip((first - log.first) as usize).enumerate().take_while(|(at, entry)| {
                    bytes += entry.len() as u64;
                    *at == 0 || bytes <= most_bytes
                });
            Ok(Entries { first, entries: fitting.map(|(_, entry)| entry.clone()).collect(), next: log.next() })
        })
    }

    fn trim(&self, log: &Key, fence: Fence, before: u64) -> StoreAnswer<()> {
        self.answer(|state, _| {
            let Some(log) = state.logs.get_mut(log) else { return Ok(()) };
            if fence < log.fence {
                return Err(DurableError::Fenced);
            }
            let first = before.clamp(log.first, log.next());
            log.entries.drain(..(first - log.first) as usize);
            (log.first, log.fence) = (first, fence);
            Ok(())
        })
    }

    fn replace(&self, log: &Key, fence: Fence, next: u64, entries: Vec<Vec<u8>>, _: Durability) -> StoreAnswer<()> {
        self.answer(|state, _| {
            let log = state.writable(log, fence, next)?;
            (log.first, log.entries) = (next, entries);
            Ok(())
        })
    }

    fn remove_log(&self, log: &Key) -> StoreAnswer<()> {
        self.answer(|state, _| {
            state.logs.remove(log);
            Ok(())
        })
    }

    fn acquire(&self, name: &Key, holder: &str, time: Duration) -> StoreAnswer<Option<Lease>> {
        self.answer(|state, now| {
            if state.leases.get(name).is_some_and(|(lease, end)| *end > now && lease.holder != holder) {
                return Ok(None);
            }
            let lease = Lease { name: name.clone(), holder: holder.to_owned(), fence: Fence(state.count()) };
            state.leases.insert(name.clone(), (lease.clone(), now + time));
            Ok(Some(lease))
        })
    }

    fn renew(&self, mut leases: Vec<Lease>, time: Duration) -> StoreAnswer<Vec<Lease>> {
        self.answer(|state, now| {
            leases.retain(|lease| state.end_of(lease).map(|end| *end = now + time).is_none());
            Ok(leases)
        })
    }

    fn expired(&self, prefix: &Key) -> StoreAnswer<Vec<Lease>> {
        self.answer(|state, now| {
            let begin = format!("{prefix}/");
            let expired =
                state.leases.values().filter(|(lease, end)| *end <= now && lease.name.as_str().starts_with(&begin));
            Ok(expired.map(|(lease, _)| lease.clone()).collect())
        })
    }

    fn release(&self, lease: &Lease) -> StoreAnswer<()> {
        self.answer(|state, _| {
            if state.end_of(lease).is_some() {
                state.leases.remove(&lease.name);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{TestBed, check};
    use super::*;
    use crate::clock::ManualClock;
    use futures::future::BoxFuture;

    struct MemoryTestBed(MemoryStore, Arc<ManualClock>);

    impl TestBed for MemoryTestBed {
        fn open(&self) -> BoxFuture<'_, Arc<dyn DurableStore>> {
            Box::pin(async { Arc::new(self.0.clone()) as _ })
        }

        fn pass(&self, time: Duration) -> BoxFuture<'_, ()> {
            self.1.pass(time);
            Box::pin(async {})
        }
    }

    #[tokio::test]
    async fn it_keeps_the_contract() {
        let clock = ManualClock::new();
        check(&MemoryTestBed(MemoryStore::new(clock.clone()), clock)).await;
    }
}
