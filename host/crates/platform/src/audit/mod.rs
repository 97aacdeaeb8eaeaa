//! The audit journal: one record per decision, in the order in which they were made.
//!
//! A record holds names and digests, never results or secrets, and arguments only if the operator wants them.
//! [`FileJournal`] stores records as lines of JSON. Each line contains the hash of the line before it, so [`verify()`]
//! finds lines that were changed, removed or moved. The chain is not keyed: anyone who can write the file could read the
//! key. To detect a journal that was rewritten as a whole, note a head (a number and a hash) elsewhere.

mod call_audit;
mod chain;
mod event;
mod fields;
mod folder;
mod journal;
mod line;
mod reader;
mod record;
mod settings;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use call_audit::{AuditScope, CallAudit, CallTelemetry};
pub use event::{AuditEvent, JournalEvent, NO_LANE, RecordedArguments};
pub use journal::{Audit, Journal};
pub use line::{Hash, Head};
pub use reader::{EntryFilter, JournalEntry, JournalFollower, for_each_entry, last_entries};
pub use record::AuditRecord;
pub use settings::{AuditSettings, KeepArguments};
pub use verify::{VerifyError, VerifyProblem, VerifyReport, verify};
pub use writer::{FileJournal, JournalError};
