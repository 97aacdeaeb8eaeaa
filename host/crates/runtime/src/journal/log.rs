//! Where the records of a durable call are stored.

use platform::durable::{Answer, DurableStore, Fence, Key, Strength};
use std::sync::Arc;

/// The log of one call. It is written by one process at a time, whose token the store checks.
#[derive(Clone)]
pub struct JournalLog {
    pub store: Arc<dyn DurableStore>,
    pub key: Key,
    pub fence: Fence,
    pub strength: Strength,
    /// The number of the next record.
    pub next: u64,
}

impl JournalLog {
    /// Takes its turn at once, whether or not the answer is waited for.
    pub(super) fn append(&mut self, entry: Vec<u8>) -> Answer<()> {
        let next = self.next;
        self.next += 1;
        self.store.append(&self.key, self.fence, next, vec![entry], self.strength)
    }
}
