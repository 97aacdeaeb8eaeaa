//! The table of the stored keys that this process knows: counts them against the limits, and says when each is to be removed.

use super::record::{EvictionOrder, KeyRecord};
use platform::durable::Key;
use policy::IdempotencyLimits;
use std::collections::{BTreeSet, HashMap};

/// Bytes that are counted for each key besides its record, so that many small keys are not free.
const OVERHEAD: u64 = 512;

#[derive(Default)]
pub(super) struct KeyTable {
    keys: HashMap<Key, CountedRecord>,
    /// The keys by the time at which they are to be removed, in milliseconds since 1970.
    by_expiry: BTreeSet<(u64, Key)>,
    owners: HashMap<String, Owned>,
    count: u32,
    bytes: u64,
}

/// The data of a record that the limits need.
#[derive(Clone)]
pub(super) struct CountedRecord {
    owner: String,
    expires: u64,
    bytes: u64,
    eviction_order: Option<EvictionOrder>,
}

#[derive(Default)]
struct Owned {
    count: u32,
    bytes: u64,
    /// The keys that may be removed to make room, in that order.
    spare: BTreeSet<(EvictionOrder, u64, Key)>,
}

impl CountedRecord {
    pub(super) fn new(record: &KeyRecord, bytes: usize) -> Self {
        let bytes = bytes as u64 + OVERHEAD;
        let eviction_order = record.state.eviction_order();
        Self { owner: record.principal.clone(), expires: record.expires, bytes, eviction_order }
    }

    /// Counts a record that this version cannot read.
    pub(super) fn unreadable(expires: u64, bytes: usize) -> Self {
        Self {
            owner: String::new(),
            expires,
            bytes: bytes as u64 + OVERHEAD,
            eviction_order: Some(EvictionOrder::Later),
        }
    }
}

impl KeyTable {
    /// Adds or updates a key, and returns the keys that must be removed to make room for it: the oldest of its owner, or of the
    /// principal who has the most. If there is no room, returns none and changes nothing.
    pub(super) fn put(&mut self, key: &Key, kept: CountedRecord, limits: &IdempotencyLimits) -> Option<Vec<Key>> {
        let before = self.remove(key);
        let (owner, bytes) = (kept.owner.clone(), kept.bytes);
        let mut gone = Vec::new();
        loop {
            let own = self.owners.get(&owner).map_or(0, |own| own.count);
            let loser = if own >= limits.per_principal {
                Some(owner.clone())
            } else if self.count >= limits.kept {
                self.with_most(|own| u64::from(own.count))
            } else if self.bytes + bytes > limits.size.as_u64() {
                self.with_most(|own| own.bytes)
            } else {
                break;
            };
            let spare = loser.and_then(|loser| self.owners.get(&loser)?.spare.first().map(|(_, _, key)| key.clone()));
            let Some(spare) = spare else {
                gone.into_iter()
                    .chain(before.map(|before| (key.clone(), before)))
                    .for_each(|(key, kept)| self.insert(&key, kept));
                return None;
            };
            gone.extend(self.remove(&spare).map(|kept| (spare, kept)));
        }
        self.insert(key, kept);
        Some(gone.into_iter().map(|(key, _)| key).collect())
    }

    /// The owner who has the most of `what`, among those who have a key that may be removed.
    fn with_most(&self, what: impl Fn(&Owned) -> u64) -> Option<String> {
        let able = self.owners.iter().filter(|(_, own)| !own.spare.is_empty());
        able.max_by_key(|(_, own)| what(own)).map(|(owner, _)| owner.clone())
    }

