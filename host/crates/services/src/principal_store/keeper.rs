//! The store in which items are kept, and whether it works.

use platform::durable::{DurableError, DurableStore};
use policy::DataKey;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where items are kept.
pub(super) struct Keeper {
    pub(super) store: Arc<dyn DurableStore>,
    /// Whether there is a plugin with this data.
    pub(super) is_there: Box<dyn Fn(&DataKey) -> bool + Send + Sync>,
    /// Held while items are stored, so that none is stored twice at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
    has_failed: AtomicBool,
}

impl Keeper {
    pub(super) fn new(store: Arc<dyn DurableStore>, is_there: Box<dyn Fn(&DataKey) -> bool + Send + Sync>) -> Self {
        let (turn, has_failed) = Default::default();
        Self { store, is_there, turn, has_failed }
    }

    /// Logs once that the store fails, and once that it works again.
    pub(super) fn report(&self, error: Option<&DurableError>) {
        match (error, self.has_failed.swap(error.is_some(), Ordering::Relaxed)) {
            (Some(error), false) => {
                tracing::error!(%error, "what plugins publish is in memory only, since it cannot be stored; trying again")
            }
            (None, true) => tracing::info!("what plugins publish is stored again"),
            (Some(_), true) | (None, false) => {}
        }
    }
}
