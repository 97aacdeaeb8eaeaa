//! `subscriptions/listen`: a request that stays open and receives notifications about changes.

use super::changes::ChangeSet;
use platform::changes::{Change, ChangeNotifier, WantedResource};
use platform::sync::Mutex;
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, SubscriptionFilter};
use rmcp::service::{SubscriptionContext, SubscriptionSendError, SubscriptionSink};
use std::collections::{HashMap, HashSet};
use tokio::sync::broadcast::Receiver;
use tokio_util::sync::CancellationToken;

/// Open subscriptions of one principal. Each holds a connection open. Bounds the cost of a client that never closes any.
const MAX_OPEN: usize = 256;
/// Resources of one subscription. Bounds its memory and its work for every change.
pub(crate) const MAX_URIS: usize = 256;
/// Bytes of a resource's URI. No resource has a longer one.
pub(crate) const MAX_URI: usize = 2 << 10;

/// The part of a requested filter that is served. Resources are not looked up: one may appear later, and a client must
/// not learn what others have.
pub(crate) fn accept_filter(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    if let Some(uris) = &mut accepted.resource_subscriptions {
        let mut seen = HashSet::new();
        uris.retain(|uri| uri.len() <= MAX_URI && seen.len() < MAX_URIS && seen.insert(uri.clone()));
    }
    accepted
}

/// Serves a subscription until the client goes away or the server stops.
pub(crate) async fn run(
    open: &OpenSubscriptions,
    principal: Principal,
    stop: &CancellationToken,
    subscription: SubscriptionContext,
    notifier: &ChangeNotifier,
    changes: Receiver<Change>,
) -> Result<(), ErrorData> {
    let _guard = open.enter(&principal)?;
    let _wanted = want(notifier, &principal, subscription.sink().accepted());
    tokio::select! {
        () = subscription.cancelled() => {}
        () = stop.cancelled() => {}
        _ = forward(subscription.sink(), &principal, changes) => {}
    }
    Ok(())
}

/// Requests changes of the resources of a filter, until the returned value is dropped.
pub(crate) fn want(
    notifier: &ChangeNotifier,
    principal: &Principal,
    filter: &SubscriptionFilter,
) -> Vec<WantedResource> {
    filter.resource_subscriptions.iter().flatten().map(|uri| notifier.want(principal, uri)).collect()
}

async fn forward(
    sink: &SubscriptionSink,
    principal: &Principal,
    mut changes: Receiver<Change>,
) -> Result<(), SubscriptionSendError> {
    let filter = sink.accepted().clone();
    let wants = |flag: Option<bool>| flag == Some(true);
    while let Some(changed) = ChangeSet::next(&mut changes, principal).await {
        if changed.tools.is_any() && wants(filter.tools_list_changed) {
            sink.notify_tool_list_changed().await?;
        }
        if changed.prompts.is_any() && wants(filter.prompts_list_changed) {
            sink.notify_prompt_list_changed().await?;
        }
        if changed.resources.is_any() && wants(filter.resources_list_changed) {
            sink.notify_resource_list_changed().await?;
        }
        for uri in filter.resource_subscriptions.iter().flatten().filter(|uri| changed.has_resource(uri)) {
            sink.notify_resource_updated(uri).await?;
        }
        ChangeSet::pause().await;
    }
    Ok(())
}

/// How many subscriptions each principal has open.
#[derive(Default)]
pub(crate) struct OpenSubscriptions(Mutex<HashMap<Principal, usize>>);

/// Counts one open subscription until it is dropped.
pub(crate) struct SubscriptionGuard<'a>(&'a OpenSubscriptions, Principal);

impl OpenSubscriptions {
    pub(crate) fn enter(&self, principal: &Principal) -> Result<SubscriptionGuard<'_>, ErrorData> {
        self.count(principal).ok_or_else(|| {
            let text = format!("{MAX_OPEN} subscriptions are open already, as many as one client may have; close some");
            ErrorData::new(ErrorCode::INVALID_REQUEST, text, None)
        })
    }

    /// None if this principal has too many.
    fn count(&self, principal: &Principal) -> Option<SubscriptionGuard<'_>> {
        let mut open = self.0.lock();
        let count = open.entry(principal.clone()).or_default();
        if *count >= MAX_OPEN {
            return None;
        }
        *count += 1;
        Some(SubscriptionGuard(self, principal.clone()))
    }
}

impl Drop for SubscriptionGuard<'_> {
    fn drop(&mut self) {
        let mut open = self.0.0.lock();
        if let Some(count) = open.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_subscriptions_are_counted_by_principal() {
        let (open, alice, bob) = (
            OpenSubscriptions::default(),
            Principal::from_source("key", "alice"),
            Principal::from_source("key", "bob"),
        );
        let mut guards: Vec<_> = (0..MAX_OPEN).map(|_| open.enter(&alice).unwrap()).collect();
        assert!(open.enter(&alice).err().unwrap().message.contains("256 subscriptions"));
        assert!(open.enter(&bob).is_ok());
        guards.pop();
        assert!(open.enter(&alice).is_ok());
        guards.clear();
        assert!(open.0.lock().is_empty());
    }

    #[test]
    fn a_filter_is_cut_to_what_is_kept() {
        let uris = (0..300).map(|n| format!("x:{}", n % 290)).chain(["x".repeat(5_000)]);
        let accepted =
            accept_filter(&SubscriptionFilter::builder().tools_list_changed().resource_subscriptions(uris).build());
        assert_eq!(accepted.tools_list_changed, Some(true));
        assert_eq!(accepted.resource_subscriptions.unwrap().len(), MAX_URIS);
    }
}
