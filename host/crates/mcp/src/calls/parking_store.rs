//! Values that are kept for their owners under sealed tokens: bounded by number, by memory and by age.

use super::seal::{ParkedId, RequestBinding, TokenSealer};
use platform::clock::Clock;
use platform::random::random_bytes;
use platform::sync::Mutex;
use policy::{ParkedCallLimits, Principal};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// How many dropped values are remembered, so that their owners learn why they are gone.
const REMEMBERED: usize = 4_096;
/// How often expired values are dropped, which only frees their memory: `take` refuses them from the moment they
/// expire.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

pub(crate) struct ParkingStore<T> {
    sealer: TokenSealer,
    limits: ParkedCallLimits,
    clock: Arc<dyn Clock>,
    epoch: Instant,
    inner: Mutex<Entries<T>>,
}

struct Entries<T> {
    parked: HashMap<ParkedId, ParkedEntry<T>>,
    /// The newest dropped values and why they were dropped.
    dropped: VecDeque<(ParkedId, ParkingError)>,
    bytes: u64,
}

struct ParkedEntry<T> {
    value: T,
    owner: Principal,
    since: Instant,
    expires: Instant,
    bytes: u64,
}

/// Why there is no value behind a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParkingError {
    /// The token was not made here or not for this request, or it was used already.
    Invalid,
    Expired,
    /// The value made room for another.
    Evicted,
}

impl<T: Send + 'static> ParkingStore<T> {
    /// Expired values are dropped for as long as the store is in use.
    pub(crate) fn new(limits: ParkedCallLimits, clock: Arc<dyn Clock>) -> std::io::Result<Arc<Self>> {
        let epoch = clock.now();
        let inner = Mutex::new(Entries { parked: HashMap::new(), dropped: VecDeque::new(), bytes: 0 });
        let store = Arc::new(Self { sealer: TokenSealer::new()?, limits, clock, epoch, inner });
        let swept = Arc::downgrade(&store);
        tokio::spawn(async move {
            let mut interval = tokio::time::interval(SWEEP_INTERVAL);
            loop {
                interval.tick().await;
                let Some(store) = swept.upgrade() else { return };
                store.sweep();
            }
        });
        Ok(store)
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().parked.len()
    }

    /// Keeps a value until it is taken, it expires or it has to make room; returns its token. `bytes` is the memory
    /// that it holds.
    pub(crate) fn park(
        &self,
        value: T,
        owner: &Principal,
        bytes: u64,
        keep: Duration,
        binding: &RequestBinding,
    ) -> std::io::Result<String> {
        let id: ParkedId = random_bytes()?;
        let now = self.clock.now();
        let expires = now + keep;
        let token = self.sealer.seal(id, self.millis(expires), binding)?;
        let entry = ParkedEntry { value, owner: owner.clone(), since: now, expires, bytes };
        let mut evicted = Vec::new();
        let mut inner = self.lock();
        while let Some(oldest) = inner.find_victim(&self.limits, owner, bytes) {
            evicted.extend(inner.remove(oldest, ParkingError::Evicted));
        }
        inner.bytes += bytes;
        inner.parked.insert(id, entry);
        drop(inner);
        // Dropped outside the lock, since dropping a value can take time.
        drop(evicted);
        Ok(token)
    }

    /// Takes out the value behind a token: each token works once.
    pub(crate) fn take(&self, token: &str, binding: &RequestBinding) -> Result<T, ParkingError> {
        let (id, expires) = self.sealer.open(token, binding).ok_or(ParkingError::Invalid)?;
        let mut inner = self.lock();
        if expires <= self.millis(self.clock.now()) {
            let expired = inner.remove(id, ParkingError::Expired);
            drop(inner);
            drop(expired);
            return Err(ParkingError::Expired);
        }
        match inner.parked.remove(&id) {
            Some(entry) => {
                inner.bytes -= entry.bytes;
                Ok(entry.value)
            }
            None => {
                let why = inner.dropped.iter().find(|(dropped, _)| *dropped == id);
                Err(why.map_or(ParkingError::Invalid, |(_, why)| *why))
            }
        }
    }

    fn sweep(&self) {
        let now = self.clock.now();
        let mut inner = self.lock();
        let expired: Vec<ParkedId> =
            inner.parked.iter().filter(|(_, entry)| entry.expires <= now).map(|(id, _)| *id).collect();
        let expired: Vec<_> = expired.into_iter().filter_map(|id| inner.remove(id, ParkingError::Expired)).collect();
        drop(inner);
        drop(expired);
    }

    fn lock(&self) -> MutexGuard<'_, Entries<T>> {
        self.inner.lock()
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.epoch).as_millis()).unwrap_or(u64::MAX)
    }
}

