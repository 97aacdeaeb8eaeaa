//! A transport whose observer sees messages in their order. The library passes notifications to separate tasks in any
//! order; the observer takes those of a running call out first, so that a call gets all of them before its result.
//! Requests of the server count until their answers are sent.

use crate::server_input::peer_account::PeerAccount;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, ProgressToken, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerResult,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::Arc;

/// Sees the messages of a transport. Its methods must not block.
pub(crate) trait TransportObserver: Send + Sync {
    /// A request is sent with this id and progress token.
    fn on_request(&self, request: &ClientRequest, id: &RequestId, token: Option<ProgressToken>);
    /// Takes a notification, or returns it to be handled elsewhere.
    fn on_notification(&self, notification: ServerNotification) -> Option<ServerNotification>;
}

pub(crate) struct OrderedTransport<T> {
    inner: T,
    observer: Arc<dyn TransportObserver>,
    account: Arc<PeerAccount>,
    /// Whether `server/discover` is not answered yet. It is the first request, and no other one is sent meanwhile.
    discovers: bool,
}

impl<T> OrderedTransport<T> {
    pub(crate) fn new(inner: T, observer: Arc<dyn TransportObserver>, account: Arc<PeerAccount>) -> Self {
        Self { inner, observer, account, discovers: false }
    }
}

/// Servers from before 2026-07-28 do not know `server/discover`, and some answer unknown requests with an empty result. The
/// library tries `initialize` only after an error, so such an answer becomes an error.
fn as_discovered(message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    match message {
        ServerJsonRpcMessage::Response(response) if !matches!(response.result, ServerResult::DiscoverResult(_)) => {
            let unknown =
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "it answers `server/discover` with another result", None);
            ServerJsonRpcMessage::error(unknown, Some(response.id))
        }
        other => other,
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for OrderedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let ClientJsonRpcMessage::Request(request) = &item {
            use rmcp::model::GetMeta;
            let token = request.request.get_meta().get_progress_token();
            self.observer.on_request(&request.request, &request.id, token);
            self.discovers = matches!(request.request, ClientRequest::DiscoverRequest(_));
        }
        let answered = match &item {
            ClientJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ClientJsonRpcMessage::Error(error) => error.id.clone(),
            ClientJsonRpcMessage::Request(_) | ClientJsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = &answered {
            self.account.answer(id);
        }
        let (sending, account) = (self.inner.send(item), self.account.clone());
        async move {
            let sent = sending.await;
            if let Some(id) = answered {
                account.end(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let received = tokio::select! {
                biased;
                () = self.account.closed() => return None,
                received = self.inner.receive() => received?,
            };
            match received {
                ServerJsonRpcMessage::Notification(mut message) => {
                    if let ServerNotification::CancelledNotification(cancelled) = &message.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.account.cancel(id);
                    }
                    message.notification = match self.observer.on_notification(message.notification) {
                        Some(notification) => notification,
                        None => continue,
                    };
                    return Some(ServerJsonRpcMessage::Notification(message));
                }
                answer @ (ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)) if self.discovers => {
                    self.discovers = false;
                    return Some(as_discovered(answer));
                }
                other => return Some(other),
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_result_of_discovery_is_one() {
        let answered = |result: &str| {
            let message = serde_json::from_str(&format!(r#"{{"jsonrpc":"2.0","id":0,"result":{result}}}"#)).unwrap();
            matches!(as_discovered(message), ServerJsonRpcMessage::Response(_))
        };
        let found = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#;
        assert!(answered(found) && !answered("{}") && !answered(r#"{"tools":[]}"#) && !answered(r#"{"x":1}"#));
    }
}
