//! Everything that is kept in SQLite and outlives the process. Only this module uses SQLite. It keeps sessions of the legacy
//! protocol and the events on their streams, so that a client may resume after a broken connection or a restart of the server;
//! credentials of connected accounts; values that plugins keep; and records, logs and leases of long-running work. Each of
//! these four has its own file.
//!
//! Nothing here knows the protocol: messages and principals are plain text.

mod backup;
mod check;
#[cfg(test)]
mod check_tests;
mod durable_leases;
mod durable_limits;
mod durable_logs;
mod durable_numbers;
mod durable_records;
mod durable_store;
mod durable_tables;
mod error;
mod health;
mod job;
mod open;
mod opened_file;
mod prune;
mod repairable_connection;
mod session_store;
mod sessions;
mod state_files;
mod streams;
#[cfg(test)]
mod tests;
mod token_store;
mod value_store;
#[cfg(test)]
mod value_store_tests;
mod value_tables;
mod worker;

pub use backup::{CopiedFile, back_up_state};
pub use check::{FileReport, Finding, check_state};
pub use durable_limits::DurableLimits;
pub use durable_store::SqliteStore;
pub use error::StorageError;
pub use session_store::SessionStore;
pub use sessions::{SessionAdmission, SessionQuota, StoredSession};
pub use streams::{StreamEvent, StreamKey, StreamRecord, WaitingStream};
pub use token_store::{TokenStore, TokenStoreError};
pub use value_store::{PutCondition, PutOutcome, StoredValue, ValueCount, ValueOwner, ValueQuota, ValueStore};
pub use worker::{PendingResult, RejectedJob};
