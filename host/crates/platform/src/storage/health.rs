//! Whether a database works: said once when it stops, and once when it works again.

use super::error::StorageError;
use crate::sync::Mutex;

#[derive(Default)]
pub(super) struct Health(Mutex<State>);

#[derive(Default)]
struct State {
    broken: Option<StorageError>,
    full: Option<Full>,
}

/// It is full until as many bytes could be stored as could not. So a client that stores much and little in turn does not
/// flood the log.
struct Full {
    error: StorageError,
    missing: u64,
}

impl Health {
    /// Why nothing is kept at the moment.
    pub(super) fn problem(&self) -> Option<StorageError> {
        let state = self.0.lock();
        state.broken.clone().or_else(|| state.full.as_ref().map(|full| full.error.clone()))
    }

    /// The disk has failed.
    pub(super) fn fail(&self, error: &StorageError) {
        if self.0.lock().broken.replace(error.clone()).is_none() {
            tracing::error!(%error, "the store does not work: nothing is acknowledged until a write succeeds");
        }
    }

    /// A write has succeeded after the disk had failed.
    pub(super) fn heal(&self) {
        if self.0.lock().broken.take().is_some() {
            tracing::info!("the store works again");
        }
    }

    /// There was no room for so many bytes.
    pub(super) fn full(&self, error: &StorageError, bytes: u64) {
        let full = Full { error: error.clone(), missing: bytes };
        if self.0.lock().full.replace(full).is_none() {
            tracing::error!(%error, "the store is full: nothing more is kept until something is removed");
        }
    }

    /// There was room for so many bytes.
    pub(super) fn stored(&self, bytes: u64) {
        let mut state = self.0.lock();
        let Some(full) = &mut state.full else { return };
        full.missing = full.missing.saturating_sub(bytes);
        if full.missing == 0 {
            state.full = None;
            drop(state);
            tracing::info!("the store has room again");
        }
    }
}
