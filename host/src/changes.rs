//! What has changed of what is offered: told to whoever listens, so that clients can be told.

use crate::policy::Principal;
use tokio::sync::broadcast;

/// Changes that may wait for a slow listener. One that is further behind learns that it missed some, and takes
/// everything for changed.
const WAITING: usize = 1_024;

/// One change. None as the principal: everybody's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts(Option<Principal>),
    /// The list of resources.
    Resources(Option<Principal>),
    /// What is in one resource, by URI.
    Resource(Option<Principal>, String),
}

/// Tells changes to all who listen.
pub struct Changes(broadcast::Sender<Change>);

impl Changes {
    /// Nobody listens yet.
    #[allow(clippy::new_without_default, reason = "there is one, made where everything is wired")]
    pub fn new() -> Self {
        Self(broadcast::Sender::new(WAITING))
    }

    /// Tells a change; nobody has to listen.
    pub fn send(&self, change: Change) {
        let _ = self.0.send(change);
    }

    /// Listens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}
