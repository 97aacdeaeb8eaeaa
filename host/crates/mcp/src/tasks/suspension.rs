//! Tasks whose call waits and that nobody serves meanwhile: when a call is suspended, and what makes it go on.
//!
//! A call that waits for an answer, a message or fuel does nothing. If its steps are stored, its instance can go: the call runs
//! again up to there once somebody asks something of its task, or when a moment comes for which it waits. So what waits costs
//! the host's store, and not its memory. While there is room, it keeps its instance: to run again costs time, and with another
//! version of its plugin it cannot.

use super::fuel::CallFuel;
use super::questions::TaskQuestions;
use super::record::{Suspended, millis};
use super::tasks::Tasks;
use crate::calls::wait_permits::WaitPermit;
use crate::client::view::RequestView;
use policy::Principal;
use runtime::engine::HeldResources;
use runtime::imports::{Steering, SteeringMessage};
use runtime::journal::CallJournal;
use std::sync::Arc;
use std::time::Duration;

/// Units of fuel that a call may have used to be suspended while it waits for its client. To run it again costs that: bounds what a
/// client can have computed that lets a call wait and go on, over and over.
const CHEAP: u64 = 1 << 30;
/// How long a call stays that somebody is about to say something to.
const STAYS: Duration = Duration::from_secs(2);

/// Decides when a call is suspended.
pub(super) struct Suspension {
    pub(super) tasks: Arc<Tasks>,
    pub(super) principal: Principal,
    pub(super) view: Arc<RequestView>,
    pub(super) journal: CallJournal,
    pub(super) steering: Option<Steering>,
    pub(super) held: HeldResources,
    /// Held while the call waits for a message, like that of one which waits for an answer; none if as much waits already as may.
    pub(super) permit: Option<WaitPermit>,
    /// It is not suspended before, in milliseconds since 1970.
    pub(super) stays_until: u64,
}

impl Suspension {
    /// Whether a call that has to wait for an answer now could do so without its instance. What others would have to end first
    /// may take any time, and nothing would count the instance meanwhile.
    pub(super) fn is_possible_now(&self, fuel: &CallFuel) -> bool {
        self.is_possible(fuel) && !self.journal.has_effect_under_way()
    }

    fn is_possible(&self, fuel: &CallFuel) -> bool {
        self.can_run_again() && fuel.used() <= CHEAP
    }

    pub(super) fn stay(&mut self, now: u64) {
        self.stays_until = now.saturating_add(millis(STAYS));
    }

    pub(super) fn waits_for_message(&self) -> bool {
        self.steering.as_ref().is_some_and(Steering::waits)
    }

    /// Whether it waits for a message although as much waits already as may.
    pub(super) fn lacks_permit(&self) -> bool {
        self.waits_for_message() && self.permit.is_none()
    }

    /// Closes the queue of a call that is suspended. Returns what it has not read; none if it goes on meanwhile.
    pub(super) fn close(&self, suspended: Suspended) -> Option<Vec<SteeringMessage>> {
        match &self.steering {
            Some(steering) => steering.close(suspended.for_message),
            None => Some(Vec::new()),
        }
    }

    fn can_run_again(&self) -> bool {
        self.tasks.are_durable() && self.journal.unreplayable().is_none()
    }

    /// Until when the call is to be suspended, if it is. What waits without a permit and cannot be suspended is refused.
    pub(super) fn due(
        &mut self,
        questions: &mut TaskQuestions,
        fuel: &mut CallFuel,
        is_computing: bool,
        now: u64,
    ) -> Option<Suspended> {
        if fuel.lacks_permit() && (!self.can_run_again() || self.journal.has_effect_under_way()) {
            fuel.give_up();
        }
        if questions.lacks_permit() && !self.is_possible(fuel) {
            questions.refuse_over_limit();
        }
        let (waits, asks, paused) = (questions.is_waiting(), questions.asking(), fuel.paused());
        let for_message = self.waits_for_message();
        // What it begins at once is asked for at once, though the steps are stored one after the other.
        let is_working = is_computing || self.view.is_working(asks) || self.journal.is_storing();
        let only_waits = paused.is_some() || ((waits || for_message) && !is_working);
        if !for_message {
            self.permit = None;
        } else if self.permit.is_none() {
            self.permit = self.tasks.permits.acquire(&self.principal, self.held.now()).ok();
        }
        let has_no_room =
            (self.lacks_permit() && self.is_possible(fuel)) || questions.lacks_permit() || fuel.lacks_permit();
        if !only_waits || !has_no_room || now < self.stays_until || self.journal.has_effect_under_way() {
            return None;
        }
        let until = questions.expires().into_iter().chain(paused.and_then(|paused| paused.until)).min();
        Some(Suspended { until, for_message })
    }
}
