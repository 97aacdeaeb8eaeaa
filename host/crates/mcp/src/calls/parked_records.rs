//! Parked calls in a durable store: the data to take a call up when the process that parked it is gone, or had to drop it from
//! memory. Any process with the same store and the same key can do so, but only once.

use super::seal::ParkedId;
use data_encoding::HEXLOWER;
use platform::audit::{Audit, AuditEvent, AuditRecord};
use platform::clock::Clock;
use platform::durable::{Durability, DurableError, DurableStore, Expected, Key, Revision};
use platform::sync::Mutex;
use platform::telemetry::ResourceUsage;
use policy::{ParkedCallLimits, PluginId, Principal, Side};
use runtime::engine::CallError;
use runtime::journal::{byte_strings, decode, encode};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// How many times more calls of one principal may be in the store than in memory. Bounds what a client writes that begins calls
/// and never returns.
const PER_PLACE_IN_MEMORY: usize = 16;
/// Time between two searches for expired records, while there are records.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);
/// Records of a page of the list.
const PAGE: u32 = 200;

/// The version of the record format. A record in another format is not taken up.
const FORMAT: u32 = 1;

/// The stored form of a call.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    format: u32,
    call: T,
}

/// A call that can be taken up from its journal.
#[derive(Serialize, Deserialize)]
pub(crate) struct ParkedRecord {
    pub(crate) owner: String,
    /// The plugin and the tool that it calls.
    pub(crate) plugin: String,
    pub(crate) tool: String,
    /// The id of the call.
    pub(crate) call: String,
    /// How long it has run without waiting, in milliseconds.
    pub(crate) worked: u64,
    /// Milliseconds since 1970.
    pub(crate) expires: u64,
    /// The keys of the questions and calls that its client was asked.
    pub(crate) asked: Vec<String>,
    /// Its journal.
    #[serde(with = "byte_strings")]
    pub(crate) steps: Vec<Vec<u8>>,
}

/// The record of one parked call in the store.
#[derive(Clone)]
pub(crate) struct StoredCall {
    key: Key,
    revision: Revision,
}

pub(crate) struct ParkedRecords {
    store: Arc<dyn DurableStore>,
    clock: Arc<dyn Clock>,
    per_principal: usize,
    audit: Audit,
    /// Bytes of all records, and of those of one principal. Without these limits, calls to which nobody returns would fill the
    /// disk.
    most_bytes: (u64, u64),
    /// The records that this process knows to be in the store, by their expiry.
    known: Mutex<BTreeMap<(u64, Key), Known>>,
}

/// What this process knows of a stored call.
#[derive(Clone, Default)]
struct Known {
    owner: String,
    bytes: u64,
}

impl ParkedRecords {
    /// Starts a sweep that removes expired records as long as this is in use.
    pub(crate) fn new(
        store: Arc<dyn DurableStore>,
        clock: Arc<dyn Clock>,
        limits: &ParkedCallLimits,
        audit: Audit,
    ) -> Arc<Self> {
        let per_principal = limits.per_principal.saturating_mul(PER_PLACE_IN_MEMORY);
        let most_bytes = (limits.memory.as_u64(), limits.of_one().memory.as_u64());
        let records = Arc::new(Self { store, clock, per_principal, audit, most_bytes, known: Mutex::default() });
        let swept = Arc::downgrade(&records);
        tokio::spawn(async move {
            if let Some(records) = swept.upgrade() {
                records.find_all().await;
            }
            let mut interval = tokio::time::interval(SWEEP_INTERVAL);
            loop {
                interval.tick().await;
                let Some(records) = swept.upgrade() else { return };
                records.sweep().await;
            }
        });
        records
    }

    /// Stores a call, which is in the store when this returns. Removes others to make room: of the same owner, or of the
    /// principal who has the most.
    pub(crate) async fn put(&self, id: ParkedId, record: &ParkedRecord) -> Result<StoredCall, DurableError> {
        let (key, value) = (key(id)?, encode(&Stored { format: FORMAT, call: record }));
        let new = Known { owner: record.owner.clone(), bytes: value.len() as u64 };
        if new.bytes > self.most_bytes.1 {
            return Err(DurableError::TooLarge { bytes: new.bytes, most: self.most_bytes.1 });
        }
        for old in self.make_room((record.expires, key.clone()), new) {
            self.end(old).await;
        }
        let revision = self.store.put(&key, value, Expected::Nothing, Durability::Process).await?;
        Ok(StoredCall { key, revision })
    }

