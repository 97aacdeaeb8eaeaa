//! Sends what a call emits before its result: as notifications of the request that serves it, or as the status of its task.

use super::format::NotificationFormat;
use crate::resumable_stream::ReadState;
use rmcp::model::{GetExtensions as _, RequestId, ServerNotification};
use rmcp::service::{OriginatingRequestId, Peer, RequestContext, RoleServer, ServiceError};
use runtime::imports::ProgressReport;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where notifications go, and in which format.
pub(crate) struct NotificationTarget {
    format: NotificationFormat,
    peer: Peer<RoleServer>,
    request: RequestId,
    /// For a call that goes on without its client: whether the client is gone.
    gone: Option<AtomicBool>,
    /// For a stream that keeps unread messages: whether the client has read them.
    read: Option<ReadState>,
}

impl NotificationTarget {
    pub(super) fn new(format: NotificationFormat, context: &RequestContext<RoleServer>) -> Self {
        let read = context.extensions.get().cloned();
        Self { format, peer: context.peer.clone(), request: context.id.clone(), gone: None, read }
    }

    /// Makes sending succeed when the client is gone, because the call goes on.
    pub(super) fn outlived(self) -> Self {
        Self { gone: Some(AtomicBool::new(false)), ..self }
    }
}

#[derive(Clone)]
pub(crate) enum NotificationSender {
    /// The client reads nothing before the result.
    Nobody,
    Request(Arc<NotificationTarget>),
    /// Reports become the status of a task. It has no notifications of its own.
    Task(Arc<dyn Fn(ProgressReport) + Send + Sync>),
}

impl NotificationSender {
    /// `call` is the id of the call that the notifications are about.
    pub(crate) fn new(target: Option<NotificationTarget>, call: &Arc<str>) -> Self {
        let named = |target: NotificationTarget| {
            let format = target.format.with_call_id(call);
            Arc::new(NotificationTarget { format, ..target })
        };
        target.map_or(Self::Nobody, |target| Self::Request(named(target)))
    }

    /// None if the client reads no notifications, or if it is gone.
    pub(super) fn format(&self) -> Option<&NotificationFormat> {
        match self {
            Self::Request(target) if target.gone.as_ref().is_some_and(|gone| gone.load(Ordering::Relaxed)) => None,
            Self::Request(target) => Some(&target.format),
            Self::Nobody | Self::Task(_) => None,
        }
    }

    pub(super) fn reads_progress(&self) -> bool {
        match self {
            Self::Nobody => false,
            Self::Request(target) => target.format.reads_progress(),
            Self::Task(_) => true,
        }
    }

    /// Whether the client waits for progress, and would give up a silent call.
    pub(super) fn expects_progress(&self) -> bool {
        matches!(self, Self::Request(target) if target.format.reads_progress())
    }

    /// Whether the client has read everything that was sent so far. Nothing is repeated for a client that is away, because it
    /// would be kept and would finally block the call.
    pub(super) fn is_read(&self) -> bool {
        match self {
            Self::Request(target) => target.read.as_ref().is_none_or(|read| (read.0)()),
            Self::Nobody | Self::Task(_) => false,
        }
    }

    pub(super) async fn progress(&self, report: ProgressReport) -> Result<(), ServiceError> {
        match self {
            Self::Nobody => {}
            Self::Task(status) => status(report),
            Self::Request(target) => {
                if let Some(notification) = target.format.progress(report) {
                    self.send(notification).await?;
                }
            }
        }
        Ok(())
    }

    pub(super) async fn send(&self, mut notification: ServerNotification) -> Result<(), ServiceError> {
        let Self::Request(target) = self else { return Ok(()) };
        // Legacy sessions have one stream for each request and one for everything else. rmcp marks only requests by itself.
        notification.extensions_mut().insert(OriginatingRequestId(target.request.clone()));
        match (target.peer.send_notification(notification).await, &target.gone) {
            (Err(_), Some(gone)) => {
                gone.store(true, Ordering::Relaxed);
                Ok(())
            }
            (sent, _) => sent,
        }
    }
}
