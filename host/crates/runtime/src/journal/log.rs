//! Where the records of a durable call are stored.

use super::entry::Entry;
use platform::durable::{Answer, DurableError, DurableStore, Fence, Key, Strength};
use std::sync::Arc;

/// Bytes that are read at once.
const PART: u64 = 1 << 20;

/// The log of one call. It is written by one process at a time, whose token the store checks.
#[derive(Clone)]
pub struct JournalLog {
    pub store: Arc<dyn DurableStore>,
    pub key: Key,
    pub fence: Fence,
    pub strength: Strength,
    /// The number of the next record.
    pub next: u64,
    /// Takes so many bytes of what the owner of the call may store; false if there is no room for them.
    pub room: JournalRoom,
}

/// Whether there is room for so many bytes more, which are taken then.
pub type JournalRoom = Arc<dyn Fn(u64) -> bool + Send + Sync>;

impl JournalLog {
    /// All records of a log.
    pub async fn read(store: &dyn DurableStore, key: &Key) -> Result<Vec<Vec<u8>>, DurableError> {
        let mut records = Vec::new();
        loop {
            let part = store.read(key, records.len() as u64, PART).await?;
            if part.entries.is_empty() {
                return Ok(records);
            }
            records.extend(part.entries);
        }
    }

    /// Takes its turn at once, whether or not the answer is waited for.
    pub(super) fn append(&mut self, entries: Vec<Vec<u8>>) -> Answer<()> {
        let next = self.next;
        self.next += entries.len() as u64;
        self.store.append(&self.key, self.fence, next, entries, self.strength)
    }

    /// Leaves only the reason why the call cannot be replayed.
    pub(super) fn give_up(self, why: &str) {
        // Each takes its turn now. If the second fails, the log is missing, and the call is not replayed either.
        drop(self.store.remove_log(&self.key));
        drop(self.store.append(&self.key, self.fence, 0, vec![Entry::gave_up(why)], self.strength));
    }
}
