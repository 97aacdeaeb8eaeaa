//! rmcp's end of a session.

use super::log::{EventLog, READER_PATIENCE, Silent};
use super::message::Worded;
use super::session::Session;
use futures::FutureExt as _;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A message on its way: what whoever sends it waits for.
pub(super) enum Sending {
    /// Nobody waits for this message any more.
    Dropped,
    Failed(Silent),
    Said {
        log: Arc<EventLog>,
        number: u32,
        last: bool,
    },
}

impl Sending {
    pub(super) fn said(log: Arc<EventLog>, message: Worded, last: bool) -> Self {
        match log.say(message, last) {
            Ok(number) => Self::Said { log, number, last },
            Err(silent) => Self::Failed(silent),
        }
    }

    async fn done(self) -> Result<(), Silent> {
        match self {
            Self::Dropped => Ok(()),
            Self::Failed(silent) => Err(silent),
            Self::Said { log, number, last } => {
                log.settled(number).await;
                // The last word is never held up by a slow reader, hints have none.
                if last || log.own { Ok(()) } else { log.caught_up(READER_PATIENCE).await }
            }
        }
    }
}

/// The transport of one session's loop.
pub(in crate::transport) struct SessionTransport {
    session: Arc<Session>,
    received: mpsc::Receiver<ClientJsonRpcMessage>,
}

impl SessionTransport {
    pub(super) fn new(session: Arc<Session>, received: mpsc::Receiver<ClientJsonRpcMessage>) -> Self {
        Self { session, received }
    }
}

impl Drop for SessionTransport {
    fn drop(&mut self) {
        self.received.close();
        self.session.abandon();
    }
}

impl Transport<RoleServer> for SessionTransport {
    type Error = Silent;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Silent>> + Send + 'static {
        let Some(heavy) = self.session.heavy(&message) else {
            // At once, so that messages are said in the order in which they are sent.
            return self.session.route(message.into()).done().left_future();
        };
        // The last word on a request, after which nothing is said.
        let session = self.session.clone();
        let wording = async move { Worded::from(message) };
        async move { session.route(heavy.run(wording.boxed()).await).done().await }.right_future()
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            biased;
            () = self.session.over.cancelled() => self.session.next_cancel(),
            message = self.received.recv() => message,
        }
    }

    async fn close(&mut self) -> Result<(), Silent> {
        self.received.close();
        Ok(())
    }
}
