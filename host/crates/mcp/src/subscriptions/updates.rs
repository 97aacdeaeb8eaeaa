//! Notifications for clients of 2025-11-25: always about lists, and about resources after `resources/subscribe`.

use super::changes::ChangeSet;
use super::listen::{MAX_URI, MAX_URIS};
use platform::changes::{Change, ChangeNotifier, WantedResource};
use platform::sync::Mutex;
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{PaginatedRequestParams, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, RoleServer, ServiceError};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Bytes that a subscription takes besides its URI.
const ENTRY: usize = 192;
/// Bytes of the subscriptions of all sessions of a principal, and of all principals together. A session may have many
/// subscriptions, and a principal many sessions. Bounds the memory for a client that never unsubscribes.
const MAX_BYTES: usize = 4 << 20;
const MAX_ALL: usize = 32 << 20;

/// Bytes of the subscriptions of each principal's sessions.
#[derive(Default)]
pub(crate) struct SubscribedBytes(Mutex<HashMap<Principal, usize>>);

impl SubscribedBytes {
    /// The error says which limit was reached.
    fn take(&self, principal: &Principal, bytes: usize) -> Result<(), String> {
        let mut all = self.0.lock();
        let (mine, others) = (all.get(principal).copied().unwrap_or_default(), all.values().sum::<usize>());
        if mine + bytes > MAX_BYTES {
            return Err(format!(
                "your sessions are subscribed to {} MiB of URIs, all that one user may have",
                MAX_BYTES >> 20
            ));
        }
        if others + bytes > MAX_ALL {
            return Err("the sessions of all users are subscribed to as many resources as the server bears".into());
        }
        *all.entry(principal.clone()).or_default() += bytes;
        Ok(())
    }

    fn give_back(&self, principal: &Principal, bytes: usize) {
        let mut all = self.0.lock();
        if let Some(mine) = all.get_mut(principal) {
            *mine = mine.saturating_sub(bytes);
            if *mine == 0 {
                all.remove(principal);
            }
        }
    }
}

/// For each list, the catalog whose list a session has read last.
#[derive(Default)]
pub(crate) struct ListedCatalogs {
    pub(crate) tools: LastListed,
    pub(crate) prompts: LastListed,
    pub(crate) resources: LastListed,
    pub(crate) templates: LastListed,
}

/// The catalog whose list a session has read last.
#[derive(Default)]
pub(crate) struct LastListed {
    state: Mutex<ListedState>,
    read: Notify,
}

#[derive(Default)]
struct ListedState {
    /// None if the session has not read the list since this process serves it.
    catalog: Option<u64>,
    /// How many requests for the list are being answered.
    reading: usize,
}

/// A request for a list, while it is being answered.
pub(crate) struct ListReading<'a> {
    last: &'a LastListed,
    /// Cancelled if nobody gets the response.
    cancelled: CancellationToken,
}

impl LastListed {
    pub(crate) fn begin(&self, cancelled: CancellationToken) -> ListReading<'_> {
        self.state.lock().reading += 1;
        ListReading { last: self, cancelled }
    }

    /// Waits until no list is being read, since that may be a newer one, and returns the catalog.
    async fn get(&self) -> Option<u64> {
        loop {
            // Registered before the check, so that no end is missed.
            let read = self.read.notified();
            {
                let state = self.state.lock();
                if state.reading == 0 {
                    return state.catalog;
                }
            }
            read.await;
        }
    }
}

impl ListReading<'_> {
    /// Notes that the response is a page of the catalog with this number. Pages of several catalogs count as the oldest of
    /// these.
    pub(crate) fn note(&self, catalog: u64, page: Option<&PaginatedRequestParams>) {
        if self.cancelled.is_cancelled() {
            return;
        }
        let mut state = self.last.state.lock();
        let is_first = page.is_none_or(|page| page.cursor.is_none());
        state.catalog = if is_first { Some(catalog) } else { state.catalog.min(Some(catalog)) };
    }
}

impl Drop for ListReading<'_> {
    fn drop(&mut self) {
        self.last.state.lock().reading -= 1;
        self.last.read.notify_waiters();
    }
}

/// The subscriptions of one connection. Dropping it ends its notifications.
pub(crate) struct LegacyUpdates {
    subscribed: Arc<Mutex<BTreeMap<String, WantedResource>>>,
    changes: ChangeNotifier,
    principal: Principal,
    bytes: Arc<SubscribedBytes>,
    _connected: DropGuard,
}

impl LegacyUpdates {
    pub(crate) fn start(
        changes: &ChangeNotifier,
        principal: Principal,
        peer: Peer<RoleServer>,
        bytes: Arc<SubscribedBytes>,
        listed: Arc<ListedCatalogs>,
    ) -> Self {
        let subscribed = Arc::<Mutex<BTreeMap<String, WantedResource>>>::default();
        let connected = CancellationToken::new();
        let notifying = notify(changes.subscribe(), principal.clone(), peer, subscribed.clone(), listed);
        tokio::spawn(connected.clone().run_until_cancelled_owned(notifying));
        let changes = changes.clone();
        Self { subscribed, changes, principal, bytes, _connected: connected.drop_guard() }
    }

