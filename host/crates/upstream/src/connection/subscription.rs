//! The subscription to changes of a server's lists and resources, and what each change means here.

use crate::connection::shared::{ServerConnection, UpstreamShared};
use crate::listed::list_kind::ListKind;
use platform::telemetry::printable;
use rmcp::model::{ServerNotification, SubscribeRequestParams, SubscriptionFilter};
use rmcp::service::{ServiceError, Subscription};
use std::sync::Arc;

/// Subscribes to all changes; none when the server does not support subscriptions. Servers before 2026-07-28 report changes of
/// lists without being asked.
pub(crate) async fn subscribe(
    shared: &Arc<UpstreamShared>,
    connection: &Arc<ServerConnection>,
) -> Option<Subscription> {
    let watched: Vec<String> = shared.watched().iter().cloned().collect();
    if !connection.modern {
        for uri in watched {
            if let Err(error) = shared.with_timeout(connection.peer.subscribe(SubscribeRequestParams::new(uri))).await {
                tracing::warn!(server = shared.name(), "cannot watch a resource any more: {error}");
            }
        }
        return None;
    }
    let mut filter =
        SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().resources_list_changed().build();
    filter.resource_subscriptions = (!watched.is_empty()).then_some(watched);
    let listening = async {
        match connection.peer.listen(filter).await {
            Err(ServiceError::McpError(error)) => {
                tracing::debug!(
                    server = shared.name(),
                    "the server has no subscriptions: {}",
                    printable(&error.message)
                );
                Ok(None)
            }
            other => other.map(Some),
        }
    };
    match shared.with_timeout(listening).await {
        Ok(subscription) => subscription,
        Err(error) => {
            tracing::warn!(server = shared.name(), "cannot subscribe to changes: {error}");
            None
        }
    }
}

/// Handles what a subscription reports.
pub(crate) fn on_change(shared: &UpstreamShared, notification: ServerNotification) {
    match notification {
        ServerNotification::ToolListChangedNotification(_) => shared.list_changed(ListKind::Tools),
        ServerNotification::ResourceListChangedNotification(_) => shared.list_changed(ListKind::Resources),
        ServerNotification::PromptListChangedNotification(_) => shared.list_changed(ListKind::Prompts),
        ServerNotification::ResourceUpdatedNotification(updated) => shared.resource_updated(&updated.params.uri),
        _ => {}
    }
}
