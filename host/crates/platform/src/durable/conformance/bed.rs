//! What a check needs: the store that is checked, keys and entries.

use super::super::contract::DurableStore;
use super::super::key::Key;
use super::super::types::Fence;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

/// A store, empty at first, that can be opened again and again over the same data.
pub trait TestBed: Sync {
    /// Opens the store, even while it is already open.
    fn open(&self) -> BoxFuture<'_, Arc<dyn DurableStore>>;

    /// Lets time pass for leases.
    fn pass(&self, time: Duration) -> BoxFuture<'_, ()>;
}

pub(super) const ONE: Fence = Fence(1);
pub(super) const TWO: Fence = Fence(2);

pub(super) fn key(text: impl Into<String>) -> Key {
    Key::new(text).unwrap()
}

pub(super) fn bodies(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