    /// Adds a key that is already stored, whether or not there is room for it.
    pub(super) fn insert(&mut self, key: &Key, kept: CountedRecord) {
        self.remove(key);
        self.by_expiry.insert((kept.expires, key.clone()));
        let own = self.owners.entry(kept.owner.clone()).or_default();
        own.count += 1;
        own.bytes += kept.bytes;
        own.spare.extend(kept.eviction_order.map(|way| (way, kept.expires, key.clone())));
        self.count += 1;
        self.bytes += kept.bytes;
        self.keys.insert(key.clone(), kept);
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<CountedRecord> {
        let kept = self.keys.remove(key)?;
        self.by_expiry.remove(&(kept.expires, key.clone()));
        self.count -= 1;
        self.bytes -= kept.bytes;
        if let Some(own) = self.owners.get_mut(&kept.owner) {
            own.count -= 1;
            own.bytes -= kept.bytes;
            if let Some(way) = kept.eviction_order {
                own.spare.remove(&(way, kept.expires, key.clone()));
            }
            if own.count == 0 {
                self.owners.remove(&kept.owner);
            }
        }
        Some(kept)
    }

    /// Sets when a key is to be looked at again.
    pub(super) fn set_expiry(&mut self, key: &Key, expires: u64) {
        if let Some(kept) = self.remove(key) {
            self.insert(key, CountedRecord { expires, ..kept });
        }
    }

    /// When the next key is to be removed.
    pub(super) fn next_expiry(&self) -> Option<u64> {
        self.by_expiry.first().map(|(expires, _)| *expires)
    }

    /// A key whose time is over.
    pub(super) fn expired(&self, now: u64) -> Option<Key> {
        self.by_expiry.first().filter(|(expires, _)| *expires <= now).map(|(_, key)| key.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytesize::ByteSize;

    fn key(name: &str) -> Key {
        Key::new(format!("idempotency/{name}")).unwrap()
    }

    fn kept(owner: &str, expires: u64, bytes: u64, eviction_order: Option<EvictionOrder>) -> CountedRecord {
        CountedRecord { owner: owner.into(), expires, bytes, eviction_order }
    }

    fn limits(kept: u32, per_principal: u32, size: u64) -> IdempotencyLimits {
        IdempotencyLimits { kept, per_principal, size: ByteSize(size), ..IdempotencyLimits::default() }
    }

    #[test]
    fn a_principals_oldest_ended_key_makes_room() {
        let (limits, mut table) = (limits(100, 3, 1_000), KeyTable::default());
        let mut put = |name: &str, expires, way| table.put(&key(name), kept("ann", expires, 1, way), &limits);
        assert_eq!(put("open", 1, Some(EvictionOrder::Later)), Some(vec![]));
        assert_eq!(put("old", 5, Some(EvictionOrder::First)), Some(vec![]));
        assert_eq!(put("older", 4, Some(EvictionOrder::First)), Some(vec![]));
        assert_eq!(put("a", 6, None), Some(vec![key("older")]));
        assert_eq!(put("b", 7, None), Some(vec![key("old")]));
        assert_eq!(put("c", 8, None), Some(vec![key("open")]), "before it is refused");
        assert_eq!(put("d", 9, None), None, "all run");
        assert_eq!(put("a", 6, Some(EvictionOrder::First)), Some(vec![]), "its end needs no place of its own");
        assert_eq!(put("d", 9, None), Some(vec![key("a")]));
    }

    #[test]
    fn whoever_has_the_most_makes_room_for_others() {
        let (limits, mut table) = (limits(4, 3, 100), KeyTable::default());
        let done = Some(EvictionOrder::First);
        for (name, expires) in [("a1", 1), ("a2", 2), ("a3", 3)] {
            table.put(&key(name), kept("ann", expires, 10, done), &limits).unwrap();
        }
        table.put(&key("b1"), kept("bob", 0, 10, done), &limits).unwrap();
        assert_eq!(table.put(&key("c1"), kept("cat", 9, 10, done), &limits), Some(vec![key("a1")]));
        assert_eq!(table.put(&key("b1"), kept("bob", 0, 80, done), &limits), Some(vec![key("a2")]), "bytes");
        let before = (table.count, table.bytes);
        assert_eq!(table.put(&key("d1"), kept("dan", 9, 101, None), &limits), None);
        assert_eq!((table.count, table.bytes, table.keys.len()), (before.0, before.1, 3), "nothing has changed");
        assert_eq!((table.next_expiry(), table.expired(0)), (Some(0), Some(key("b1"))));
        table.set_expiry(&key("b1"), 50);
        assert_eq!(table.expired(8), Some(key("a3")));
        for name in ["a3", "b1", "c1"] {
            table.remove(&key(name)).unwrap();
        }
        assert!(table.owners.is_empty() && table.by_expiry.is_empty());
        assert_eq!((table.count, table.bytes), (0, 0));
    }
}
