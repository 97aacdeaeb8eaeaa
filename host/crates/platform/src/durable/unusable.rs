//! The store of a host that cannot use its configured store: it keeps nothing, and each of its errors says why.

use super::contract::{DurableStore, StoreAnswer};
use super::error::DurableError;
use super::key::Key;
use super::types::{Durability, Entries, Expected, Fence, Lease, Record, Revision};
use std::time::Duration;

/// Refuses all requests. If the data were kept in another place instead, it would seem to be kept, but would be lost.
pub struct UnusableStore(String);

impl UnusableStore {
    pub fn new(why: String) -> Self {
        Self(why)
    }

    fn refuse<T: Send + 'static>(&self) -> StoreAnswer<T> {
        Box::pin(std::future::ready(Err(self.error())))
    }

    fn error(&self) -> DurableError {
        DurableError::Failed(self.0.clone())
    }
}

impl DurableStore for UnusableStore {
    fn get(&self, _: &Key) -> StoreAnswer<Option<Record>> {
        self.refuse()
    }

    fn put(&self, _: &Key, _: Vec<u8>, _: Expected, _: Durability) -> StoreAnswer<Revision> {
        self.refuse()
    }

    fn remove(&self, _: &Key, _: Expected, _: Durability) -> StoreAnswer<()> {
        self.refuse()
    }

    fn list(&self, _: &Key, _: Option<&Key>, _: u32) -> StoreAnswer<Vec<(Key, Record)>> {
        self.refuse()
    }

    fn append(&self, _: &Key, _: Fence, _: u64, _: Vec<Vec<u8>>, _: Durability) -> StoreAnswer<()> {
        self.refuse()
    }

    fn read(&self, _: &Key, _: u64, _: u64) -> StoreAnswer<Entries> {
        self.refuse()
    }

    fn trim(&self, _: &Key, _: Fence, _: u64) -> StoreAnswer<()> {
        self.refuse()
    }

    fn replace(&self, _: &Key, _: Fence, _: u64, _: Vec<Vec<u8>>, _: Durability) -> StoreAnswer<()> {
        self.refuse()
    }

    fn remove_log(&self, _: &Key) -> StoreAnswer<()> {
        self.refuse()
    }

    fn acquire(&self, _: &Key, _: &str, _: Duration) -> StoreAnswer<Option<Lease>> {
        self.refuse()
    }

    fn renew(&self, _: Vec<Lease>, _: Duration) -> StoreAnswer<Vec<Lease>> {
        self.refuse()
    }

    fn expired(&self, _: &Key) -> StoreAnswer<Vec<Lease>> {
        self.refuse()
    }

    fn release(&self, _: &Lease) -> StoreAnswer<()> {
        self.refuse()
    }

    fn problem(&self) -> Option<DurableError> {
        Some(self.error())
    }
}
