//! Data that outlives the process and that several processes may use: records, logs and leases. A contract defines them, which
//! a database in a file and a replicated store can both fulfil.
//!
//! - A **record** is a small value under a key. Each change gives it a new revision. A change may require that the record still
//!   has the revision that its author has read.
//! - A **log** is a sequence of entries. Entries are appended at the end, trimmed at the beginning, or replaced all at once.
//! - A **lease** makes one process the owner of a name for a time. Each owner has a higher fencing token than all owners before
//!   it. A log refuses entries from an owner that a later one has replaced, however late its message arrives.
//!
//! A change that is acknowledged is kept: it survives the end of the process and, if requested, also a loss of power
//! ([`Durability`]). A change that fails has no effect, or, if the store cannot tell, the error says so. After an error of the
//! disk nothing is acknowledged until a write has succeeded again.

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
pub use types::{Durability, Entries, Expected, Fence, Lease, Record, Revision};
pub use unusable::UnusableStore;
