//! MCP over stdin and stdout: one JSON-RPC message a line, until stdin ends or the server is to stop.

use super::{DRAIN, LEAVE};
use crate::Server;
use crate::reverse::retry;
use rmcp::ServiceExt;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ClientRequest,
    ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, ServerInitializeError};
use rmcp::transport::async_rw::TransportAdapterAsyncRW;
use rmcp::transport::{IntoTransport, Transport};
use std::collections::HashMap;
use std::pin::Pin;
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

/// The connection broke.
#[derive(Debug, thiserror::Error)]
#[error("MCP over stdio ended: {0}")]
pub struct StdioError(String);

/// Serves until stdin ends, or `stop` is cancelled and calls in flight are done. They have 10 seconds at most, or until
/// `hurry`.
pub async fn serve_stdio(server: Server, stop: CancellationToken, hurry: CancellationToken) -> Result<(), StdioError> {
    let pipes = IntoTransport::<RoleServer, _, TransportAdapterAsyncRW>::into_transport(rmcp::transport::stdio_pipes());
    let transport = Stoppable { pipes, stop, hurry, running: HashMap::new(), patience: None };
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // A client that goes away before its first request is no failure of ours.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(StdioError(error.to_string())),
    };
    running.waiting().await.map(|_| ()).map_err(|error| StdioError(error.to_string()))
}

/// The pipes, with an end of our own: when told to stop, it lets running requests come to theirs.
struct Stoppable<T> {
    pipes: T,
    stop: CancellationToken,
    hurry: CancellationToken,
    /// What runs, and whether it has an end: a subscription lasts as long as the client likes.
    running: HashMap<RequestId, bool>,
    /// Set when told to stop.
    patience: Option<Pin<Box<Sleep>>>,
}

impl<T> Stoppable<T> {
    /// One of the requests that are not waited for any longer, as the cancel it gets.
    fn next_cancel(&mut self, finite_too: bool) -> Option<ClientJsonRpcMessage> {
        let id = self.running.iter().find(|(_, finite)| finite_too || !**finite).map(|(id, _)| id.clone())?;
        self.running.remove(&id);
        let why = Some("the server is stopping".to_owned());
        let cancel = CancelledNotification::new(CancelledNotificationParam::new(Some(id), why));
        Some(ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancel)))
    }

    fn note(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let finite = !matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                self.running.insert(request.id.clone(), finite);
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.running.remove(id);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {}
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Stoppable<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        match &message {
            ServerJsonRpcMessage::Response(response) => drop(self.running.remove(&response.id)),
            ServerJsonRpcMessage::Error(error) => drop(error.id.as_ref().map(|id| self.running.remove(id))),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => {}
        }
        retry::in_message(&mut message);
        self.pipes.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(patience) = &mut self.patience else {
                tokio::select! {
                    biased;
                    () = self.stop.cancelled() => {
                        self.patience = Some(Box::pin(tokio::time::sleep(DRAIN)));
                        continue;
                    }
                    message = self.pipes.receive() => {
                        message.as_ref().inspect(|message| self.note(message));
                        return message;
                    }
                }
            };
            let late = patience.is_elapsed() || self.hurry.is_cancelled();
            if let Some(cancel) = self.next_cancel(late) {
                return Some(cancel);
            }
            if self.running.is_empty() {
                return None;
            }
            let patience = self.patience.as_mut()?;
            tokio::select! {
                () = patience => {}
                () = self.hurry.cancelled() => {}
                message = self.pipes.receive() => match message {
                    Some(ClientJsonRpcMessage::Request(request)) => {
                        let refusal = ErrorData::internal_error("the server is stopping", None);
                        let refused = self.pipes.send(ServerJsonRpcMessage::error(refusal, Some(request.id)));
                        // A client that does not read must not hold up the end.
                        let _ = tokio::time::timeout(LEAVE, refused).await;
                    }
                    // An answer or a cancel helps what runs to its end.
                    other => {
                        other.as_ref().inspect(|message| self.note(message));
                        return other;
                    }
                },
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.pipes.close().await
    }
}
