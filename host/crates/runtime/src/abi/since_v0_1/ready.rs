//! One instance made ahead of its call: fresh, never called, used once.

use super::super::guest::Guest;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::{Store, component};

/// An instance that waits for its call.
pub(super) struct Instance {
    pub(super) store: Store<Guest>,
    pub(super) instance: component::Instance,
    /// Fuel that making it took; its call pays, so that a call costs the same either way.
    pub(super) spent: u64,
    pub(super) _slot: OwnedSemaphorePermit,
}

/// At most one waiting instance of a component.
#[derive(Clone, Default)]
pub(super) struct Ready {
    waiting: Arc<Mutex<Option<Instance>>>,
    never: Arc<AtomicBool>,
}

impl Ready {
    pub(super) fn take(&self) -> Option<Instance> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn put(&self, instance: Instance) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(instance);
    }

    /// This component needs its call to be instantiated.
    pub(super) fn never(&self) {
        self.never.store(true, Ordering::Relaxed);
    }

    pub(super) fn wanted(&self) -> bool {
        !self.never.load(Ordering::Relaxed) && self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}
