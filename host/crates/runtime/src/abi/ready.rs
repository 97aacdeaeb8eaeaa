//! An instance that was made before its call: it has never been called, and is used once.

use super::guest::Guest;
use platform::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::Store;
use wasmtime::component::Instance;

/// An instance that waits for its call.
pub(super) struct ReadyInstance {
    pub(super) store: Store<Guest>,
    pub(super) instance: Instance,
    /// Fuel that instantiation used. The call pays for it, so that a call costs the same either way.
    pub(super) spent: u64,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// At most one ready instance of a component. Clones share it.
#[derive(Clone, Default)]
pub(super) struct ReadyCache {
    ready: Arc<Mutex<Option<ReadyInstance>>>,
    is_disabled: Arc<AtomicBool>,
}

impl ReadyCache {
    fn lock(&self) -> MutexGuard<'_, Option<ReadyInstance>> {
        self.ready.lock()
    }

    pub(super) fn take(&self) -> Option<ReadyInstance> {
        self.lock().take()
    }

    pub(super) fn put(&self, instance: ReadyInstance) {
        *self.lock() = Some(instance);
    }

    /// For a component that can only be instantiated inside a call.
    pub(super) fn disable(&self) {
        self.is_disabled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_wanted(&self) -> bool {
        !self.is_disabled.load(Ordering::Relaxed) && self.lock().is_none()
    }
}
