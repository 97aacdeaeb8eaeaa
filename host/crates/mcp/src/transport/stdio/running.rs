//! The requests of a client that have no response yet, and the protocol style of the client.

use crate::subscriptions::task_listen::is_subscription;
use rmcp::ErrorData;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ClientRequest,
    GetMeta as _, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use tokio_util::sync::CancellationToken;

#[derive(Default)]
pub(super) struct RunningRequests {
    /// The requests that rmcp serves, and whether shutdown waits for each: it does not wait for a subscription.
    ordinary: HashMap<RequestId, bool>,
    /// The requests that are served directly.
    direct: HashMap<RequestId, DirectRequest>,
    /// The requests of the server that the client has not answered.
    asked: HashSet<RequestId>,
    style: Style,
    last_serial: u64,
}

struct DirectRequest {
    serial: u64,
    /// Cancelled to end the request.
    end: CancellationToken,
}

/// A request that is served directly. The serial number tells it from a later one with the same id.
pub(super) struct DirectId {
    pub(super) id: RequestId,
    serial: u64,
}

/// The protocol style of a client, decided by its first request. rmcp remembers it from then on.
#[derive(Default, PartialEq)]
enum Style {
    #[default]
    Unknown,
    /// Each request is complete in itself (2026-07-28).
    Stateless,
    /// A session that was initialized.
    Session,
}

impl RunningRequests {
    /// Whether a request with this id may be served directly.
    pub(super) fn may_be_direct(&self, id: &RequestId) -> bool {
        self.style == Style::Stateless && !self.direct.contains_key(id) && !self.ordinary.contains_key(id)
    }

    /// Adds a request that is served directly. Cancelling the token ends it.
    pub(super) fn add_direct(&mut self, id: RequestId) -> (DirectId, CancellationToken) {
        self.last_serial += 1;
        let (serial, end) = (self.last_serial, CancellationToken::new());
        self.direct.insert(id.clone(), DirectRequest { serial, end: end.clone() });
        (DirectId { id, serial }, end)
    }

    /// Removes a request that was served directly. Returns its id, if its client still wants the response.
    pub(super) fn remove_direct(&mut self, DirectId { id, serial }: DirectId) -> Option<RequestId> {
        match self.direct.entry(id) {
            Entry::Occupied(entry) if entry.get().serial == serial => Some(entry.remove_entry().0),
            _ => None,
        }
    }

    /// Updates the requests with a message that rmcp is about to get.
    pub(super) fn track(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(message) => {
                self.style.update(&message.request);
                let awaited = !is_subscription(&message.request);
                self.ordinary.insert(message.id.clone(), awaited);
            }
            ClientJsonRpcMessage::Notification(message) => {
                if let ClientNotification::CancelledNotification(cancelled) = &message.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.ordinary.remove(id);
                    self.direct.remove(id).inspect(|direct| direct.end.cancel());
                }
            }
            ClientJsonRpcMessage::Response(answer) => drop(self.asked.remove(&answer.id)),
            ClientJsonRpcMessage::Error(answer) => drop(answer.id.as_ref().map(|id| self.asked.remove(id))),
        }
    }

    /// Updates the requests with a message that rmcp sends.
    pub(super) fn track_sent(&mut self, message: &ServerJsonRpcMessage) {
        match message {
            ServerJsonRpcMessage::Response(response) => drop(self.ordinary.remove(&response.id)),
            ServerJsonRpcMessage::Error(error) => drop(error.id.as_ref().map(|id| self.ordinary.remove(id))),
            ServerJsonRpcMessage::Request(asked) => drop(self.asked.insert(asked.id.clone())),
            ServerJsonRpcMessage::Notification(message) => {
                if let ServerNotification::CancelledNotification(withdrawn) = &message.notification
                    && let Some(id) = &withdrawn.params.request_id
                {
                    self.asked.remove(id);
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ordinary.is_empty() && self.direct.is_empty()
    }

    /// Ends all requests that are served directly. They still get a response.
    pub(super) fn end_direct(&self) {
        self.direct.values().for_each(|direct| direct.end.cancel());
    }

    /// Removes a question that the client can no longer answer, and returns the error that rmcp gets instead of the answer.
    pub(super) fn next_unanswered(&mut self) -> Option<ClientJsonRpcMessage> {
        let id = self.asked.iter().next().cloned()?;
        self.asked.remove(&id);
        let error = ErrorData::internal_error("the client has left, and nobody can answer", None);
        Some(ClientJsonRpcMessage::error(error, Some(id)))
    }

    /// Removes a request of rmcp that shutdown does not wait for, and makes its cancel notification.
    pub(super) fn next_cancel(&mut self, cancel_all: bool) -> Option<ClientJsonRpcMessage> {
        let id = self.ordinary.iter().find(|(_, awaited)| cancel_all || !**awaited).map(|(id, _)| id.clone())?;
        self.ordinary.remove(&id);
        let reason = Some("the server is stopping".to_owned());
        let cancel = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        Some(ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancel)))
    }
}

impl Style {
    /// Decides the style in the same way as rmcp.
    fn update(&mut self, request: &ClientRequest) {
        match request {
            ClientRequest::InitializeRequest(_) => *self = Self::Session,
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => {}
            request if *self == Self::Unknown => {
                let (meta, version) = (request.get_meta(), ProtocolVersion::V_2026_07_28);
                if meta.protocol_version().as_ref() == Some(&version) && meta.missing_required_keys(&version).is_empty()
                {
                    *self = Self::Stateless;
                }
            }
            _ => {}
        }
    }
}
