//! Changes on their way to one client, coalesced: a plugin that changes something a thousand times a second causes only
//! a few notifications.

use platform::changes::{Change, ListPart};
use policy::Principal;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// The first change is notified at once, the next one only after this time.
const PAUSE: Duration = Duration::from_millis(50);
/// Changes coalesced into one set. Bounds the work between two notifications.
const MAX_COALESCED: usize = 1_024;

/// What has changed for a principal since its last notification.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ChangeSet {
    pub(crate) tools: ListChange,
    pub(crate) prompts: ListChange,
    pub(crate) resources: ListChange,
    uris: BTreeSet<String>,
    /// The receiver lagged, so any resource may have changed.
    any_resource: bool,
}

/// Whether a list has changed, and in which way.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct ListChange {
    /// The newest catalog in which it changed.
    catalog: Option<u64>,
    /// Set if the change is in the part that only the principal sees, or if the part is unknown.
    is_own: bool,
}

impl ListChange {
    fn add(&mut self, part: ListPart) {
        match part {
            ListPart::Shared(catalog) => self.catalog = self.catalog.max(Some(catalog)),
            ListPart::Own(_) => self.is_own = true,
        }
    }

    pub(crate) fn is_any(self) -> bool {
        self.is_own || self.catalog.is_some()
    }

    /// Whether this is new to a client that has read the list of this catalog. Some clients fail when a change is announced for
    /// a list that they have just read.
    pub(crate) fn is_news_after(self, listed: Option<u64>) -> bool {
        self.is_own || self.catalog > listed
    }
}

impl ChangeSet {
    pub(crate) fn has_resource(&self, uri: &str) -> bool {
        self.any_resource || self.uris.contains(uri)
    }

    /// Waits for the next changes; none if there will be no more.
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

    /// Must be called after each notification.
    pub(crate) async fn pause() {
        tokio::time::sleep(PAUSE).await;
    }

    fn add(&mut self, change: Change, principal: &Principal) {
        if !change.concerns(principal) {
            return;
        }
        match change {
            Change::Tools(catalog) => self.tools.add(ListPart::Shared(catalog)),
            Change::Prompts(part) => self.prompts.add(part),
            Change::Resources(part) => self.resources.add(part),
            Change::Resource(_, uri) => {
                self.uris.insert(uri);
            }
        }
    }

    fn add_everything(&mut self) {
        let any = ListChange { is_own: true, ..ListChange::default() };
        *self = Self { tools: any, prompts: any, resources: any, uris: BTreeSet::new(), any_resource: true };
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
        changes.send(Change::Prompts(ListPart::Own(bob.clone())));
        changes.send(of(&bob, "x:his"));
        changes.send(of(&alice, "x:hers"));
        changes.send(of(&alice, "x:hers"));
        changes.send(Change::Tools(3));
        let changed = ChangeSet::next(&mut from, &alice).await.unwrap();
        assert!(changed.tools.is_any() && !changed.prompts.is_any() && !changed.resources.is_any());
        assert!([None, Some(2)].into_iter().all(|listed| changed.tools.is_news_after(listed)));
        assert!([3, 4].into_iter().all(|listed| !changed.tools.is_news_after(Some(listed))));
        assert!(changed.has_resource("x:hers") && !changed.has_resource("x:his"));
        // Too far behind to know: everything.
        (0..5_000).for_each(|_| changes.send(Change::Prompts(ListPart::Shared(1))));
        let changed = ChangeSet::next(&mut from, &alice).await.unwrap();
        let lists = [changed.tools, changed.prompts, changed.resources];
        assert!(lists.into_iter().all(|list| list.is_news_after(Some(9))) && changed.has_resource("x:any"));
        drop(changes);
        while let Some(changed) = ChangeSet::next(&mut from, &alice).await {
            assert!(changed.prompts.is_any());
        }
    }
}
