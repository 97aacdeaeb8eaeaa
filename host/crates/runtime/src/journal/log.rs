//! Where the records of a durable call are stored.

use super::entry::Entry;
use platform::durable::{Durability, DurableError, DurableStore, Entries, Fence, Key, StoreAnswer};
use std::sync::Arc;

/// Bytes that are read at once. Most logs are not longer than the first part, which a store may read without another thread.
const PART: u64 = 1 << 20;
const FIRST_PART: u64 = 64 << 10;

/// The log of one call. It is written by one process at a time, whose token the store checks.
#[derive(Clone)]
pub struct JournalLog {
    pub store: Arc<dyn DurableStore>,
    pub key: Key,
    pub fence: Fence,
    pub durability: Durability,
    /// The number of the next record.
    pub next: u64,
    /// Takes bytes of what the owner of the call may store, and gives them back.
    pub room: JournalRoom,
    /// Called before a checkpoint is written: the owner of the call then stores what a replay of the earlier records would have
    /// produced again.
    pub before_checkpoint: Option<BeforeCheckpoint>,
}

pub type BeforeCheckpoint = Arc<dyn Fn() + Send + Sync>;

/// False if there is no room for what was to be taken.
pub type JournalRoom = Arc<dyn Fn(RoomChange) -> bool + Send + Sync>;

/// Bytes of what the owner of a call may store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomChange {
    Take(u64),
    GiveBack(u64),
}

impl JournalLog {
    pub(super) fn before_checkpoint(&self) {
        if let Some(before) = &self.before_checkpoint {
            before();
        }
    }

    /// All records of a log.
    pub async fn read(store: &dyn DurableStore, key: &Key) -> Result<Entries, DurableError> {
        let mut all = store.read(key, 0, FIRST_PART).await?;
        loop {
            let read = all.first + all.entries.len() as u64;
            if read >= all.next {
                return Ok(all);
            }
            let part = Self::read_part(store, key, read).await?;
            if part.first != read {
                // A checkpoint has taken the place of what was read.
                all = part;
            } else {
                all.entries.extend(part.entries);
                all.next = part.next;
            }
        }
    }

    /// Some records from a number on; those of a log that was replaced meanwhile have higher numbers.
    pub(super) fn read_part(store: &dyn DurableStore, key: &Key, from: u64) -> StoreAnswer<Entries> {
        store.read(key, from, PART)
    }

    /// Leaves only the reason why the call cannot be replayed.
    pub(super) fn give_up(self, why: &str) {
        // Both are queued now, in this order. If the second fails, the log is missing, and the call is not replayed either.
        drop(self.store.remove_log(&self.key));
        drop(self.store.append(&self.key, self.fence, 0, vec![Entry::gave_up(why)], self.durability));
    }
}
