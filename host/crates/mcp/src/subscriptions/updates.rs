//! Notifications for clients of 2025-11-25: about lists always, about resources after `resources/subscribe`.

use super::changes::ChangeSet;
use super::listen::{MAX_URI, MAX_URIS};
use platform::changes::{Change, ChangeNotifier};
use platform::sync::Mutex;
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, ServiceError};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::broadcast::Receiver;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The subscriptions of one connection. Dropping it ends its notifications.
pub(crate) struct LegacyUpdates {
    subscribed: Arc<Mutex<BTreeSet<String>>>,
    _connected: DropGuard,
}

impl LegacyUpdates {
    pub(crate) fn start(changes: &ChangeNotifier, principal: Principal, peer: Peer<RoleServer>) -> Self {
        let subscribed = Arc::<Mutex<BTreeSet<String>>>::default();
        let connected = CancellationToken::new();
        let notifying = notify(changes.subscribe(), principal, peer, subscribed.clone());
        tokio::spawn(connected.clone().run_until_cancelled_owned(notifying));
        Self { subscribed, _connected: connected.drop_guard() }
    }

    /// `resources/subscribe`. The resource is not looked up: it may appear later, and a client must not learn what
    /// others have.
    pub(crate) fn subscribe(&self, uri: String) -> Result<(), ErrorData> {
        let mut subscribed = self.subscribed.lock();
        if uri.len() > MAX_URI {
            return Err(ErrorData::invalid_params(format!("the URI is longer than {MAX_URI} bytes"), None));
        }
        if subscribed.len() >= MAX_URIS && !subscribed.contains(&uri) {
            let text = format!("{MAX_URIS} resources are subscribed to already; unsubscribe from some");
            return Err(ErrorData::invalid_params(text, None));
        }
        subscribed.insert(uri);
        Ok(())
    }

    /// `resources/unsubscribe`.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.subscribed.lock().remove(uri);
    }
}

async fn notify(
    mut changes: Receiver<Change>,
    principal: Principal,
    peer: Peer<RoleServer>,
    subscribed: Arc<Mutex<BTreeSet<String>>>,
) -> Result<(), ServiceError> {
    while let Some(changed) = ChangeSet::next(&mut changes, &principal).await {
        if changed.tools {
            peer.notify_tool_list_changed().await?;
        }
        if changed.prompts {
            peer.notify_prompt_list_changed().await?;
        }
        if changed.resources {
            peer.notify_resource_list_changed().await?;
        }
        let uris: Vec<String> = {
            let subscribed = subscribed.lock();
            subscribed.iter().filter(|uri| changed.has_resource(uri)).cloned().collect()
        };
        for uri in uris {
            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
        }
        ChangeSet::pause().await;
    }
    Ok(())
}
