//! The values of the contract.

use super::key::Key;

/// What an acknowledged change survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The end of the process at any moment.
    Process,
    /// A loss of power, too. Changes that are made together wait for the disk together.
    Power,
}

/// The version of a record. It grows with each change, and is not reused after the record is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u64);

/// What must be stored for a change to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Any,
    /// There must be no record.
    Nothing,
    At(Revision),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub value: Vec<u8>,
    pub revision: Revision,
}

/// A fencing token. A log refuses entries with a lower token than the highest that it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Fence(pub u64);

/// Ownership of a name until it expires, is released, or is taken by a later owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub name: Key,
    /// The process that holds the lease; each process has a name of its own.
    pub holder: String,
    pub fence: Fence,
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entries {
    /// The number of the first entry in `entries`. It is higher than requested if the log was trimmed.
    pub first: u64,
    pub entries: Vec<Vec<u8>>,
    /// The number that the next appended entry will have.
    pub next: u64,
}
