//! Stores what has changed, without delaying the calls that have changed it.
//!
//! Each change is stored a moment after it was made; a change that is not stored yet is lost if the process is killed. Several
//! processes may use one store. The last one that puts or removes a resource or prompt wins. A process that only adds to a
//! resource does not bring it back if another one has removed it. An inbox has the events of all processes.

use super::inbox::{INBOX, Inbox};
use super::item::{Item, OwnedItem};
use super::keeper::Keeper;
use super::moment::Moment;
use super::record::{PrincipalRecord, StoredContent};
use super::resource;
use super::store::PrincipalStore;
use super::unsaved::Over;
use platform::durable::{Durability, DurableError, Expected, Revision};
use std::sync::Weak;
use std::time::Duration;

/// Time between two writes. What changes all the time is stored once a second.
const PAUSE: Duration = Duration::from_secs(1);
/// Bytes per second, on average. Bounds how much plugins make a disk write by adding a byte to a large resource over and over.
const BYTES_PER_SECOND: u64 = 8 << 20;
/// Time before a store that does not work is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Stores what changes, for as long as somebody else holds the store.
pub(super) async fn run(waiting: Weak<PrincipalStore>) {
    loop {
        let Some(items) = waiting.upgrade() else { return };
        let wake = items.wake.clone();
        // This wait must not keep the store alive.
        drop(items);
        wake.notified().await;
        let Some(items) = waiting.upgrade() else { return };
        let pause = match items.try_save().await {
            Ok(bytes) => PAUSE + Duration::from_secs(bytes / BYTES_PER_SECOND),
            Err(_) => {
                wake.notify_one();
                RETRY
            }
        };
        drop(items);
        tokio::time::sleep(pause).await;
    }
}

impl PrincipalStore {
    /// Stores what has changed until now. An error goes to the log.
    pub async fn save(&self) {
        let _ = self.try_save().await;
    }

    /// Returns the number of bytes that were stored.
    pub(super) async fn try_save(&self) -> Result<u64, DurableError> {
        let Some(keeper) = self.keeper.get() else { return Ok(0) };
        let _turn = keeper.turn.lock().await;
        let changed = self.state.lock().unsaved.changed();
        let mut bytes = 0;
        for item in changed {
            let stored = self.save_item(keeper, &item).await;
            keeper.report(stored.as_ref().err());
            bytes += stored?;
        }
        Ok(bytes)
    }

    async fn save_item(&self, keeper: &Keeper, item: &OwnedItem) -> Result<u64, DurableError> {
        let key = item.key().map_err(|error| DurableError::Failed(error.to_string()))?;
        while let Some((over, expected, record)) = self.take_change(item) {
            let newest = record.as_ref().and_then(PrincipalRecord::newest_event);
            let bytes = record.as_ref().map(PrincipalRecord::to_bytes);
            let size = bytes.as_ref().map_or(0, Vec::len) as u64;
            let written = match bytes {
                Some(bytes) => keeper.store.put(&key, bytes, expected, Durability::Process).await.map(Some),
                None => keeper.store.remove(&key, expected, Durability::Process).await.map(|()| None),
            };
            match written {
                Ok(revision) => {
                    self.note_stored(item, revision, newest);
                    return Ok(size);
                }
                Err(DurableError::Conflict(found)) => {
                    if let Err(error) = self.settle(keeper, item, record.is_some(), found).await {
                        self.state.lock().unsaved.put_back(item, over);
                        return Err(error);
                    }
                }
                Err(error @ DurableError::TooLarge { .. }) => {
                    tracing::warn!(%error, owner = %item.owner, "something published is not stored");
                    return Ok(0);
                }
                Err(
                    error @ (DurableError::Moved { .. }
                    | DurableError::Fenced
                    | DurableError::Full(_)
                    | DurableError::Failed(_)
                    | DurableError::Closed),
                ) => {
                    self.state.lock().unsaved.put_back(item, over);
                    return Err(error);
                }
            }
        }
        Ok(0)
    }

    /// What is to be stored of an item, none if it is to be removed.
    fn take_change(&self, item: &OwnedItem) -> Option<(Over, Expected, Option<PrincipalRecord>)> {
        let moment = Moment { now: self.clock.now(), wall: self.clock.wall() };
        let mut state = self.state.lock();
        let over = state.unsaved.take(item)?;
        let record = PrincipalRecord::new(state.owners.get(&item.owner), item, moment);
        let expected = state.unsaved.expected(item, over);
        // An item that is neither here nor known to be stored need not be removed.
        (record.is_some() || expected != Expected::Nothing).then_some((over, expected, record))
    }

    fn note_stored(&self, item: &OwnedItem, revision: Option<Revision>, newest_event: Option<u64>) {
        let mut state = self.state.lock();
        state.unsaved.set_stored(item, revision);
        if let (Some(newest), Some(own)) = (newest_event, state.owners.get_mut(&item.owner)) {
            own.inbox.stored = newest;
        }
    }

    /// Resolves a conflict: another process has changed the item since this one stored or read it. `is_here` is whether this
    /// process has the item.
    async fn settle(
        &self,
        keeper: &Keeper,
        item: &OwnedItem,
        is_here: bool,
        found: Option<Revision>,
    ) -> Result<(), DurableError> {
        match (&item.item, found) {
            (Item::Inbox, _) if is_here => self.join_inbox(keeper, item).await?,
            // It has expired here, but another process has given it more time.
            _ if !is_here => self.state.lock().unsaved.set_stored(item, None),
            // The last writer wins.
            (Item::Resource(_) | Item::Prompt(_) | Item::Inbox, Some(_)) => {
                self.state.lock().unsaved.put_back(item, Over::Anything)
            }
            (Item::Resource(_) | Item::Prompt(_) | Item::Inbox, None) => self.drop_removed(item),
        }
        Ok(())
    }

    /// Adds the events that only this process has to those that others have stored.
    async fn join_inbox(&self, keeper: &Keeper, item: &OwnedItem) -> Result<(), DurableError> {
        let key = item.key().map_err(|error| DurableError::Failed(error.to_string()))?;
        let found = keeper.store.get(&key).await?;
        let read = found.as_ref().and_then(|found| PrincipalRecord::from_bytes(&found.value));
        let moment = Moment { now: self.clock.now(), wall: self.clock.wall() };
        self.with_owner(&item.owner, |own, context| {
            context.unsaved.set_stored(item, found.map(|found| found.revision));
            if let Some(PrincipalRecord { content: StoredContent::Inbox(record), .. }) = read {
                own.inbox.go_on_from(Inbox::from_record(record, moment, &keeper.is_there));
                context.changed(INBOX);
            }
            context.store(Item::Inbox, Over::Known);
        });
        Ok(())
    }

    /// Drops an item to which this process has added something and which another process has removed.
    fn drop_removed(&self, item: &OwnedItem) {
        self.with_owner(&item.owner, |own, context| {
            context.unsaved.set_stored(item, None);
            if context.unsaved.take(item) == Some(Over::Anything) {
                // It was published anew meanwhile, and that wins.
                context.unsaved.put_back(item, Over::Anything);
                return;
            }
            match &item.item {
                Item::Resource(tail) if own.resources.remove(tail).is_some() => {
                    context.resources_changed();
                    context.changed(&resource::uri(tail));
                }
                Item::Prompt(name) if own.prompts.remove(name).is_some() => context.prompts_changed(),
                Item::Resource(_) | Item::Prompt(_) | Item::Inbox => {}
            }
        });
    }
}

impl Drop for PrincipalStore {
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}
