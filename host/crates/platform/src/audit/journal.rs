//! Where audit records go.

use super::event::RecordedArguments;
use super::record::AuditRecord;
use super::settings::KeepArguments;
use policy::Principal;
use std::sync::Arc;

/// Stores records. Must not block: a call is running.
pub trait Journal: Send + Sync {
    fn keep(&self, record: AuditRecord);
    /// How much of a call's arguments is recorded.
    fn arguments(&self) -> KeepArguments {
        KeepArguments::Digest
    }
    /// Whether calls of a principal must not start, because its records cannot be stored and the operator requires them.
    fn refuses_calls(&self, _principal: &Principal) -> bool {
        false
    }
    /// Waits until everything so far is stored; false if it is not. Blocks.
    fn flush(&self) -> bool {
        true
    }
    /// Records that were lost since the journal was opened.
    fn lost(&self) -> u64 {
        0
    }
}

/// Where records go. Clones share the journal.
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<dyn Journal>>);

impl Audit {
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        Self(Some(journal))
    }

    /// Records nothing: for commands that only read.
    pub fn none() -> Self {
        Self(None)
    }

    /// Stores a record. Does not block.
    pub fn record(&self, record: AuditRecord) {
        if let Some(journal) = &self.0 {
            journal.keep(record);
        }
    }

    /// What is recorded of a call's arguments, a JSON text; `None` if nothing is.
    pub fn arguments(&self, text: &str) -> Option<RecordedArguments> {
        self.0.as_ref().map(|journal| RecordedArguments::new(text, journal.arguments()))
    }

    /// Whether calls of a principal must not start now.
    pub fn refuses_calls(&self, principal: &Principal) -> bool {
        self.0.as_ref().is_some_and(|journal| journal.refuses_calls(principal))
    }

    /// Waits until everything so far is stored; false if it is not. Blocks.
    pub fn flush(&self) -> bool {
        self.0.as_ref().is_none_or(|journal| journal.flush())
    }

    /// Records that were not kept.
    pub fn lost(&self) -> u64 {
        self.0.as_ref().map_or(0, |journal| journal.lost())
    }
}
