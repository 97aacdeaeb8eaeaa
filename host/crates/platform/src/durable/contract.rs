//! What a store promises.

use super::error::DurableError;
use super::key::Key;
use super::types::{Durability, Entries, Expected, Fence, Lease, Record, Revision};
use futures::future::BoxFuture;
use std::time::Duration;

/// The answer to a request. The request gets its place in the order when it is made, not when its answer is awaited. Changes by
/// one process are made in the order in which they were requested, whether or not anybody waits for their answers, and a read
/// sees every change that was requested before it. So a caller that waits for the last change knows that all before it are
/// made, unless one failed.
///
/// A store may refuse a request with [`DurableError::Full`] if too many requests wait already.
pub type StoreAnswer<T> = BoxFuture<'static, Result<T, DurableError>>;

/// A store of records, logs and leases.
pub trait DurableStore: Send + Sync + 'static {
    fn get(&self, key: &Key) -> StoreAnswer<Option<Record>>;

    /// Stores a record in one step with the check of `expected`. Returns the new revision.
    fn put(&self, key: &Key, value: Vec<u8>, expected: Expected, durability: Durability) -> StoreAnswer<Revision>;

    /// Removes a record in one step with the check of `expected`. With [`Expected::Any`] the record may be missing.
    fn remove(&self, key: &Key, expected: Expected, durability: Durability) -> StoreAnswer<()>;

    /// Lists the records whose keys begin with `prefix` and a `/` and come after the key `after`, in the order of their keys.
    /// Returns at most `most`, and fewer if they are large. The result is empty only if there are no more records.
    fn list(&self, prefix: &Key, after: Option<&Key>, most: u32) -> StoreAnswer<Vec<(Key, Record)>>;

    /// Appends all entries or none, if the log's next number is `next`. A log that does not exist has the next number 0. Fails
    /// with [`DurableError::Fenced`] if the log has seen a higher token. Without entries, the log only sees the token (and is
    /// created if it is missing), so that a new owner can lock out the owners before it.
    fn append(
        &self,
        log: &Key,
        fence: Fence,
        next: u64,
        entries: Vec<Vec<u8>>,
        durability: Durability,
    ) -> StoreAnswer<()>;

    /// Reads entries, beginning with the number `from`: at least one if there is one, and then as many as fit into `most_bytes`
    /// together. A store may return fewer. A log that does not exist has no entries.
    fn read(&self, log: &Key, from: u64, most_bytes: u64) -> StoreAnswer<Entries>;

    /// Drops the entries below the number `before`. The others keep their numbers. Fails with [`DurableError::Fenced`] if the
    /// log has seen a higher token.
    fn trim(&self, log: &Key, fence: Fence, before: u64) -> StoreAnswer<()>;

    /// Replaces all entries of a log by these in one step, if the log's next number is `next`, which becomes the number of the
    /// first new entry. So a reader that continues sees a gap, and no number ever stands for two entries. Fails as
    /// [`Self::append`] does; then the log is unchanged.
    fn replace(
        &self,
        log: &Key,
        fence: Fence,
        next: u64,
        entries: Vec<Vec<u8>>,
        durability: Durability,
    ) -> StoreAnswer<()>;

    /// Removes a log with all its entries, if there is one. A new log of the same name begins at 0 again, under any token.
    fn remove_log(&self, log: &Key) -> StoreAnswer<()>;

    /// Takes the lease of a name for a time, if nobody holds it or it has expired. Returns none if somebody else holds it. The
    /// lease's token is higher than every earlier one of the name. A holder may take its lease again, which ends the one that
    /// it had.
    fn acquire(&self, name: &Key, holder: &str, time: Duration) -> StoreAnswer<Option<Lease>>;

    /// Extends all given leases, counted from now. A lease that has expired is extended, too, if nobody has taken it since.
    /// Returns those that were not extended because somebody has taken them.
    fn renew(&self, leases: Vec<Lease>, time: Duration) -> StoreAnswer<Vec<Lease>>;

    /// Leases that have expired and that nobody has released or taken since, of names that begin with `prefix` and a `/`. They
    /// show what processes have left behind. A store may forget such a lease after a long time.
    fn expired(&self, prefix: &Key) -> StoreAnswer<Vec<Lease>>;

    /// Releases a lease. Does nothing if somebody else holds it.
    fn release(&self, lease: &Lease) -> StoreAnswer<()>;

    /// Why the store cannot keep anything at the moment, if it knows that it cannot.
    fn problem(&self) -> Option<DurableError> {
        None
    }
}
