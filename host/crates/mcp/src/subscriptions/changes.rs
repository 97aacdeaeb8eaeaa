//! Changes on their way to one client, coalesced: a plugin that changes something a thousand times a second causes only
//! a few notifications.

use platform::changes::Change;
use policy::Principal;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// The first change is notified at once; the next not before this has passed.
const PAUSE: Duration = Duration::from_millis(50);
/// Changes coalesced into one set. Bounds the work between two notifications.
const MAX_COALESCED: usize = 1_024;

/// What has changed for a principal since its last notification.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ChangeSet {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    uris: BTreeSet<String>,
    /// The receiver lagged, so any resource may have changed.
    any_resource: bool,
}

impl ChangeSet {
    pub(crate) fn has_resource(&self, uri: &str) -> bool {
        self.any_resource || self.uris.contains(uri)
    }

    /// Waits for the next changes; none when there will be no more.
    pub(crate) async fn next(from: &mut Receiver<Change>, principal: &Principal) -> Option<Self> {
        loop {
            let mut changed = Self::default();
            match from.recv().await {
                Ok(change) => changed.add(change, principal),
                Err(RecvError::Lagged(_)) => changed.add_everything(),
                Err(RecvError::Closed) => return None,
            }
            for _ in 0..MAX_COALESCED {
                match from.try_recv() {
                    Ok(change) => changed.add(change, principal),
                    Err(TryRecvError::Lagged(_)) => changed.add_everything(),
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
            if changed != Self::default() {
                return Some(changed);
            }
        }
    }

    /// Call it after each notification.
    pub(crate) async fn pause() {
        tokio::time::sleep(PAUSE).await;
    }

    fn add(&mut self, change: Change, principal: &Principal) {
        if !change.concerns(principal) {
            return;
        }
        match change {
            Change::Tools => self.tools = true,
            Change::Prompts(_) => self.prompts = true,
            Change::Resources(_) => self.resources = true,
            Change::Resource(_, uri) => {
                self.uris.insert(uri);
            }
        }
    }

    fn add_everything(&mut self) {
        *self = Self { tools: true, prompts: true, resources: true, uris: BTreeSet::new(), any_resource: true };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::changes::ChangeNotifier;

    #[tokio::test]
    async fn changes_of_others_are_left_out_and_a_lagging_receiver_gets_everything() {
        let (alice, bob) = (Principal::from_source("key", "alice"), Principal::from_source("key", "bob"));
        let changes = ChangeNotifier::new();
        let mut from = changes.subscribe();
        let of = |principal: &Principal, uri: &str| Change::Resource(Some(principal.clone()), uri.to_owned());
        changes.send(Change::Prompts(Some(bob.clone())));
        changes.send(of(&bob, "x:his"));
        changes.send(of(&alice, "x:hers"));
        changes.send(of(&alice, "x:hers"));
        changes.send(Change::Tools);
        let changed = ChangeSet::next(&mut from, &alice).await.unwrap();
        assert!(changed.tools && !changed.prompts && !changed.resources);
        assert!(changed.has_resource("x:hers") && !changed.has_resource("x:his"));
        // Too far behind to know: everything.
        (0..5_000).for_each(|_| changes.send(Change::Prompts(None)));
        let changed = ChangeSet::next(&mut from, &alice).await.unwrap();
        assert!(changed.tools && changed.prompts && changed.resources && changed.has_resource("x:any"));
        drop(changes);
        while let Some(changed) = ChangeSet::next(&mut from, &alice).await {
            assert!(changed.prompts);
        }
    }
}
