//! What is kept elsewhere of a call that waits: its records so far, which are outdated from its next one on.

use super::first_effect::{EffectGuard, Noted};
use super::records::Records;
use futures::FutureExt as _;
use platform::durable::Answer;

/// None: nothing is kept elsewhere.
#[derive(Default)]
pub(super) struct Snapshot(Option<State>);

enum State {
    Kept(EffectGuard),
    /// It is being removed, or was.
    Outdated(Noted),
}

impl Snapshot {
    /// The records so far are kept. `outdated` removes them again.
    pub(super) fn keep(&mut self, outdated: EffectGuard) {
        self.0 = Some(State::Kept(outdated));
    }

    /// There is another record. Before anything that depends on it, this must be done.
    pub(super) fn outdated(&mut self) -> Option<Answer<()>> {
        let removed = match self.0.take()? {
            State::Kept(outdated) => outdated().shared(),
            State::Outdated(removed) if removed.peek() == Some(&Ok(())) => return None,
            State::Outdated(removed) => removed,
        };
        self.0 = Some(State::Outdated(removed.clone()));
        Some(removed.boxed())
    }
}

impl Records {
    /// All records, for somebody who keeps them. False if the call cannot be replayed from them.
    pub(super) fn keep_elsewhere(&self, keep: impl FnOnce(Vec<Vec<u8>>), outdated: EffectGuard) -> bool {
        // Under the lock, so that no record comes between.
        let mut state = self.state.lock();
        let records = state.export().filter(|_| !self.has_left() && !self.has_unrepeatable());
        let Some(records) = records else { return false };
        keep(records);
        state.snapshot.keep(outdated);
        true
    }
}