impl<T> Entries<T> {
    /// The value that has to make room for another of this owner and size.
    fn find_victim(&self, limits: &ParkedCallLimits, owner: &Principal, bytes: u64) -> Option<ParkedId> {
        let oldest = |of: Option<&Principal>| {
            let candidates = self.parked.iter().filter(|(_, entry)| of.is_none_or(|of| entry.owner == *of));
            candidates.min_by_key(|(_, entry)| entry.since).map(|(id, _)| *id)
        };
        let own = self.parked.values().filter(|entry| entry.owner == *owner).count();
        if own >= limits.per_principal {
            return oldest(Some(owner));
        }
        let full = self.parked.len() >= limits.calls || self.bytes.saturating_add(bytes) > limits.memory.as_u64();
        if !full || self.parked.is_empty() {
            return None;
        }
        // The owner with the most values loses one, so that nobody can displace the values of others.
        let mut counts: HashMap<&Principal, usize> = HashMap::new();
        for entry in self.parked.values() {
            *counts.entry(&entry.owner).or_default() += 1;
        }
        oldest(counts.into_iter().max_by_key(|(_, count)| *count).map(|(owner, _)| owner))
    }

    fn remove(&mut self, id: ParkedId, why: ParkingError) -> Option<ParkedEntry<T>> {
        let entry = self.parked.remove(&id)?;
        self.bytes -= entry.bytes;
        self.dropped.push_back((id, why));
        if self.dropped.len() > REMEMBERED {
            self.dropped.pop_front();
        }
        tracing::info!(principal = %entry.owner, "dropped a parked call: {why:?}");
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    struct TestClock(Mutex<Instant>);

    impl TestClock {
        fn advance(&self, by: Duration) {
            *self.0.lock() += by;
        }
    }

    impl Clock for TestClock {
        fn now(&self) -> Instant {
            *self.0.lock()
        }
    }

    const KEEP: Duration = Duration::from_secs(10);

    fn owner(name: &str) -> (Principal, RequestBinding) {
        let principal = Principal::from_source("key", name);
        let binding = RequestBinding::new(&principal, "tools/call", "book", &Value::Null, "v1");
        (principal, binding)
    }

    fn store(limits: ParkedCallLimits) -> (Arc<ParkingStore<u32>>, Arc<TestClock>) {
        let clock = Arc::new(TestClock(Mutex::new(Instant::now())));
        (ParkingStore::new(limits, clock.clone()).unwrap(), clock)
    }

    #[tokio::test]
    async fn a_token_works_once_and_until_it_expires() {
        let (store, clock) = store(ParkedCallLimits::default());
        let (ann, binding) = owner("ann");
        let token = store.park(1, &ann, 0, KEEP, &binding).unwrap();
        assert_eq!(store.take(&token, &owner("bob").1), Err(ParkingError::Invalid));
        assert_eq!(store.take(&token, &binding), Ok(1));
        assert_eq!(store.take(&token, &binding), Err(ParkingError::Invalid));
        let token = store.park(2, &ann, 0, KEEP, &binding).unwrap();
        clock.advance(KEEP);
        assert_eq!(store.take(&token, &binding), Err(ParkingError::Expired));
        assert_eq!(store.len(), 0);
    }

    #[tokio::test]
    async fn a_full_store_evicts_the_oldest_value_of_the_owner_with_most() {
        let (store, clock) = store(ParkedCallLimits { calls: 3, ..ParkedCallLimits::default() });
        let ((ann, anns), (bob, bobs)) = (owner("ann"), owner("bob"));
        let his = store.park(0, &bob, 0, KEEP, &bobs).unwrap();
        let hers: Vec<_> = (1..3)
            .map(|value| {
                clock.advance(Duration::from_secs(1));
                store.park(value, &ann, 0, KEEP, &anns).unwrap()
            })
            .collect();
        store.park(3, &bob, 0, KEEP, &bobs).unwrap();
        assert_eq!(store.take(&hers[0], &anns), Err(ParkingError::Evicted));
        assert_eq!((store.take(&hers[1], &anns), store.take(&his, &bobs)), (Ok(2), Ok(0)));
    }
}
