//! Listens in on a transport: what belongs to a running call is taken out where the messages still have their order, so
//! that a call has heard everything that was said before its result. The library hands notifications to tasks of their
//! own, in any order.

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::Arc;

/// Who listens. Neither may block.
pub(super) trait Listener: Send + Sync {
    /// A call goes out, under this id and token.
    fn calls(&self, request: &ClientRequest, id: &RequestId, token: Option<ProgressToken>);
    /// Takes a notification, or gives it back.
    fn hears(&self, notification: ServerNotification) -> Option<ServerNotification>;
}

/// A transport that is listened in on.
pub(super) struct Tap<T> {
    inner: T,
    listener: Arc<dyn Listener>,
}

impl<T> Tap<T> {
    pub(super) fn new(inner: T, listener: Arc<dyn Listener>) -> Self {
        Self { inner, listener }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Tap<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let ClientJsonRpcMessage::Request(request) = &item {
            use rmcp::model::GetMeta;
            let token = request.request.get_meta().get_progress_token();
            self.listener.calls(&request.request, &request.id, token);
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.inner.receive().await? {
                ServerJsonRpcMessage::Notification(mut message) => {
                    message.notification = match self.listener.hears(message.notification) {
                        Some(notification) => notification,
                        None => continue,
                    };
                    return Some(ServerJsonRpcMessage::Notification(message));
                }
                other => return Some(other),
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
