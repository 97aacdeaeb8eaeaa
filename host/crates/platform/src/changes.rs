//! Notifications about changed lists of tools, prompts and resources, and about changed resources.

use policy::Principal;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{broadcast, watch};

/// How many changes may wait for a listener. A listener that lags further must assume that everything changed. Bounds the
/// memory for a slow reader, however fast plugins publish.
const WAITING: usize = 1_024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools, which everybody sees; it is in the catalog with this number.
    Tools(u64),
    Prompts(ListPart),
    /// The list of resources or of resource templates.
    Resources(ListPart),
    /// The content of a resource, by its URI. If only one principal sees the resource, that principal is named.
    Resource(Option<Principal>, String),
}

/// Which part of a list has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListPart {
    /// The part that everybody sees; it is in the catalog with this number.
    Shared(u64),
    /// The part that only this principal sees.
    Own(Principal),
}

impl Change {
    /// Whether this principal may see the change.
    pub fn concerns(&self, principal: &Principal) -> bool {
        match self {
            Change::Tools(_) | Change::Prompts(ListPart::Shared(_)) | Change::Resources(ListPart::Shared(_)) => true,
            Change::Prompts(ListPart::Own(of)) | Change::Resources(ListPart::Own(of)) => of == principal,
            Change::Resource(of, _) => of.as_ref().is_none_or(|of| of == principal),
        }
    }
}

/// URIs of resources, with the principals that listen for changes of each and the number of their listeners.
pub type WantedResources = BTreeMap<(Arc<str>, Principal), usize>;

/// Sends changes to listeners, and knows which resources they listen for. Clones share the listeners.
#[derive(Debug, Clone)]
pub struct ChangeNotifier {
    changes: broadcast::Sender<Change>,
    wanted: Arc<watch::Sender<WantedResources>>,
}

/// Keeps the host informed that somebody listens for changes of a resource, until this is dropped.
#[derive(Debug)]
pub struct WantedResource {
    key: (Arc<str>, Principal),
    wanted: Arc<watch::Sender<WantedResources>>,
}

impl Drop for WantedResource {
    fn drop(&mut self) {
        self.wanted.send_if_modified(|wanted| {
            let Some(count) = wanted.get_mut(&self.key) else { return false };
            *count -= 1;
            *count == 0 && wanted.remove(&self.key).is_some()
        });
    }
}

impl ChangeNotifier {
    pub fn new() -> Self {
        Self { changes: broadcast::channel(WAITING).0, wanted: Arc::new(watch::Sender::new(BTreeMap::new())) }
    }

    /// Notifies all current listeners; never blocks.
    pub fn send(&self, change: Change) {
        // Sending fails if nobody listens.
        let _ = self.changes.send(change);
    }

    /// All changes from now on. A receiver that lags must assume that everything changed.
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Announces that somebody listens for changes of a resource. Sources that must be asked to report changes are asked then.
    pub fn want(&self, principal: &Principal, uri: &str) -> WantedResource {
        let mut key = (Arc::from(uri), principal.clone());
        self.wanted.send_if_modified(|wanted| {
            let entry = wanted.entry(key.clone());
            // All that listen for the same resource share one text.
            key = entry.key().clone();
            let count = entry.or_default();
            *count += 1;
            *count == 1
        });
        WantedResource { key, wanted: self.wanted.clone() }
    }

    /// The resources that are listened for, now and later.
    pub fn wanted(&self) -> watch::Receiver<WantedResources> {
        self.wanted.subscribe()
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
        assert!(Change::Tools(1).concerns(&alice) && Change::Resources(ListPart::Shared(1)).concerns(&bob));
        let hers = Change::Resource(Some(alice.clone()), "x:y".into());
        assert!(hers.concerns(&alice) && !hers.concerns(&bob));
    }

    #[test]
    fn what_several_want_is_wanted_until_the_last_one_goes() {
        let changes = ChangeNotifier::new();
        let mut wanted = changes.wanted();
        let (alice, bob) = (Principal::from_source("key", "alice"), Principal::from_source("key", "bob"));
        let (one, again) = (changes.want(&alice, "x:1"), changes.clone().want(&alice, "x:1"));
        let listeners = |wanted: &WantedResources| wanted.keys().map(|(_, who)| who.clone()).collect::<Vec<_>>();
        assert!(wanted.has_changed().unwrap());
        assert_eq!(listeners(&wanted.borrow_and_update()), std::slice::from_ref(&alice));
        drop(one);
        assert!(!wanted.has_changed().unwrap());
        let other = changes.want(&bob, "x:1");
        assert_eq!(listeners(&wanted.borrow_and_update()), [alice, bob.clone()]);
        drop(again);
        assert_eq!(listeners(&wanted.borrow_and_update()), [bob]);
        drop(other);
        assert!(wanted.has_changed().unwrap() && wanted.borrow_and_update().is_empty());
    }

    #[test]
    fn a_listener_that_lags_is_told_so_and_goes_on() {
        let changes = ChangeNotifier::new();
        let mut listener = changes.subscribe();
        (0..WAITING + 1).for_each(|_| changes.send(Change::Tools(1)));
        assert!(matches!(listener.try_recv(), Err(broadcast::error::TryRecvError::Lagged(1))));
        assert_eq!(listener.try_recv(), Ok(Change::Tools(1)));
    }
}
