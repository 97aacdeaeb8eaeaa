//! Where audit records go.

use super::event::RecordedArguments;
use super::record::AuditRecord;
use super::refusal_rates::RefusalRates;
use super::settings::KeepArguments;
use crate::clock::{Clock as _, SystemClock};
use policy::{PluginId, Principal};
use std::sync::Arc;

/// Stores records. Must not block, because a call is running meanwhile.
pub trait AuditLog: Send + Sync {
    fn keep(&self, record: AuditRecord);
    /// How much of a call's arguments is recorded.
    fn arguments(&self) -> KeepArguments {
        KeepArguments::Digest
    }
    /// Whether calls of a principal must not start, because its records cannot be stored and the operator requires them.
    fn refuses_calls(&self, _principal: &Principal) -> bool {
        false
    }
    /// Whether an action must not happen if it cannot be recorded.
    fn is_required(&self) -> bool {
        false
    }
    /// Waits until all records so far are stored; returns false if they are not. Blocks.
    fn flush(&self) -> bool {
        true
    }
    /// Number of records that were lost since the log was opened.
    fn lost(&self) -> u64 {
        0
    }
}

/// A change was not made, because it cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "nothing was changed, since it cannot be recorded, and `required = true` under [server.audit]: make room in its folder, and see that it can be written to"
)]
pub struct NotRecorded;

/// Where records go. Clones share the log.
#[derive(Clone, Default)]
pub struct Audit {
    log: Option<Arc<dyn AuditLog>>,
    refusals: Arc<RefusalRates>,
}

impl Audit {
    pub fn new(log: Arc<dyn AuditLog>) -> Self {
        Self { log: Some(log), refusals: Arc::default() }
    }

    /// Records nothing: for commands that only read.
    pub fn none() -> Self {
        Self::default()
    }

    /// Stores a record. Does not block.
    pub fn record(&self, record: AuditRecord) {
        if let Some(log) = &self.log {
            log.keep(record);
        }
    }

    /// Records a change and then makes it. So a crash in between leaves a record without its change, but never a change without
    /// a record. If the change fails, that is recorded, too. If records are required and cannot be stored, the change is not
    /// made. Blocks.
    pub fn record_first<T, E: From<NotRecorded>>(
        &self,
        records: Vec<AuditRecord>,
        change: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        records.iter().for_each(|record| self.record(record.clone()));
        let may_be_made = self.flush() || !self.log.as_ref().is_some_and(|log| log.is_required());
        // Even if the record was not stored now, it may be stored later.
        let made = if may_be_made { change() } else { Err(NotRecorded.into()) };
        if made.is_err() {
            records.into_iter().filter_map(AuditRecord::not_made).for_each(|record| self.record(record));
            self.flush();
        }
        made
    }

    /// The record of a call's arguments, which are a JSON text; `None` if nothing is recorded.
    pub fn arguments(&self, text: &str) -> Option<RecordedArguments> {
        self.log.as_ref().map(|log| RecordedArguments::new(text, log.arguments()))
    }

    /// Whether calls of a principal must not start now.
    pub fn refuses_calls(&self, principal: &Principal) -> bool {
        self.log.as_ref().is_some_and(|log| log.refuses_calls(principal))
    }

    /// Waits until all records so far are stored; returns false if they are not. Blocks.
    pub fn flush(&self) -> bool {
        self.log.as_ref().is_none_or(|log| log.flush())
    }

    /// Whether one more refusal is recorded and logged. Refusals beyond the rate are only counted.
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

    /// Number of records that were lost.
    pub fn lost(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.lost())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::AuditEvent;
    use crate::sync::Mutex;

    #[derive(Default)]
    struct Kept(Mutex<Vec<AuditRecord>>);

    impl AuditLog for Kept {
        fn keep(&self, record: AuditRecord) {
            self.0.lock().push(record);
        }
    }

    /// A log that cannot store anything now.
    struct Full {
        is_required: bool,
        waiting: Kept,
    }

    impl AuditLog for Full {
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
