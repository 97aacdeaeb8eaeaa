//! What is kept elsewhere of a call that waits: its records so far, which are outdated from its next one on.

use super::first_effect::{EffectGuard, Noted};
use futures::FutureExt as _;
use platform::durable::StoreAnswer;

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
