//! `subscriptions/listen`: a request that stays open and is told of changes.

use super::changed::Changed;
use super::server::Shared;
use platform::changes::Change;
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, SubscriptionFilter};
use rmcp::service::{SubscriptionContext, SubscriptionSendError, SubscriptionSink};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use tokio::sync::broadcast::Receiver;

/// Open subscriptions of one principal. Each holds a connection open: bounds what a client that never closes any takes.
const MAX_OPEN: usize = 256;
/// Resources of one subscription. Bounds what each holds in memory and looks through for every change.
pub(super) const MAX_URIS: usize = 256;
/// Bytes of a resource's URI. No resource has a longer one.
pub(super) const MAX_URI: usize = 2 << 10;

/// What of a request is accepted. A resource need not exist yet, and whether somebody else has it is not told.
pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    if let Some(uris) = &mut accepted.resource_subscriptions {
        let mut seen = HashSet::new();
        uris.retain(|uri| uri.len() <= MAX_URI && seen.len() < MAX_URIS && seen.insert(uri.clone()));
    }
    accepted
}

/// Until the client goes away or the server stops.
pub(super) async fn run(
    server: &Shared,
    subscription: SubscriptionContext,
    changes: Receiver<Change>,
) -> Result<(), ErrorData> {
    let principal = server.principal(subscription.request_context());
    let Some(_place) = server.open.enter(&principal) else {
        let text = format!("{MAX_OPEN} subscriptions are open already, as many as one client may have; close some");
        return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, text, None));
    };
    tokio::select! {
        () = subscription.cancelled() => {}
        () = server.stop.cancelled() => {}
        _ = forward(subscription.sink(), &principal, changes) => {}
    }
    Ok(())
}

async fn forward(
    sink: &SubscriptionSink,
    principal: &Principal,
    mut changes: Receiver<Change>,
) -> Result<(), SubscriptionSendError> {
    let wanted = sink.accepted().clone();
    let wants = |flag: Option<bool>| flag == Some(true);
    while let Some(changed) = Changed::next(&mut changes, principal).await {
        if changed.tools && wants(wanted.tools_list_changed) {
            sink.notify_tool_list_changed().await?;
        }
        if changed.prompts && wants(wanted.prompts_list_changed) {
            sink.notify_prompt_list_changed().await?;
        }
        if changed.resources && wants(wanted.resources_list_changed) {
            sink.notify_resource_list_changed().await?;
        }
        for uri in wanted.resource_subscriptions.iter().flatten().filter(|uri| changed.resource(uri)) {
            sink.notify_resource_updated(uri).await?;
        }
        Changed::pause().await;
    }
    Ok(())
}

/// How many subscriptions each principal has open.
#[derive(Default)]
pub(super) struct Open(Mutex<HashMap<Principal, usize>>);

/// One of them, until it is dropped.
struct Place<'a>(&'a Open, Principal);

impl Open {
    fn enter(&self, principal: &Principal) -> Option<Place<'_>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(principal.clone()).or_default();
        if *count >= MAX_OPEN {
            return None;
        }
        *count += 1;
        Some(Place(self, principal.clone()))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut open = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let (open, alice, bob) = (Open::default(), Principal::known("key", "alice"), Principal::known("key", "bob"));
        let mut places: Vec<_> = (0..MAX_OPEN).map(|_| open.enter(&alice).unwrap()).collect();
        assert!(open.enter(&alice).is_none());
        assert!(open.enter(&bob).is_some());
        places.pop();
        assert!(open.enter(&alice).is_some());
        places.clear();
        assert!(open.0.lock().unwrap().is_empty());
    }

    #[test]
    fn a_filter_is_cut_to_what_is_kept() {
        let uris = (0..300).map(|n| format!("x:{}", n % 290)).chain(["x".repeat(5_000)]);
        let accepted =
            accepted(&SubscriptionFilter::builder().tools_list_changed().resource_subscriptions(uris).build());
        assert_eq!(accepted.tools_list_changed, Some(true));
        assert_eq!(accepted.resource_subscriptions.unwrap().len(), MAX_URIS);
    }
}
