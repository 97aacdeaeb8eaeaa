//! Keeps values for their owners under sealed tokens, bounded by what the values hold and by their age.

use super::parking_limits::{counted, fits, share};
use super::seal::{ParkedId, RequestBinding, TokenSealer};
use platform::clock::Clock;
use platform::random::random_bytes;
use platform::sync::Mutex;
use policy::{ParkedCallLimits, Principal};
use runtime::engine::Held;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// How many dropped values are remembered, so that their owners learn why these are gone.
const REMEMBERED: usize = 4_096;
/// How often expired values are dropped, which only frees their memory: `take` refuses them from the moment they
/// expire.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

pub(crate) struct ParkingStore<T> {
    sealer: TokenSealer,
    limits: ParkedCallLimits,
    clock: Arc<dyn Clock>,
    /// The time when this was created, on both clocks.
    epoch: (Instant, Duration),
    inner: Mutex<Entries<T>>,
}

struct Entries<T> {
    parked: HashMap<ParkedId, ParkedEntry<T>>,
    /// The values that were dropped last, and why.
    dropped: VecDeque<(ParkedId, ParkingError)>,
    held: Held,
}

struct ParkedEntry<T> {
    value: T,
    owner: Principal,
    since: Instant,
    expires: Instant,
    held: Held,
}

/// The token of a parked value.
pub(crate) struct ParkedToken {
    pub(crate) token: String,
    pub(crate) id: ParkedId,
    /// Milliseconds since 1970.
    pub(crate) expires: u64,
    ends: Instant,
}

/// What has to happen before another value can be kept.
enum Room {
    Enough,
    /// This value has to be dropped first.
    Evict(ParkedId),
    /// There is no room, since the new value itself holds the most.
    None,
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
    pub(crate) fn new(
        limits: ParkedCallLimits,
        clock: Arc<dyn Clock>,
        key: Option<[u8; 32]>,
    ) -> std::io::Result<Arc<Self>> {
        let epoch = (clock.now(), clock.unix());
        let inner = Mutex::new(Entries { parked: HashMap::new(), dropped: VecDeque::new(), held: Held::default() });
        let store = Arc::new(Self { sealer: TokenSealer::new(key)?, limits, clock, epoch, inner });
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

    /// Returns the id in a token, whether or not this process has the value, unless the token has expired.
    pub(crate) fn open(&self, token: &str, binding: &RequestBinding) -> Option<ParkedId> {
        let (id, expires) = self.sealer.open(token, binding)?;
        (expires > self.millis(self.clock.now())).then_some(id)
    }

    /// Drops all values.
    pub(crate) fn clear(&self) {
        let mut inner = self.lock();
        let parked = std::mem::take(&mut inner.parked);
        inner.held = Held::default();
        drop(inner);
        // Dropped outside the lock, since dropping a value can take time.
        drop(parked);
    }

    /// Makes the token of a value that is to be kept for this time.
    pub(crate) fn make_token(&self, keep: Duration, binding: &RequestBinding) -> std::io::Result<ParkedToken> {
        let id: ParkedId = random_bytes()?;
        let ends = self.clock.now() + keep;
        let expires = self.millis(ends);
        Ok(ParkedToken { token: self.sealer.seal(id, expires, binding)?, id, expires, ends })
    }

    /// Keeps a value until it is taken, expires, or has to make room. `held` is what it holds. If there is no room for it,
    /// drops it and returns false.
    pub(crate) fn park(&self, value: T, owner: &Principal, held: Held, token: &ParkedToken) -> bool {
        let (held, now) = (counted(held), self.clock.now());
        let mut evicted = Vec::new();
        let mut inner = self.lock();
        let refused = loop {
            match inner.find_room(&self.limits, owner, held) {
                Room::Enough => break false,
                Room::Evict(oldest) => evicted.extend(inner.remove(oldest, ParkingError::Evicted)),
                Room::None => break true,
            }
        };
        if !refused {
            inner.held = inner.held + held;
            let (owner, expires) = (owner.clone(), token.ends);
            inner.parked.insert(token.id, ParkedEntry { value, owner, since: now, expires, held });
        }
        drop(inner);
        // Dropped outside the lock, since dropping a value can take time.
        drop(evicted);
        !refused
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
                inner.held = inner.held - entry.held;
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
        let (began, unix) = self.epoch;
        u64::try_from((unix + at.saturating_duration_since(began)).as_millis()).unwrap_or(u64::MAX)
    }
}

impl<T> Entries<T> {
    /// Looks for room for another value of this owner.
    fn find_room(&self, limits: &ParkedCallLimits, owner: &Principal, held: Held) -> Room {
        let mut owners: HashMap<&Principal, Held> = HashMap::from([(owner, held)]);
        for entry in self.parked.values() {
            let sum = owners.entry(&entry.owner).or_default();
            *sum = *sum + entry.held;
        }
        let too_many = |own: Held| own.instances > limits.per_principal as u64;
        if too_many(held) || !fits(held, limits) {
            return Room::None;
        }
        let owner = match owners.get(owner).is_some_and(|own| too_many(*own)) {
            true => owner,
            false if fits(self.held + held, limits) => return Room::Enough,
            // The owner who holds the most loses the oldest value, so that nobody can displace the values of others.
            false => {
                let most = owners.into_iter().max_by_key(|(name, held)| (share(*held, limits), *name == owner));
                most.map_or(owner, |(name, _)| name)
            }
        };
        let own = self.parked.iter().filter(|(_, entry)| entry.owner == *owner);
        own.min_by_key(|(_, entry)| entry.since).map_or(Room::None, |(id, _)| Room::Evict(*id))
    }

    fn remove(&mut self, id: ParkedId, why: ParkingError) -> Option<ParkedEntry<T>> {
        let entry = self.parked.remove(&id)?;
        self.held = self.held - entry.held;
        self.dropped.push_back((id, why));
        if self.dropped.len() > REMEMBERED {
            self.dropped.pop_front();
        }
        tracing::info!(principal = %entry.owner, "dropped a parked call: {why:?}");
        Some(entry)
    }
}

#[cfg(test)]
mod tests;
