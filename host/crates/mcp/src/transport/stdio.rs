//! MCP over stdin and stdout: one JSON-RPC message per line, until stdin ends or the server is stopped.

use super::shutdown::{DRAIN_TIMEOUT, FLUSH_TIMEOUT};
use crate::client_tools::retry;
use crate::handler::Server;
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

#[derive(Debug, thiserror::Error)]
#[error("MCP over stdio ended: {0}")]
pub struct StdioError(String);

/// Serves until stdin ends, or `stop` is cancelled and running calls have ended. They are cancelled after 9 seconds, or
/// as soon as `force_stop` is cancelled.
pub async fn serve_stdio(
    server: Server,
    stop: CancellationToken,
    force_stop: CancellationToken,
) -> Result<(), StdioError> {
    let pipes = IntoTransport::<RoleServer, _, TransportAdapterAsyncRW>::into_transport(rmcp::transport::stdio_pipes());
    let transport = DrainingTransport { pipes, stop, force_stop, running: HashMap::new(), drain: None };
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // A client may disconnect before its first request.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(StdioError(error.to_string())),
    };
    running.waiting().await.map(|_| ()).map_err(|error| StdioError(error.to_string()))
}

/// A transport that ends when the server stops, after it has let running requests end.
struct DrainingTransport<T> {
    pipes: T,
    stop: CancellationToken,
    force_stop: CancellationToken,
    /// Running requests, and whether shutdown waits for them: it does not wait for a subscription.
    running: HashMap<RequestId, bool>,
    /// The time limit on shutdown, once it has started.
    drain: Option<Pin<Box<Sleep>>>,
}

impl<T> DrainingTransport<T> {
    /// Removes a running request that shutdown does not wait for, and makes its cancel notification.
    fn next_cancel(&mut self, cancel_all: bool) -> Option<ClientJsonRpcMessage> {
        let id = self.running.iter().find(|(_, awaited)| cancel_all || !**awaited).map(|(id, _)| id.clone())?;
        self.running.remove(&id);
        let reason = Some("the server is stopping".to_owned());
        let cancel = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        Some(ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancel)))
    }

    /// Updates the running requests with a message that the client sent.
    fn track(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let awaited = !matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                self.running.insert(request.id.clone(), awaited);
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

impl<T: Transport<RoleServer>> Transport<RoleServer> for DrainingTransport<T> {
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
        retry::rewrite_message(&mut message);
        self.pipes.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(drain) = &mut self.drain else {
                tokio::select! {
                    biased;
                    () = self.stop.cancelled() => {
                        self.drain = Some(Box::pin(tokio::time::sleep(DRAIN_TIMEOUT)));
                        continue;
                    }
                    message = self.pipes.receive() => {
                        message.as_ref().inspect(|message| self.track(message));
                        return message;
                    }
                }
            };
            let cancel_all = drain.is_elapsed() || self.force_stop.is_cancelled();
            if let Some(cancel) = self.next_cancel(cancel_all) {
                return Some(cancel);
            }
            if self.running.is_empty() {
                return None;
            }
            let drain = self.drain.as_mut()?;
            tokio::select! {
                () = drain => {}
                () = self.force_stop.cancelled() => {}
                message = self.pipes.receive() => match message {
                    Some(ClientJsonRpcMessage::Request(request)) => {
                        let refusal = ErrorData::internal_error("the server is stopping", None);
                        let refused = self.pipes.send(ServerJsonRpcMessage::error(refusal, Some(request.id)));
                        // A client that does not read must not delay the shutdown.
                        let _ = tokio::time::timeout(FLUSH_TIMEOUT, refused).await;
                    }
                    // A response or a cancel helps running requests to end.
                    other => {
                        other.as_ref().inspect(|message| self.track(message));
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
