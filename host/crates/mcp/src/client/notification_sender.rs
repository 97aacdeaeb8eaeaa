//! Sends the notifications of one request.

use super::format::NotificationFormat;
use rmcp::model::{GetExtensions as _, RequestId, ServerNotification};
use rmcp::service::{OriginatingRequestId, Peer, RequestContext, RoleServer, ServiceError};
use std::sync::Arc;

/// Where notifications go, and in which format.
pub(crate) struct NotificationTarget {
    format: NotificationFormat,
    peer: Peer<RoleServer>,
    request: RequestId,
}

impl NotificationTarget {
    pub(super) fn new(format: NotificationFormat, context: &RequestContext<RoleServer>) -> Self {
        Self { format, peer: context.peer.clone(), request: context.id.clone() }
    }
}

/// Has no target if the client reads no notifications.
#[derive(Clone)]
pub(crate) struct NotificationSender(Option<Arc<NotificationTarget>>);

impl NotificationSender {
    /// `call` is the id of the call that the notifications are about.
    pub(crate) fn new(target: Option<NotificationTarget>, call: &Arc<str>) -> Self {
        let named = |NotificationTarget { format, peer, request }| {
            Arc::new(NotificationTarget { format: format.with_call_id(call), peer, request })
        };
        Self(target.map(named))
    }

    /// None if the client reads no notifications.
    pub(super) fn format(&self) -> Option<&NotificationFormat> {
        self.0.as_ref().map(|target| &target.format)
    }

    pub(super) async fn send(&self, mut notification: ServerNotification) -> Result<(), ServiceError> {
        let Some(target) = &self.0 else { return Ok(()) };
        // Legacy sessions have a stream for each request and one for everything else; rmcp marks only requests by
        // itself.
        notification.extensions_mut().insert(OriginatingRequestId(target.request.clone()));
        target.peer.send_notification(notification).await
    }
}
