//! What changed, for whoever listens: lists of tools, prompts and resources, and single resources.

use policy::Principal;
use tokio::sync::broadcast;

/// Changes that may wait for a listener. One that is further behind is told that everything changed, so a slow reader
/// costs no more memory than this, however fast plugins publish.
const WAITING: usize = 1_024;

/// One change. Without a principal it concerns everybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts(Option<Principal>),
    /// The list of resources or of resource templates.
    Resources(Option<Principal>),
    /// What a resource holds, by its URI.
    Resource(Option<Principal>, String),
}

impl Change {
    /// Whether this principal may learn of it.
    pub fn concerns(&self, principal: &Principal) -> bool {
        match self {
            Change::Tools => true,
            Change::Prompts(of) | Change::Resources(of) | Change::Resource(of, _) => {
                of.as_ref().is_none_or(|of| of == principal)
            }
        }
    }
}

/// Where changes are told. Clones tell the same listeners.
#[derive(Debug, Clone)]
pub struct Changes(broadcast::Sender<Change>);

impl Changes {
    /// Nobody listens yet.
    pub fn new() -> Self {
        Self(broadcast::channel(WAITING).0)
    }

    /// Tells everybody who listens now; never waits.
    pub fn send(&self, change: Change) {
        // Nobody listens: nobody needs to know.
        let _ = self.0.send(change);
    }

    /// All changes from now on. A receiver that lags must take it as a change of everything.
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}

impl Default for Changes {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_concerns_its_principal_only() {
        let (alice, bob) = (Principal::known("key", "alice"), Principal::known("key", "bob"));
        assert!(Change::Tools.concerns(&alice) && Change::Resources(None).concerns(&bob));
        let hers = Change::Resource(Some(alice.clone()), "x:y".into());
        assert!(hers.concerns(&alice) && !hers.concerns(&bob));
    }

    #[test]
    fn a_listener_that_lags_is_told_so_and_goes_on() {
        let changes = Changes::new();
        let mut listener = changes.subscribe();
        (0..WAITING + 1).for_each(|_| changes.send(Change::Tools));
        assert!(matches!(listener.try_recv(), Err(broadcast::error::TryRecvError::Lagged(1))));
        assert_eq!(listener.try_recv(), Ok(Change::Tools));
    }
}
