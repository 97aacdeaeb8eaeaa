//! What is under way at a moment: effects that must not be made again, and steps that wait for the store.

use super::records::Records;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// An effect under way that must not be made again, until this is dropped.
pub(super) struct EffectUnderWay(Arc<Records>);

/// A step that waits for the store, until this is dropped.
pub(super) struct WaitsForStore<'a>(&'a Records);

impl Records {
    pub(super) fn begin_unrepeatable(self: &Arc<Self>) -> EffectUnderWay {
        self.in_doubt.fetch_add(1, Ordering::Relaxed);
        EffectUnderWay(self.clone())
    }

    pub(super) fn has_unrepeatable(&self) -> bool {
        self.in_doubt.load(Ordering::Relaxed) > 0
    }

    pub(super) fn wait_for_store(&self) -> WaitsForStore<'_> {
        self.storing.fetch_add(1, Ordering::Relaxed);
        WaitsForStore(self)
    }

    pub(super) fn is_storing(&self) -> bool {
        self.storing.load(Ordering::Relaxed) > 0
    }
}

impl Drop for WaitsForStore<'_> {
    fn drop(&mut self) {
        self.0.storing.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for EffectUnderWay {
    fn drop(&mut self) {
        self.0.in_doubt.fetch_sub(1, Ordering::Relaxed);
    }
}
