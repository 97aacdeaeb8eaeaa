//! What was decided, for whoever has to answer for it later: one record per decision, in the order of deciding.
//!
//! A record holds names and digests, never values: answers and secrets do not belong in it, and arguments only where the
//! operator says so. [`FileJournal`] keeps records as lines of JSON, each of which names the hash of the line before it,
//! so that a line that was changed, taken out or moved is found by [`verify()`]. The chain is not keyed: who may write
//! the file could read the key. What cannot be undone is a head, a number and a hash, that was noted elsewhere.

mod chain;
mod event;
mod files;
mod line;
mod read;
mod settings;
#[cfg(test)]
mod tests;
mod trail;
mod verify;
mod writer;

pub use event::{Arguments, Cost, Event, Upkeep};
pub use line::{Hash, Head};
pub use read::{Entry, Filter, Follower, each, last};
pub use settings::{AuditSettings, KeepArguments};
pub use trail::{Observed, Scope, Trail};
pub use verify::{Fault, Report, Wrong, verify};
pub use writer::{FileJournal, JournalError};

use policy::{Digest, PluginId, Principal};
use std::sync::Arc;

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// On whose behalf; none: the operator's own command.
    pub principal: Option<Principal>,
    /// Which plugin.
    pub plugin: Option<PluginId>,
    /// Its bytes.
    pub digest: Option<Digest>,
    /// The call it belongs to.
    pub call: Option<String>,
    /// The call that this one is nested in.
    pub parent: Option<String>,
    /// What was decided.
    pub event: Event,
}

impl Record {
    /// Of an operator's command about a plugin.
    pub fn of_operator(plugin: Option<PluginId>, digest: Option<Digest>, event: Event) -> Self {
        Self { principal: None, plugin, digest, call: None, parent: None, event }
    }
}

/// Keeps records. Must not wait: a call is running.
pub trait Journal: Send + Sync {
    /// Keeps one.
    fn keep(&self, record: Record);
    /// What of a call's arguments is kept.
    fn arguments(&self) -> KeepArguments {
        KeepArguments::Digest
    }
    /// Whether calls must not begin, because records cannot be kept and the operator wants them to be.
    fn refuses_calls(&self) -> bool {
        false
    }
    /// Waits until everything so far is kept; false when it is not. Blocks.
    fn flush(&self) -> bool {
        true
    }
    /// Records that were not kept since the journal was opened.
    fn lost(&self) -> u64 {
        0
    }
}

/// Where records go. Clones are the same place.
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<dyn Journal>>);

impl Audit {
    /// Into this journal.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        Self(Some(journal))
    }

    /// Nowhere: commands that only look.
    pub fn none() -> Self {
        Self(None)
    }

    /// Keeps one record. Does not wait.
    pub fn record(&self, record: Record) {
        if let Some(journal) = &self.0 {
            journal.keep(record);
        }
    }

    /// What is kept of a call's arguments, a JSON text; none when nothing is.
    pub fn arguments(&self, text: &str) -> Option<Arguments> {
        self.0.as_ref().map(|journal| Arguments::of(text, journal.arguments()))
    }

    /// Whether calls must not begin now.
    pub fn refuses_calls(&self) -> bool {
        self.0.as_ref().is_some_and(|journal| journal.refuses_calls())
    }

    /// Waits until everything so far is kept; false when it is not. Blocks.
    pub fn flush(&self) -> bool {
        self.0.as_ref().is_none_or(|journal| journal.flush())
    }

    /// Records that were not kept.
    pub fn lost(&self) -> u64 {
        self.0.as_ref().map_or(0, |journal| journal.lost())
    }
}
