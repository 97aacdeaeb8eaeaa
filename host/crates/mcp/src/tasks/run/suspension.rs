//! Suspends tasks whose call waits: decides when nobody has to serve a call for a while, and what makes it go on.
//!
//! A call that waits for an answer, a message or fuel does nothing. If its steps are stored, its instance can be dropped: once
//! a request for its task arrives, or the time comes that it waits for, the call runs again up to that place. So a waiting call
//! costs room in the store, and none in memory. A call keeps its instance as long as the limits of waiting calls allow it,
//! because a repeated run costs time and is impossible with another version of the plugin.

use crate::calls::wait_permits::WaitPermit;
use crate::client::view::RequestView;
use crate::tasks::records::fuel::CallFuel;
use crate::tasks::records::record::{Suspended, millis};
use crate::tasks::run::questions::TaskQuestions;
use crate::tasks::tasks::Tasks;
use policy::Principal;
use runtime::engine::HeldResources;
use runtime::imports::{Steering, SteeringMessage};
use runtime::journal::CallJournal;
use std::sync::Arc;
use std::time::Duration;

/// Units of fuel that a call may have used to be suspended while it waits for its client. Running it again costs as much: this
/// bounds the work that a client causes which makes a call wait and go on, over and over.
const CHEAP: u64 = 1 << 30;
/// How long a call keeps its instance when somebody is about to send something to it.
const STAYS: Duration = Duration::from_secs(2);

/// Decides when a call is suspended.
pub(in crate::tasks) struct Suspension {
    pub(in crate::tasks) tasks: Arc<Tasks>,
    pub(in crate::tasks) principal: Principal,
    pub(in crate::tasks) view: Arc<RequestView>,
    pub(in crate::tasks) journal: CallJournal,
    pub(in crate::tasks) steering: Option<Steering>,
    pub(in crate::tasks) held: HeldResources,
    /// Held while the call waits for a message, as by a call that waits for an answer; none if the limit of waiting calls is
    /// reached.
    pub(in crate::tasks) permit: Option<WaitPermit>,
    /// The call is not suspended before this time, in milliseconds since 1970.
    pub(in crate::tasks) stays_until: u64,
}

impl Suspension {
    /// Whether a call that has to wait for an answer now could wait without its instance. It could not while an effect is under
    /// way: that may take any time, and nothing would count the instance meanwhile.
    pub(in crate::tasks) fn is_possible_now(&self, fuel: &CallFuel) -> bool {
        self.is_possible(fuel) && !self.journal.has_effect_under_way()
    }

    fn is_possible(&self, fuel: &CallFuel) -> bool {
        self.can_run_again() && fuel.used() <= CHEAP
    }

    pub(in crate::tasks) fn stay(&mut self, now: u64) {
        self.stays_until = now.saturating_add(millis(STAYS));
    }

    pub(in crate::tasks) fn waits_for_message(&self) -> bool {
        self.steering.as_ref().is_some_and(Steering::waits)
    }

    /// Whether it waits for a message without a permit, since the limit of waiting calls is reached.
    pub(in crate::tasks) fn lacks_permit(&self) -> bool {
        self.waits_for_message() && self.permit.is_none()
    }

    /// Closes the message queue of a call that is suspended. Returns the unread messages; none if the call goes on in that
    /// moment.
    pub(in crate::tasks) fn close(&self, suspended: Suspended) -> Option<Vec<SteeringMessage>> {
        match &self.steering {
            Some(steering) => steering.close(suspended.for_message),
            None => Some(Vec::new()),
        }
    }

    fn can_run_again(&self) -> bool {
        self.tasks.are_durable() && self.journal.unreplayable().is_none()
    }

    /// Until when to suspend the call, if it is to be suspended. Refuses what waits without a permit and cannot be suspended.
    pub(in crate::tasks) fn due(
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
        // A guest may start several requests at once. Their steps are stored one after the other, so it is working until all
        // are stored.
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
