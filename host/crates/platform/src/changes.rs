//! Notifications about changed lists of tools, prompts and resources, and about changed resources.

use policy::Principal;
use tokio::sync::broadcast;

/// Changes that may wait for a listener. A listener that lags further must assume that everything changed. Bounds the
/// memory for a slow reader, however fast plugins publish.
const WAITING: usize = 1_024;

/// A change. Without a principal it concerns everybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Tools,
    Prompts(Option<Principal>),
    /// The list of resources or of resource templates.
    Resources(Option<Principal>),
    /// The content of a resource, by its URI.
    Resource(Option<Principal>, String),
}

impl Change {
    /// Whether this principal may see the change.
    pub fn concerns(&self, principal: &Principal) -> bool {
        match self {
            Change::Tools => true,
            Change::Prompts(of) | Change::Resources(of) | Change::Resource(of, _) => {
                of.as_ref().is_none_or(|of| of == principal)
            }
        }
    }
}

/// Sends changes to listeners. Clones share the listeners.
#[derive(Debug, Clone)]
pub struct ChangeNotifier(broadcast::Sender<Change>);

impl ChangeNotifier {
    pub fn new() -> Self {
        Self(broadcast::channel(WAITING).0)
    }

    /// Notifies all current listeners; never blocks.
    pub fn send(&self, change: Change) {
        // It fails when nobody listens.
        let _ = self.0.send(change);
    }

    /// All changes from now on. A receiver that lags must assume that everything changed.
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}

impl Default for ChangeNotifier {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_concerns_its_principal_only() {
        let (alice, bob) = (Principal::from_source("key", "alice"), Principal::from_source("key", "bob"));
        assert!(Change::Tools.concerns(&alice) && Change::Resources(None).concerns(&bob));
        let hers = Change::Resource(Some(alice.clone()), "x:y".into());
        assert!(hers.concerns(&alice) && !hers.concerns(&bob));
    }

    #[test]
    fn a_listener_that_lags_is_told_so_and_goes_on() {
        let changes = ChangeNotifier::new();
        let mut listener = changes.subscribe();
        (0..WAITING + 1).for_each(|_| changes.send(Change::Tools));
        assert!(matches!(listener.try_recv(), Err(broadcast::error::TryRecvError::Lagged(1))));
        assert_eq!(listener.try_recv(), Ok(Change::Tools));
    }
}
