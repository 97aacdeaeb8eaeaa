//! Where audit records go.

use super::event::RecordedArguments;
use super::record::AuditRecord;
use super::refusal_rates::RefusalRates;
use super::settings::KeepArguments;
use crate::clock::{Clock as _, SystemClock};
use policy::{PluginId, Principal};
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
    /// Whether nothing may be done that is not recorded.
    fn is_required(&self) -> bool {
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

/// A change was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "nothing was changed, since it cannot be recorded, and `required = true` under [server.audit]: make room in its folder, and see that it can be written to"
)]
pub struct NotRecorded;

/// Where records go. Clones share the journal.
#[derive(Clone, Default)]
pub struct Audit {
    journal: Option<Arc<dyn Journal>>,
    refusals: Arc<RefusalRates>,
}

impl Audit {
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        Self { journal: Some(journal), refusals: Arc::default() }
    }

    /// Records nothing: for commands that only read.
    pub fn none() -> Self {
        Self::default()
    }

    /// Stores a record. Does not block.
    pub fn record(&self, record: AuditRecord) {
        if let Some(journal) = &self.journal {
            journal.keep(record);
        }
    }

    /// Makes a change that is recorded before it is made: a crash in between leaves a record without its change, and never a change
    /// without a record. If it fails, that is recorded, too. Where records are required and cannot be stored, the change is not made.
    /// Blocks.
    pub fn record_first<T, E: From<NotRecorded>>(
        &self,
        records: Vec<AuditRecord>,
        change: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        records.iter().for_each(|record| self.record(record.clone()));
        let may_be_made = self.flush() || !self.journal.as_ref().is_some_and(|journal| journal.is_required());
        // A record that was not stored now may be stored later.
        let made = if may_be_made { change() } else { Err(NotRecorded.into()) };
        if made.is_err() {
            records.into_iter().filter_map(AuditRecord::not_made).for_each(|record| self.record(record));
            self.flush();
        }
        made
    }

    /// What is recorded of a call's arguments, a JSON text; `None` if nothing is.
    pub fn arguments(&self, text: &str) -> Option<RecordedArguments> {
        self.journal.as_ref().map(|journal| RecordedArguments::new(text, journal.arguments()))
    }

    /// Whether calls of a principal must not start now.
    pub fn refuses_calls(&self, principal: &Principal) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.refuses_calls(principal))
    }

    /// Waits until everything so far is stored; false if it is not. Blocks.
    pub fn flush(&self) -> bool {
        self.journal.as_ref().is_none_or(|journal| journal.flush())
    }

    /// Whether one more refusal is recorded and logged; those over the rate are only counted.
    pub(super) fn keeps_refusal(&self, principal: &Principal, plugin: &PluginId) -> bool {
        match self.refusals.take(principal, plugin, SystemClock.now()) {
            None => false,
            Some(0) => true,
            Some(left_out) => {
                tracing::warn!(%plugin, principal = principal.as_str(), left_out, "refusals came too fast: these were only counted");
                true
            }
        }
    }

    /// Records that were not kept.
    pub fn lost(&self) -> u64 {
        self.journal.as_ref().map_or(0, |journal| journal.lost())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::AuditEvent;
    use crate::sync::Mutex;

    #[derive(Default)]
    struct Kept(Mutex<Vec<AuditRecord>>);

    impl Journal for Kept {
        fn keep(&self, record: AuditRecord) {
            self.0.lock().push(record);
        }
    }

    /// Stores nothing now.
    struct Full {
        is_required: bool,
        waiting: Kept,
    }

    impl Journal for Full {
        fn keep(&self, record: AuditRecord) {
            self.waiting.keep(record);
        }
        fn is_required(&self) -> bool {
            self.is_required
        }
        fn flush(&self) -> bool {
            false
        }
    }

    fn grant(given: bool) -> AuditRecord {
        AuditRecord::for_operator(None, None, AuditEvent::Grant { given, line: "state = {}".into() })
    }

    #[test]
    fn a_change_is_recorded_before_it_is_made() {
        let kept = Arc::new(Kept::default());
        let audit = Audit::new(kept.clone());
        let made = audit.record_first(vec![grant(true)], || Ok::<_, NotRecorded>(kept.0.lock().clone()));
        assert_eq!(made, Ok(vec![grant(true)]), "whoever is killed while it is made leaves the record");
        assert_eq!(audit.record_first(vec![grant(true)], || Err::<(), _>(NotRecorded)), Err(NotRecorded));
        assert_eq!(*kept.0.lock(), [grant(true), grant(true), grant(false)]);
    }

    #[test]
    fn what_cannot_be_recorded_is_not_done_where_records_are_required() {
        for is_required in [true, false] {
            let (full, mut made) = (Arc::new(Full { is_required, waiting: Kept::default() }), false);
            let result = Audit::new(full.clone()).record_first(vec![grant(true)], || {
                made = true;
                Ok::<_, NotRecorded>(())
            });
            assert_eq!((result.is_ok(), made), (!is_required, !is_required));
            let waiting = if is_required { vec![grant(true), grant(false)] } else { vec![grant(true)] };
            assert_eq!(*full.waiting.0.lock(), waiting, "what is stored later is true");
        }
    }
}
