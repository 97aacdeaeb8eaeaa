//! What a store promises.

use super::error::DurableError;
use super::key::Key;
use super::types::{Entries, Expected, Fence, Lease, Record, Revision, Strength};
use futures::future::BoxFuture;
use std::time::Duration;

/// The answer to a request, which takes its turn when it is made: changes by one process are done in the order in which
/// they were asked for, whether or not anybody waits for their answers, and a read sees every change asked for before it.
/// So whoever waits for the last change knows of all before it, unless one failed.
///
/// A store may refuse a request with [`DurableError::Full`] if too many wait already.
pub type StoreAnswer<T> = BoxFuture<'static, Result<T, DurableError>>;

/// A store of records, logs and leases.
pub trait DurableStore: Send + Sync + 'static {
    fn get(&self, key: &Key) -> StoreAnswer<Option<Record>>;

    /// Stores a record, in one step with the check of `expected`. Returns its new revision.
    fn put(&self, key: &Key, value: Vec<u8>, expected: Expected, strength: Strength) -> StoreAnswer<Revision>;

    /// Removes a record, in one step with the check of `expected`. With [`Expected::Any`] there need not be one.
    fn remove(&self, key: &Key, expected: Expected, strength: Strength) -> StoreAnswer<()>;

    /// Records whose keys begin with `prefix`, a key and a `/`, after the key `after`, in the order of their keys; at
    /// most `most`, and fewer if they are large. Only after the last record there are none.
    fn list(&self, prefix: &Key, after: Option<&Key>, most: u32) -> StoreAnswer<Vec<(Key, Record)>>;

    /// Appends entries, all or none, if the log's next number is `next`. A log that does not exist has the next number 0.
    /// Fails with [`DurableError::Fenced`] if the log has seen a higher token. Without entries the log only sees the token
    /// (and is created), so a new owner can lock out those before it.
    fn append(&self, log: &Key, fence: Fence, next: u64, entries: Vec<Vec<u8>>, strength: Strength) -> StoreAnswer<()>;

    /// Reads entries from the number `from` on: at least one if there is one, and then as many as fit into `most_bytes`
    /// together. A store may end a part earlier. A log that does not exist has no entries.
    fn read(&self, log: &Key, from: u64, most_bytes: u64) -> StoreAnswer<Entries>;

    /// Drops the entries below the number `before`. Numbers stay as they are. Fails with [`DurableError::Fenced`] if the
    /// log has seen a higher token.
    fn trim(&self, log: &Key, fence: Fence, before: u64) -> StoreAnswer<()>;

    /// Puts these entries in the place of all entries of a log, in one step, if the log's next number is `next`, which is the
    /// number of the first of them. So whoever reads on sees a gap, and no number stands for two entries. Fails as
    /// [`Self::append`] does; the log is as it was then.
    fn replace(&self, log: &Key, fence: Fence, next: u64, entries: Vec<Vec<u8>>, strength: Strength)
    -> StoreAnswer<()>;

    /// Removes a log with all its entries, if there is one. One of the same name begins at 0 again, under any token.
    fn remove_log(&self, log: &Key) -> StoreAnswer<()>;

    /// Takes the lease of a name for a time, if nobody has it or it has expired; none if somebody else has it. Its token is
    /// higher than every earlier one of the name. Its holder may take it again, which ends the lease it had.
    fn acquire(&self, name: &Key, holder: &str, time: Duration) -> StoreAnswer<Option<Lease>>;

    /// Extends leases from now on, as many as a process has, also such as have expired and that nobody has taken since. Returns
    /// those that it has not extended, since somebody has.
    fn renew(&self, leases: Vec<Lease>, time: Duration) -> StoreAnswer<Vec<Lease>>;

    /// Leases that have expired and that nobody has given back or taken since, of names that begin with `prefix`, a key and a
    /// `/`: what those have left behind who had them. A store may forget one after long.
    fn expired(&self, prefix: &Key) -> StoreAnswer<Vec<Lease>>;

    /// Gives a lease back. Does nothing if somebody else has it.
    fn release(&self, lease: &Lease) -> StoreAnswer<()>;

    /// Why the store keeps nothing at the moment, if it knows that it does not.
    fn problem(&self) -> Option<DurableError> {
        None
    }
}
