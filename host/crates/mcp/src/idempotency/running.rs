//! The keys that are in use in this process: one request at a time uses a key, and the others wait.

use platform::durable::Key;
use platform::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Requests that wait for one call. Bounds the memory for a client that repeats a long call without end.
pub(crate) const MOST_WAITING: u32 = 64;

#[derive(Clone, Default)]
pub(super) struct RunningKeys(Arc<Mutex<HashMap<Key, InUse>>>);

#[derive(Default)]
struct InUse {
    /// Cancelled when the key is not in use any more.
    over: CancellationToken,
    waiting: u32,
}

/// A key in use. When this is dropped, the requests that wait try again.
pub(super) struct KeyInUse {
    keys: RunningKeys,
    key: Key,
}

pub(super) enum Entered {
    Alone(KeyInUse),
    /// Another request uses the key until this is cancelled.
    Behind(CancellationToken),
    TooMany,
}

impl RunningKeys {
    pub(super) fn enter(&self, key: &Key) -> Entered {
        let mut keys = self.0.lock();
        match keys.get_mut(key) {
            Some(used) if used.waiting >= MOST_WAITING => Entered::TooMany,
            Some(used) => {
                used.waiting += 1;
                Entered::Behind(used.over.clone())
            }
            None => {
                keys.insert(key.clone(), InUse::default());
                Entered::Alone(KeyInUse { keys: self.clone(), key: key.clone() })
            }
        }
    }

    /// Stops counting a request that does not wait any more.
    pub(super) fn leave(&self, key: &Key, over: &CancellationToken) {
        if let Some(used) = self.0.lock().get_mut(key)
            && !over.is_cancelled()
        {
            used.waiting = used.waiting.saturating_sub(1);
        }
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.0.lock().contains_key(key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

impl Drop for KeyInUse {
    fn drop(&mut self) {
        let mut keys = self.keys.0.lock();
        if let Some(InUse { over, .. }) = keys.remove(&self.key) {
            over.cancel();
        }
    }
}
