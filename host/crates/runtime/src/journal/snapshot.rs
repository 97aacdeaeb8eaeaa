//! The records of a waiting call that are kept elsewhere, and that become outdated with its next record.

use super::first_effect::{EffectGuard, Noted};
use futures::FutureExt as _;
use platform::durable::StoreAnswer;

/// None if nothing is kept elsewhere.
#[derive(Default)]
pub(super) struct Snapshot(Option<State>);

enum State {
    Kept(EffectGuard),
    /// What was kept is being removed, or has been removed.
    Outdated(Noted),
}

impl Snapshot {
    /// The records so far are kept. `outdated` removes them again.
    pub(super) fn keep(&mut self, outdated: EffectGuard) {
        self.0 = Some(State::Kept(outdated));
    }

    /// To be called for each new record. Returns the removal of the kept records, which must be done before anything that
    /// depends on the new one.
    pub(super) fn outdated(&mut self) -> Option<StoreAnswer<()>> {
        let removed = match self.0.take()? {
            State::Kept(outdated) => outdated().shared(),
            State::Outdated(removed) if removed.peek() == Some(&Ok(())) => return None,
            State::Outdated(removed) => removed,
        };
        self.0 = Some(State::Outdated(removed.clone()));
        Some(removed.boxed())
    }
}
