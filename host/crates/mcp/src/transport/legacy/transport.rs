//! The transport through which rmcp serves one session.

use super::delivery::MessageDelivery;
use super::event_log::EventLogError;
use super::message::EncodedMessage;
use super::session::LegacySession;
use futures::FutureExt as _;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use runtime::engine::run_in_pool;
use std::sync::Arc;
use tokio::sync::mpsc;

pub(in crate::transport) struct SessionTransport {
    session: Arc<LegacySession>,
    received: mpsc::Receiver<ClientJsonRpcMessage>,
}

impl SessionTransport {
    pub(super) fn new(session: Arc<LegacySession>, received: mpsc::Receiver<ClientJsonRpcMessage>) -> Self {
        Self { session, received }
    }
}

impl Drop for SessionTransport {
    fn drop(&mut self) {
        self.received.close();
        self.session.fail_running();
    }
}

impl Transport<RoleServer> for SessionTransport {
    type Error = EventLogError;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), EventLogError>> + Send + 'static {
        let Some(owner) = self.session.large_answer(&message) else {
            // This is done before the future is polled, so that messages keep the order in which they are sent.
            let delivery = match self.session.name_for_client(message) {
                Some(message) => self.session.route(message.into()),
                None => MessageDelivery::Dropped,
            };
            return delivery.wait().left_future();
        };
        // It is the last message of its request, so its order does not matter.
        let session = self.session.clone();
        let encode = async move { EncodedMessage::from(message) };
        async move { session.route(run_in_pool(owner, encode.boxed()).await).wait().await }.right_future()
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            biased;
            () = self.session.ended.cancelled() => self.session.next_cancel(),
            message = self.received.recv() => message,
        }
    }

    async fn close(&mut self) -> Result<(), EventLogError> {
        self.received.close();
        Ok(())
    }
}
