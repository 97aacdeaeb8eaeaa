//! The values of the contract.

use super::key::Key;

/// How much an acknowledged change survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// The end of the process at any moment.
    Process,
    /// A loss of power, too. Changes that are made together share the wait for the disk.
    Power,
}

/// The version of a record. It grows with each change, and is not used again after the record was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u64);

/// What must be stored for a change to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Any,
    /// No record.
    Nothing,
    At(Revision),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub value: Vec<u8>,
    pub revision: Revision,
}

/// A fencing token. A log refuses entries under a lower one than it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Fence(pub u64);

/// Ownership of a name until it expires, is released, or is taken by a later owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub name: Key,
    /// Who holds it; each process has an own one.
    pub holder: String,
    pub fence: Fence,
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entries {
    /// The number of the first entry in `entries`. Higher than asked for if the log was trimmed.
    pub first: u64,
    pub entries: Vec<Vec<u8>>,
    /// The number that the next appended entry will have.
    pub next: u64,
}
