//! Parked calls in a durable store: what is needed to take one up when the process that parked it is gone, or had no room
//! for it any more. Any process over the same store and with the same key can do so, once.

use super::seal::ParkedId;
use data_encoding::HEXLOWER;
use platform::audit::{Audit, AuditEvent, AuditRecord};
use platform::clock::Clock;
use platform::durable::{DurableError, DurableStore, Expected, Key, Revision, Strength};
use platform::sync::Mutex;
use platform::telemetry::ResourceUsage;
use policy::{PluginId, Principal, Side};
use runtime::engine::CallError;
use runtime::journal::{decode, encode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How many times as many calls of one principal are kept in the store as in memory. Bounds what a client writes that begins
/// calls and never returns.
const PER_PLACE_IN_MEMORY: usize = 16;
/// How often expired records are looked for, if there are any.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);
/// Records of a page of the list.
const PAGE: u32 = 200;

/// A call that can be taken up from its journal.
#[derive(Serialize, Deserialize)]
pub(crate) struct ParkedRecord {
    pub(crate) owner: String,
    /// The plugin and the tool that it calls.
    pub(crate) plugin: String,
    pub(crate) tool: String,
    /// The id of the call.
    pub(crate) call: String,
    /// How long it has run, waiting not included; milliseconds.
    pub(crate) worked: u64,
    /// Milliseconds since 1970.
    pub(crate) expires: u64,
    /// Its journal.
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
    /// What this process knows to be in the store, by its end.
    known: Mutex<BTreeMap<(u64, Key), String>>,
}

impl ParkedRecords {
    /// Removes what expires, for as long as it is in use.
    pub(crate) fn new(
        store: Arc<dyn DurableStore>,
        clock: Arc<dyn Clock>,
        per_principal: usize,
        audit: Audit,
    ) -> Arc<Self> {
        let per_principal = per_principal.saturating_mul(PER_PLACE_IN_MEMORY);
        let records = Arc::new(Self { store, clock, per_principal, audit, known: Mutex::default() });
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

    /// Stores a call. It is there when this returns.
    pub(crate) async fn put(&self, id: ParkedId, record: &ParkedRecord) -> Result<StoredCall, DurableError> {
        let key = key(id)?;
        let oldest = {
            let mut known = self.known.lock();
            let own = known.iter().filter(|(_, owner)| **owner == record.owner);
            let oldest = own.clone().next().map(|(place, _)| place.clone());
            let oldest = oldest.filter(|_| own.count() >= self.per_principal);
            if let Some(place) = &oldest {
                known.remove(place);
            }
            known.insert((record.expires, key.clone()), record.owner.clone());
            oldest
        };
        if let Some((_, key)) = oldest {
            self.end(key).await;
        }
        let revision = self.store.put(&key, encode(record), Expected::Nothing, Strength::Process).await?;
        Ok(StoredCall { key, revision })
    }

    /// Takes a call out of the store. None if somebody else has done so.
    pub(crate) async fn take(&self, id: ParkedId) -> Result<Option<ParkedRecord>, DurableError> {
        let key = key(id)?;
        let Some(found) = self.store.get(&key).await? else { return Ok(None) };
        let Some(record) = decode::<ParkedRecord>(&found.value) else {
            return Err(DurableError::Failed(format!("{key} cannot be read")));
        };
        let stored = StoredCall { key, revision: found.revision };
        Ok(self.remove(&stored).await?.then_some(record))
    }

    /// Removes the record of a call that goes on here; false if it goes on elsewhere.
    pub(crate) async fn remove(&self, stored: &StoredCall) -> Result<bool, DurableError> {
        self.known.lock().retain(|(_, key), _| *key != stored.key);
        match self.store.remove(&stored.key, Expected::At(stored.revision), Strength::Process).await {
            Ok(()) => Ok(true),
            Err(DurableError::Conflict(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Notes what other processes, and earlier ones, have stored.
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
                // One that cannot be read expires at once.
                let (expires, owner) = decode::<ParkedRecord>(&record.value)
                    .map_or_else(Default::default, |record| (record.expires, record.owner));
                self.known.lock().insert((expires, key), owner);
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

    /// Removes a call to which nobody returns any more. Whoever removes it records its end.
    async fn end(&self, key: Key) {
        let removed = async {
            let Some(found) = self.store.get(&key).await? else { return Ok(None) };
            let stored = StoredCall { key: key.clone(), revision: found.revision };
            Ok::<_, DurableError>(self.remove(&stored).await?.then(|| decode::<ParkedRecord>(&found.value)).flatten())
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
            steps: vec![vec![1, 2], vec![]],
        }
    }

    #[derive(Default)]
    struct Kept(Mutex<Vec<AuditRecord>>);

    impl platform::audit::Journal for Kept {
        fn keep(&self, record: AuditRecord) {
            self.0.lock().push(record);
        }
    }

    #[tokio::test]
    async fn a_call_is_taken_once_whoever_takes_it() {
        let clock = Arc::new(SystemClock);
        let store: Arc<dyn DurableStore> = Arc::new(MemoryStore::new(clock.clone()));
        let open = || ParkedRecords::new(store.clone(), clock.clone(), 1, Audit::none());
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
        let records = ParkedRecords::new(Arc::new(MemoryStore::new(clock.clone())), clock, 1, Audit::none());
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
    async fn what_an_earlier_process_left_expires() {
        let clock = Arc::new(SystemClock);
        let store: Arc<dyn DurableStore> = Arc::new(MemoryStore::new(clock.clone()));
        let earlier = ParkedRecords::new(store.clone(), clock.clone(), 1, Audit::none());
        earlier.put([1; 16], &record("ann", 1)).await.unwrap();
        earlier.put([2; 16], &record("ann", u64::MAX)).await.unwrap();
        drop(earlier);
        let journal = Arc::new(Kept::default());
        let records =
            [(); 2].map(|()| ParkedRecords::new(store.clone(), clock.clone(), 1, Audit::new(journal.clone())));
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
