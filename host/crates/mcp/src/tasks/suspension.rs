//! Tasks whose call waits and that nobody serves meanwhile: when a call is put away, and what makes it go on.
//!
//! A call that waits for an answer or for fuel does nothing. If its steps are stored, its instance can go: the call runs again up
//! to there once somebody asks something of its task, or when a moment comes for which it waits. So what waits costs the
//! host's store, and not its memory.

use super::control::TaskRequest;
use super::fuel::CallFuel;
use super::mailbox::leave;
use super::questions::TaskQuestions;
use super::record::{Suspended, TaskRecord, millis};
use super::table::TaskId;
use super::tasks::Tasks;
use crate::client::view::RequestView;
use runtime::journal::CallJournal;
use std::sync::Arc;
use std::time::Duration;

/// How long a call keeps its instance while it waits for an answer. Most answers come within that, and find the call where it is.
const KEPT: Duration = Duration::from_secs(60);
/// Units of fuel that a call may have used to be put away while it waits for an answer. To run it again costs that, and nobody
/// pays for it: bounds what a client can have computed that lets a call wait and go on, over and over.
const CHEAP: u64 = 1 << 30;

/// Decides when a call is put away.
pub(super) struct Suspension {
    pub(super) tasks: Arc<Tasks>,
    pub(super) view: Arc<RequestView>,
    pub(super) journal: CallJournal,
    /// Since when it only waits, in milliseconds since 1970.
    pub(super) waits_since: Option<u64>,
}

impl Suspension {
    /// Whether the call could wait for an answer without its instance.
    pub(super) fn is_possible(&self, fuel: &CallFuel) -> bool {
        self.can_run_again() && fuel.used() <= CHEAP
    }

    fn can_run_again(&self) -> bool {
        self.tasks.are_durable() && self.journal.unreplayable().is_none()
    }

    /// Until when the call is to be put away, if it is. What waits without a permit and cannot be put away is refused.
    pub(super) fn due(&mut self, questions: &mut TaskQuestions, fuel: &mut CallFuel, now: u64) -> Option<Suspended> {
        if fuel.lacks_permit() && !self.can_run_again() {
            fuel.give_up();
        }
        if questions.lacks_permit() && !self.is_possible(fuel) {
            questions.refuse_over_limit();
        }
        let (asks, paused) = (questions.waiting(), fuel.paused());
        let only_waits = paused.is_some() || (asks > 0 && !self.view.is_working(asks));
        if !only_waits {
            self.waits_since = None;
            return None;
        }
        let since = *self.waits_since.get_or_insert(now);
        // To let a paused call compute again what it has computed may take hours, so it keeps its instance while there is room.
        let has_waited = paused.is_none() && self.is_possible(fuel) && now.saturating_sub(since) >= millis(KEPT);
        let is_due = has_waited || questions.lacks_permit() || fuel.lacks_permit();
        if !is_due || self.journal.has_effect_under_way() {
            return None;
        }
        let until = questions.expires().into_iter().chain(paused.and_then(|paused| paused.until)).min();
        Some(Suspended { until })
    }
}

impl Tasks {
    /// What a call that is put away has in memory, and another process has not: messages that it has not read, and its output.
    pub(super) async fn keep_what_waits(self: &Arc<Self>, id: &TaskId, record: &TaskRecord) {
        let Some(maker) = self.maker.get() else { return };
        for message in maker.take_unread(record) {
            if let Err(error) = leave(&*self.store, id, &TaskRequest::Steer(message)).await {
                tracing::warn!(task = &**id, "a message to a task is lost: {error}");
            }
        }
        self.keep_output(id, record);
    }
}
