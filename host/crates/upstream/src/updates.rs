//! Watches the resources of a server that clients of this host listen for, and announces their changes.

use crate::server::{MAX_WATCHED, Upstream};
use platform::changes::Change;
use platform::sync::Mutex;
use plugins::catalog::{Catalog, CurrentCatalog, ResourceOwner, upstream_address};
use policy::Principal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Time between two looks at what has changed. Bounds what it costs all clients if a server keeps reporting changes, or if a
/// client keeps subscribing and unsubscribing.
const PAUSE: Duration = Duration::from_millis(100);

/// The pause after a look is at least this many times as long as the look. Bounds its part of a processor, whatever is listened
/// for.
const REST: u32 = 16;
/// URIs that are looked at before other tasks get a turn.
const AT_ONCE: usize = 128;

/// Watched resources that the server has reported as changed.
#[derive(Default)]
pub(super) struct UpdatedResources {
    uris: Mutex<BTreeSet<String>>,
    updated: Notify,
}

impl UpdatedResources {
    pub(super) fn add(&self, uri: &str) {
        self.uris.lock().insert(uri.to_owned());
        self.updated.notify_one();
    }

    async fn next(&self) -> BTreeSet<String> {
        self.updated.notified().await;
        std::mem::take(&mut *self.uris.lock())
    }
}

/// Runs as long as the process.
pub(super) async fn pass_on_updates(upstream: Upstream, updated: Arc<UpdatedResources>, catalog: Arc<CurrentCatalog>) {
    let (mut wanted, mut catalogs) = (catalog.changes().wanted(), catalog.subscribe());
    let mut watched = BTreeSet::new();
    loop {
        let began = upstream.0.clock.now();
        let snapshot = catalogs.borrow_and_update().clone();
        let listened: Vec<_> = wanted.borrow_and_update().keys().cloned().collect();
        let now = match upstream.can_watch() {
            true => share_out(own_uris(&snapshot, upstream.name(), &listened).await, MAX_WATCHED),
            false => BTreeSet::new(),
        };
        let looking = upstream.0.clock.now().saturating_duration_since(began);
        watch_only(&upstream, &mut watched, now).await;
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() { return },
            changed = catalogs.changed() => if changed.is_err() { return },
            uris = updated.next() => {
                let snapshot = catalog.snapshot();
                for uri in uris {
                    announce(&catalog, &snapshot, upstream.name(), &uri);
                }
            }
        }
        tokio::time::sleep(PAUSE.max(looking * REST)).await;
    }
}

/// The URIs that are this server's own, each with the principals that listen for it.
async fn own_uris<'a>(
    catalog: &'a Catalog,
    server: &str,
    listened: &'a [(Arc<str>, Principal)],
) -> BTreeMap<&'a str, Vec<&'a Principal>> {
    let mut own: BTreeMap<&str, Vec<&Principal>> = BTreeMap::new();
    for some in listened.chunks(AT_ONCE) {
        for (uri, who) in some {
            if let Some(uri) = own_uri(catalog, server, uri) {
                own.entry(uri).or_default().push(who);
            }
        }
        tokio::task::yield_now().await;
    }
    own
}

/// The URIs that are watched when not all can be. Each principal gets one in turn, so those who listen for the most lose some.
fn share_out(own: BTreeMap<&str, Vec<&Principal>>, most: usize) -> BTreeSet<String> {
    if own.len() <= most {
        return own.into_keys().map(str::to_owned).collect();
    }
    let mut by_principal: BTreeMap<&Principal, Vec<&str>> = BTreeMap::new();
    for (uri, who) in own.into_iter().rev() {
        who.into_iter().for_each(|principal| by_principal.entry(principal).or_default().push(uri));
    }
    let mut chosen = BTreeSet::new();
    while chosen.len() < most && !by_principal.is_empty() {
        by_principal.retain(|_, own| match own.pop() {
            Some(uri) if chosen.len() < most => {
                chosen.insert(uri.to_owned());
                true
            }
            _ => false,
        });
    }
    chosen
}

/// The URI by which this server knows the resource, if it is its own.
fn own_uri<'a>(catalog: &'a Catalog, server: &str, uri: &'a str) -> Option<&'a str> {
    match catalog.resource_owner(uri)? {
        ResourceOwner::Server(owner, own) if *owner.id.name == *server => Some(own),
        ResourceOwner::Server(..) | ResourceOwner::Plugin(_) | ResourceOwner::Several(_) => None,
    }
}

/// What cannot be watched now is tried again when something has changed.
async fn watch_only(upstream: &Upstream, watched: &mut BTreeSet<String>, now: BTreeSet<String>) {
    let server = upstream.name();
    let gone: Vec<String> = watched.difference(&now).cloned().collect();
    for uri in gone {
        watched.remove(&uri);
        if let Err(error) = upstream.unwatch(&uri).await {
            tracing::debug!(server, "a resource is still watched: {error}");
        }
    }
    for uri in now {
        if watched.contains(&uri) {
            continue;
        }
        if let Err(error) = upstream.watch(&uri).await {
            // A server that does not answer is not asked for the others now.
            tracing::debug!(server, "a resource cannot be watched: {error}");
            return;
        }
        watched.insert(uri);
    }
}

/// Announces the change under each address by which clients may know the resource.
fn announce(current: &CurrentCatalog, catalog: &Catalog, server: &str, uri: &str) {
    let full = upstream_address(server, uri);
    let address = catalog.address_of(server, uri);
    if *address != *full {
        current.changes().send(Change::Resource(None, address.into_owned()));
    }
    current.changes().send(Change::Resource(None, full));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_listens_for_the_most_gives_way() {
        let [ann, bob, eve] = ["ann", "bob", "eve"].map(|name| Principal::from_source("key", name));
        let many: Vec<String> = (0..400).map(|number| format!("file:///{number:03}")).collect();
        let mut own: BTreeMap<&str, Vec<&Principal>> = many.iter().map(|uri| (&**uri, vec![&eve])).collect();
        own.extend([("z:hers", vec![&ann]), ("z:shared", vec![&bob, &ann])]);
        let chosen = share_out(own.clone(), 256);
        assert_eq!(chosen.len(), 256);
        assert!(chosen.contains("z:hers") && chosen.contains("z:shared"));
        assert_eq!(share_out(own.clone(), 256), chosen, "the same each time");
        assert_eq!(share_out(own, 500).len(), 402);
        assert!(share_out(BTreeMap::new(), 0).is_empty());
    }
}