    /// Handles `resources/subscribe`. Whether the resource exists is not checked: it may appear later, and a client must not
    /// learn what others have.
    pub(crate) fn subscribe(&self, uri: String) -> Result<(), ErrorData> {
        let mut subscribed = self.subscribed.lock();
        if uri.len() > MAX_URI {
            return Err(ErrorData::invalid_params(format!("the URI is longer than {MAX_URI} bytes"), None));
        }
        if subscribed.len() >= MAX_URIS && !subscribed.contains_key(&uri) {
            let text = format!("{MAX_URIS} resources are subscribed to already; unsubscribe from some");
            return Err(ErrorData::invalid_params(text, None));
        }
        if let Entry::Vacant(free) = subscribed.entry(uri) {
            let refused =
                |limit| ErrorData::invalid_params(format!("{limit}; unsubscribe from some, or end sessions"), None);
            self.bytes.take(&self.principal, size_of(free.key())).map_err(refused)?;
            let wanted = self.changes.want(&self.principal, free.key());
            free.insert(wanted);
        }
        Ok(())
    }

    /// Handles `resources/unsubscribe`.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        if self.subscribed.lock().remove(uri).is_some() {
            self.bytes.give_back(&self.principal, size_of(uri));
        }
    }
}

impl Drop for LegacyUpdates {
    fn drop(&mut self) {
        let bytes = self.subscribed.lock().keys().map(|uri| size_of(uri)).sum();
        self.bytes.give_back(&self.principal, bytes);
    }
}

/// Counts the URI twice, since it is kept here and in the list of wanted resources.
fn size_of(uri: &str) -> usize {
    2 * uri.len() + ENTRY
}

async fn notify(
    mut changes: Receiver<Change>,
    principal: Principal,
    peer: Peer<RoleServer>,
    subscribed: Arc<Mutex<BTreeMap<String, WantedResource>>>,
    listed: Arc<ListedCatalogs>,
) -> Result<(), ServiceError> {
    while let Some(changed) = ChangeSet::next(&mut changes, &principal).await {
        if changed.tools.is_any() && changed.tools.is_news_after(listed.tools.get().await) {
            peer.notify_tool_list_changed().await?;
        }
        if changed.prompts.is_any() && changed.prompts.is_news_after(listed.prompts.get().await) {
            peer.notify_prompt_list_changed().await?;
        }
        if changed.resources.is_any() {
            // Many clients never read the list of templates, so that list counts only if it was read.
            let resources = listed.resources.get().await;
            if changed.resources.is_news_after(resources.min(listed.templates.get().await.or(resources))) {
                peer.notify_resource_list_changed().await?;
            }
        }
        let uris: Vec<String> = {
            let subscribed = subscribed.lock();
            subscribed.keys().filter(|uri| changed.has_resource(uri)).cloned().collect()
        };
        for uri in uris {
            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
        }
        ChangeSet::pause().await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test]
    async fn a_list_is_as_old_as_its_oldest_page() {
        let listed = LastListed::default();
        let next = PaginatedRequestParams::default().with_cursor(Some("x".into()));
        let note = |catalog, page: Option<&PaginatedRequestParams>| {
            listed.begin(CancellationToken::new()).note(catalog, page);
            listed.get().now_or_never().expect("nothing is read")
        };
        assert_eq!(note(7, Some(&next)), None, "its first page was read in another process");
        assert_eq!(note(5, None), Some(5));
        assert_eq!(note(7, Some(&next)), Some(5));
        assert_eq!(note(7, None), Some(7));
    }

    #[tokio::test]
    async fn a_list_that_is_being_read_is_waited_for_and_one_that_nobody_gets_does_not_count() {
        let listed = LastListed::default();
        let (cancelled, reading) = (CancellationToken::new(), listed.begin(CancellationToken::new()));
        let mut last = Box::pin(listed.get());
        assert!((&mut last).now_or_never().is_none());
        reading.note(3, None);
        drop(reading);
        assert_eq!(last.await, Some(3));
        let reading = listed.begin(cancelled.clone());
        cancelled.cancel();
        reading.note(4, None);
        drop(reading);
        assert_eq!(listed.get().await, Some(3));
    }

    #[test]
    fn what_sessions_are_subscribed_to_is_counted_by_principal() {
        let bytes = SubscribedBytes::default();
        let user = |number: usize| Principal::from_source("key", &number.to_string());
        let of_one = MAX_BYTES / (MAX_URI + ENTRY);
        let take = |user: &Principal| bytes.take(user, MAX_URI + ENTRY);
        for _ in 0..of_one {
            take(&user(0)).unwrap();
        }
        assert!(take(&user(0)).unwrap_err().contains("one user"));
        take(&user(1)).unwrap();
        bytes.give_back(&user(0), MAX_URI + ENTRY);
        take(&user(0)).unwrap();
        let most = (2..).map(|number| (0..of_one).take_while(|_| take(&user(number)).is_ok()).count());
        let all: usize = most.take_while(|taken| *taken > 0).sum();
        assert!(all * (MAX_URI + ENTRY) < MAX_ALL && take(&user(1_000)).unwrap_err().contains("all users"));
        bytes.give_back(&user(1), MAX_BYTES);
        assert!(!bytes.0.lock().contains_key(&user(1)));
    }
}