    /// Adds a new call to those known, and returns the keys of the calls that it leaves no room for.
    fn make_room(&self, place: (u64, Key), new: Known) -> Vec<Key> {
        let mut known = self.known.lock();
        let mut owners = HashMap::<String, (usize, u64)>::new();
        for Known { owner, bytes } in known.values().chain([&new]) {
            let owned = owners.entry(owner.clone()).or_default();
            *owned = (owned.0 + 1, owned.1 + bytes);
        }
        let mut removed = Vec::new();
        loop {
            let own = owners.get(&new.owner).copied().unwrap_or_default();
            let all: u64 = owners.values().map(|(_, bytes)| bytes).sum();
            let loser = if own.0 > self.per_principal || own.1 > self.most_bytes.1 {
                new.owner.clone()
            } else if all > self.most_bytes.0 {
                owners.iter().max_by_key(|(_, (_, bytes))| *bytes).map_or_else(String::new, |(owner, _)| owner.clone())
            } else {
                break;
            };
            let Some(oldest) = known.iter().find(|(_, old)| old.owner == loser).map(|(place, _)| place.clone()) else {
                break;
            };
            if let (Some(old), Some(owned)) = (known.remove(&oldest), owners.get_mut(&loser)) {
                *owned = (owned.0 - 1, owned.1 - old.bytes);
            }
            removed.push(oldest.1);
        }
        known.insert(place, new);
        removed
    }

    /// Takes a call out of the store. None if another process has done so.
    pub(crate) async fn take(&self, id: ParkedId) -> Result<Option<ParkedRecord>, DurableError> {
        let key = key(id)?;
        let Some(found) = self.store.get(&key).await? else { return Ok(None) };
        let Some(record) = read(&found.value) else {
            return Err(DurableError::Failed(format!("{key} was written by another version of this program")));
        };
        let stored = StoredCall { key, revision: found.revision };
        Ok(self.remove(&stored).await?.then_some(record))
    }

