//! The request that serves a call: how its client is reached before the result.

use super::format::NotificationFormat;
use super::notification_sender::NotificationTarget;
use crate::request_context::is_stateless;
use crate::resumable_stream::ResumableStream;
use rmcp::ErrorData;
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

pub(crate) struct ServedRequest {
    /// Where events are sent; none if the client reads nothing before the result.
    pub(crate) notifications: Option<NotificationTarget>,
    /// Where questions are sent; none if a question ends the request.
    pub(crate) questions: Option<Peer<RoleServer>>,
    /// The stream of the request, if it outlives the process.
    pub(crate) stream: Option<ResumableStream>,
    /// Cancelled when nobody wants the result any more.
    pub(crate) cancel: CancellationToken,
}

impl ServedRequest {
    /// An error if the client asks for something that cannot be sent.
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Result<Self, ErrorData> {
        let format = Some(NotificationFormat::from_context(context)?).filter(NotificationFormat::is_read);
        Ok(Self {
            notifications: format.map(|format| NotificationTarget::new(format, context)),
            questions: (!is_stateless(context)).then(|| context.peer.clone()),
            stream: context.extensions.get().cloned(),
            cancel: context.ct.clone(),
        })
    }

    /// A request whose only message to the client is the response at the end of its round.
    pub(crate) fn answered_once(cancel: CancellationToken) -> Self {
        Self { notifications: None, questions: None, stream: None, cancel }
    }

    /// Lets the call go on when its client is gone, until `cancel` is cancelled.
    pub(crate) fn outlived(self, cancel: CancellationToken) -> Self {
        Self { notifications: self.notifications.map(NotificationTarget::outlived), cancel, ..self }
    }

    /// Whether the request belongs to no session.
    pub(crate) fn is_stateless(&self) -> bool {
        self.questions.is_none()
    }
}
