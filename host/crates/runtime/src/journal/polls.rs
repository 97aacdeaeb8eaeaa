//! Answers that say nothing, such as "no message yet". Many come one after the other, and only the last of them is recorded:
//! before something leaves the call that could depend on it, and about once a second.
//!
//! A run that comes to such a step and has no record of it knows the answer if there is a record of a later step: it was
//! nothing. If there is none, nothing that depends on the answer has left the call, and the guest may as well get a new answer.

use super::entry::{Entry, StepPath};
use super::remark::millis;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How much waiting another process may have to do again.
const UNRECORDED: Duration = Duration::from_secs(1);

/// The numbers of the steps that made a call.
type Call = Vec<u32>;

#[derive(Default)]
pub(super) struct Polls {
    /// For each call, the last step of which earlier runs have recorded something.
    passed: HashMap<Call, u32>,
    /// For each call, its last answer that meant "nothing", if no later step is recorded.
    unrecorded: HashMap<Call, Unrecorded>,
}

struct Unrecorded {
    since: Instant,
    entry: Entry,
    /// Milliseconds that this answer and those before it took.
    polled: u32,
}

impl Polls {
    /// An earlier run has recorded something of a step.
    pub(super) fn add_earlier(&mut self, path: &StepPath) {
        for (number, call) in steps(path) {
            match self.passed.get_mut(call) {
                Some(last) => *last = number.max(*last),
                None => drop(self.passed.insert(call.to_vec(), number)),
            }
        }
    }

    pub(super) fn has_earlier_of(&self, call: &StepPath) -> bool {
        self.passed.contains_key(&call.0)
    }

    /// Whether an earlier run has got past a step.
    pub(super) fn has_passed(&self, path: &StepPath) -> bool {
        let Some((number, call)) = path.0.split_last() else { return false };
        self.passed.get(call).is_some_and(|last| last > number)
    }

    /// Adds an answer that means "nothing", to a step that began at the time `begun`. Returns it if it is to be recorded now.
    pub(super) fn add_nothing(&mut self, mut entry: Entry, begun: Instant, now: Instant) -> Option<Entry> {
        let call = entry.path.0.split_last().map_or(&[][..], |(_, call)| call);
        let before = self.unrecorded.get(call);
        let (since, polled) = before.map_or((begun, 0), |before| (before.since, before.polled));
        if now.saturating_duration_since(since) >= UNRECORDED {
            entry.remark.polled = polled;
            return Some(entry);
        }
        let polled = polled.saturating_add(millis(now.saturating_duration_since(begun)));
        self.unrecorded.insert(call.to_vec(), Unrecorded { since, entry, polled });
        None
    }

    /// To be called when something of a step is recorded. That record also shows that the unrecorded answers before it were
    /// "nothing", so they are dropped. Returns the milliseconds that they took in the step's own call.
    pub(super) fn add_record(&mut self, path: &StepPath) -> u32 {
        let mut polled = 0;
        if self.unrecorded.is_empty() {
            return polled;
        }
        for (number, call) in steps(path) {
            let is_later = |nothing: &Unrecorded| nothing.entry.path.0.last().is_some_and(|last| *last <= number);
            let is_known = self.unrecorded.get(call).is_some_and(is_later);
            let nothing = if is_known { self.unrecorded.remove(call) } else { None };
            // The last of these is the step's own call.
            polled = nothing.map_or(0, |nothing| nothing.polled);
        }
        polled
    }

    /// Takes what is to be recorded before anything leaves the call that makes this step.
    pub(super) fn take_unrecorded(&mut self, path: &StepPath) -> Option<Entry> {
        let (_, call) = path.0.split_last()?;
        let Unrecorded { mut entry, polled, .. } = self.unrecorded.remove(call)?;
        entry.remark.polled = polled.saturating_sub(entry.remark.took);
        Some(entry)
    }
}

/// The number of a step and of each step above it, and the call that it belongs to.
fn steps(path: &StepPath) -> impl Iterator<Item = (u32, &[u32])> {
    path.0.iter().enumerate().map(|(depth, number)| (*number, &path.0[..depth]))
}