    /// Removes the record of a call that goes on here. False if the call goes on elsewhere.
    pub(crate) async fn remove(&self, stored: &StoredCall) -> Result<bool, DurableError> {
        self.known.lock().retain(|(_, key), _| *key != stored.key);
        match self.store.remove(&stored.key, Expected::At(stored.revision), Durability::Process).await {
            Ok(()) => Ok(true),
            Err(DurableError::Conflict(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Adds the records that other and earlier processes have stored to those known.
    async fn find_all(&self) {
        let Ok(prefix) = Key::new(PREFIX) else { return };
        let mut after: Option<Key> = None;
        loop {
            let page = match self.store.list(&prefix, after.as_ref(), PAGE).await {
                Ok(page) => page,
                Err(error) => return tracing::warn!(%error, "parked calls of earlier processes cannot be listed"),
            };
            let Some((last, _)) = page.last() else { return };
            after = Some(last.clone());
            for (key, record) in page {
                // A record that cannot be read expires at once.
                let bytes = record.value.len() as u64;
                let (expires, owner) = read(&record.value).map_or_else(Default::default, |it| (it.expires, it.owner));
                self.known.lock().insert((expires, key), Known { owner, bytes });
            }
        }
    }

    async fn sweep(&self) {
        let now = u64::try_from(self.clock.unix().as_millis()).unwrap_or(u64::MAX);
        let expired: Vec<Key> = {
            let mut known = self.known.lock();
            let expired = known.keys().take_while(|(expires, _)| *expires <= now).cloned().collect::<Vec<_>>();
            expired.iter().for_each(|place| drop(known.remove(place)));
            expired.into_iter().map(|(_, key)| key).collect()
        };
        for key in expired {
            self.end(key).await;
        }
    }

    /// Removes a call to which nobody returns any more. The process whose removal succeeds audits the end of the call.
    async fn end(&self, key: Key) {
        let removed = async {
            let Some(found) = self.store.get(&key).await? else { return Ok(None) };
            let stored = StoredCall { key: key.clone(), revision: found.revision };
            Ok::<_, DurableError>(self.remove(&stored).await?.then(|| read(&found.value)).flatten())
        };
        match removed.await {
            Ok(None) => {}
            Ok(Some(ParkedRecord { owner, plugin, tool, call, .. })) => self.audit.record(AuditRecord {
                principal: Some(Principal::from_stored(&owner)),
                plugin: Some(PluginId { side: Side::Server, name: plugin.into() }),
                digest: None,
                call: Some(call.into()),
                parent: None,
                event: AuditEvent::Verdict {
                    tool: tool.into(),
                    outcome: CallError::Cancelled.code(),
                    arguments: None,
                    denials: 0,
                    cost: ResourceUsage::default(),
                },
            }),
            Err(error) => tracing::warn!(%error, "a parked call that has expired stays in the store"),
        }
    }
}

fn read(value: &[u8]) -> Option<ParkedRecord> {
    decode::<Stored<ParkedRecord>>(value).filter(|stored| stored.format == FORMAT).map(|stored| stored.call)
}

const PREFIX: &str = "parked";

fn key(id: ParkedId) -> Result<Key, DurableError> {
    Key::new(format!("{PREFIX}/{}", HEXLOWER.encode(&id))).map_err(|error| DurableError::Failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::SystemClock;
    use platform::durable::MemoryStore;

    fn record(owner: &str, expires: u64) -> ParkedRecord {
        ParkedRecord {
            owner: owner.into(),
            plugin: "p".into(),
            tool: "p__t".into(),
            call: "c".into(),
            worked: 5,
            expires,
            asked: vec!["k".into()],
            steps: vec![vec![1, 2], vec![]],
        }
    }

    fn few() -> ParkedCallLimits {
        ParkedCallLimits { calls: 4, per_principal: 1, memory: bytesize::ByteSize::kib(16), stored: true }
    }

    #[derive(Default)]
    struct Kept(Mutex<Vec<AuditRecord>>);

    impl platform::audit::AuditLog for Kept {
        fn keep(&self, record: AuditRecord) {
            self.0.lock().push(record);
        }
    }

    #[tokio::test]
    async fn a_call_is_taken_once_whoever_takes_it() {
        let clock = Arc::new(SystemClock);
        let store: Arc<dyn DurableStore> = Arc::new(MemoryStore::new(clock.clone()));
        let open = || ParkedRecords::new(store.clone(), clock.clone(), &few(), Audit::none());
        let (one, other) = (open(), open());
        let stored = one.put([7; 16], &record("ann", u64::MAX)).await.unwrap();
        let taken = other.take([7; 16]).await.unwrap().unwrap();
        assert_eq!((taken.call.as_str(), taken.steps), ("c", vec![vec![1, 2], vec![]]));
        assert!(!one.remove(&stored).await.unwrap(), "it goes on elsewhere");
        assert!(one.take([7; 16]).await.unwrap().is_none() && other.take([7; 16]).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_principal_that_never_returns_loses_its_own() {
        let clock = Arc::new(SystemClock);
        let records = ParkedRecords::new(Arc::new(MemoryStore::new(clock.clone())), clock, &few(), Audit::none());
        let most = u8::try_from(PER_PLACE_IN_MEMORY).unwrap();
        records.put([200; 16], &record("bob", 1)).await.unwrap();
        for at in 0..=most {
            records.put([at; 16], &record("ann", u64::from(at) + 10)).await.unwrap();
        }
        assert!(records.take([0; 16]).await.unwrap().is_none(), "her oldest");
        assert!(records.take([1; 16]).await.unwrap().is_some() && records.take([most; 16]).await.unwrap().is_some());
        assert!(records.take([200; 16]).await.unwrap().is_some(), "nobody else's");
    }

    #[tokio::test]
    async fn whoever_takes_the_most_room_gives_way() {
        let clock = Arc::new(SystemClock);
        let records = ParkedRecords::new(Arc::new(MemoryStore::new(clock.clone())), clock, &few(), Audit::none());
        let large =
            |owner: &str, expires, bytes| ParkedRecord { steps: vec![vec![0; bytes]], ..record(owner, expires) };
        let refused = records.put([9; 16], &large("ann", 50, 5 << 10)).await;
        assert!(matches!(refused, Err(DurableError::TooLarge { .. })), "more than her part");
        let owners = ["ann", "bob", "cat", "dan", "eve", "fay", "gus", "hal"];
        for (at, owner) in (0..).zip(owners) {
            let bytes = if owner == "cat" { 3 << 10 } else { 2 << 10 };
            records.put([at; 16], &large(owner, 10 + u64::from(at), bytes)).await.unwrap();
        }
        let mut left = Vec::new();
        for at in 0..8 {
            left.extend(records.take([at; 16]).await.unwrap().map(|record| record.owner));
        }
        assert_eq!(left, ["ann", "bob", "dan", "eve", "fay", "gus", "hal"], "cat had the most");
        records.put([20; 16], &large("ann", 10, 3 << 10)).await.unwrap();
        records.put([21; 16], &large("ann", 20, 3 << 10)).await.unwrap();
        assert!(records.take([20; 16]).await.unwrap().is_none() && records.take([21; 16]).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn what_an_earlier_process_left_expires() {
        let clock = Arc::new(SystemClock);
        let store: Arc<dyn DurableStore> = Arc::new(MemoryStore::new(clock.clone()));
        let earlier = ParkedRecords::new(store.clone(), clock.clone(), &few(), Audit::none());
        earlier.put([1; 16], &record("ann", 1)).await.unwrap();
        earlier.put([2; 16], &record("ann", u64::MAX)).await.unwrap();
        drop(earlier);
        let journal = Arc::new(Kept::default());
        let records =
            [(); 2].map(|()| ParkedRecords::new(store.clone(), clock.clone(), &few(), Audit::new(journal.clone())));
        for records in &records {
            records.find_all().await;
            records.sweep().await;
        }
        let [records, _] = records;
        let ended: Vec<_> = journal.0.lock().iter().map(|record| record.call.clone()).collect();
        assert_eq!(ended, [Some("c".into())], "one of the two processes records the end");
        assert!(records.take([1; 16]).await.unwrap().is_none() && records.take([2; 16]).await.unwrap().is_some());
    }
}
