//! What outlives the process and may be used by several: records, logs and leases, as a contract that a database in a file
//! and a replicated store can keep alike.
//!
//! - A **record** is a small value under a key. Each change gives it a new revision; a change may require the revision
//!   that its author has read.
//! - A **log** is a sequence of entries. Entries are appended at the end, trimmed at the beginning, or
//!   replaced all at once.
//! - A **lease** makes one process the owner of a name for a time. Each owner has a higher fencing token than all before
//!   it, and a log refuses entries from an owner that a later one has replaced, however long its message took.
//!
//! What is acknowledged is kept: it survives the end of the process, and also a loss of power if so asked
//! ([`Strength`]). What fails is as if it had never been asked, or, if the store cannot tell, an error that says so.
//! After an error of the disk nothing is acknowledged until a write has succeeded again.

#[cfg(any(test, feature = "store-conformance"))]
pub mod conformance;
mod contract;
#[cfg(debug_assertions)]
mod crash_points;
mod error;
mod key;
mod memory;
mod types;
mod unusable;

pub use contract::{DurableStore, StoreAnswer};
#[cfg(debug_assertions)]
pub use crash_points::{CrashPoint, CrashingStore};
pub use error::DurableError;
pub use key::{InvalidKey, Key};
pub use memory::MemoryStore;
pub use types::{Entries, Expected, Fence, Lease, Record, Revision, Strength};
pub use unusable::UnusableStore;
