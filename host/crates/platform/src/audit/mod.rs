//! The audit log: one record per decision, in the order in which they were made.
//!
//! A record holds names and digests, never results or secrets, and arguments only if the operator wants them. [`FileAuditLog`]
//! stores records as lines of JSON. Each line contains the hash of the line before it, so [`verify()`] finds lines that were
//! changed, removed or moved. Old files are removed; an archive keeps a fair part of their records. The hashes use no key:
//! anyone who can write the file could read the key, too. To detect a log that was rewritten as a whole, note a head (a number
//! and a hash) elsewhere.

mod archive;
mod call_audit;
mod chain;
mod event;
mod event_kind;
mod fair_shares;
mod fields;
mod file_end;
mod folder;
mod hash;
mod line;
mod log;
mod queue_shares;
mod reader;
mod record;
mod refusal_rates;
mod removal;
mod settings;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use call_audit::{AuditScope, CallAudit, CallTelemetry, Silence};
pub use event::{Archived, AuditEvent, AuditLogEvent, NO_LANE, RecordedArguments};
pub use event_kind::EventKind;
pub use hash::Hash;
pub use line::Head;
pub use log::{Audit, AuditLog, NotRecorded};
pub use reader::{AuditLogEntry, AuditLogFollower, EntryFilter, for_each_entry, last_entries};
pub use record::AuditRecord;
pub use settings::{AuditSettings, KeepArguments};
pub use verify::{VerifyError, VerifyProblem, VerifyReport, verify};
pub use writer::{AuditLogError, FileAuditLog};
