//! The sessions as rmcp wants them.

use super::super::asking::{Refused, principal, refuse};
use super::super::gate::Gate;
use super::super::refusal::Refusal;
use super::LegacyOptions;
use super::keeper::{Keeper, lost};
use super::log::EventLog;
use super::message::{EventId, interrupted_text, random_name};
use super::session::{MAX_REQUESTS, Session, Taken};
use super::wire::SessionTransport;
use crate::Server;
use futures::Stream;
use platform::clock::Clock;
use platform::storage::{Storage, StorageError, StreamRecord};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// All sessions of one server.
pub(in crate::transport) struct Sessions(Arc<Keeper>);

impl Sessions {
    /// Ends what a process that died left running, and serves what it kept.
    pub(in crate::transport) async fn open(
        server: Server,
        storage: Storage,
        clock: Arc<dyn Clock>,
        options: LegacyOptions,
        gate: Gate,
        end: CancellationToken,
    ) -> Result<Self, StorageError> {
        let ended = storage.end_abandoned(interrupted_text).await?;
        if ended > 0 {
            tracing::warn!(requests = ended, "a server before this one ended while they ran; their clients are told");
        }
        let (open, restoring) = (Mutex::default(), tokio::sync::Mutex::default());
        let keeper = Arc::new(Keeper { server, storage, clock, options, gate, end, open, restoring });
        tokio::spawn(Keeper::tidy_up(Arc::downgrade(&keeper)));
        Ok(Self(keeper))
    }

    /// The session, if it is in memory and of whoever asks.
    fn get(&self, id: &str) -> Result<Arc<Session>, Refused> {
        principal().and_then(|asking| self.0.find(id, &asking)).ok_or_else(|| refuse(Refusal::Session))
    }
}

#[cfg(test)]
impl Sessions {
    pub(super) fn rest(&self, id: &str) {
        self.0.rest(id);
    }
}

impl From<Taken> for Refusal {
    fn from(taken: Taken) -> Self {
        match taken {
            Taken::SameId => Self::SameId,
            Taken::Full => Self::ManyRequests(MAX_REQUESTS),
            Taken::Over => Self::Session,
        }
    }
}

impl SessionManager for Sessions {
    type Error = Refused;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, SessionTransport), Refused> {
        let asking = principal().ok_or_else(|| refuse(Refusal::Session))?;
        let id: Arc<str> = random_name().ok_or_else(|| refuse(Refusal::Storage))?.into();
        self.0.admit(&id, &asking).await.map_err(refuse)?;
        let (_, transport) = self.0.begin(id.clone(), asking).await.map_err(refuse)?;
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Refused> {
        let session = self.get(id)?;
        let handshake = match &message {
            ClientJsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::InitializeRequest(request) => serde_json::to_string(&request.params).ok(),
                _ => None,
            },
            _ => None,
        };
        let answer = session.expect_handshake();
        session.incoming.send(message).await.map_err(|_| refuse(Refusal::Session))?;
        let answer = answer.await.map_err(|_| refuse(Refusal::Session))?;
        if let Some(handshake) = handshake.filter(|_| session.note_handshake(&answer)) {
            self.0.storage.keep_handshake(id.to_string(), handshake).await.map_err(|error| refuse(lost(error)))?;
        }
        Ok(answer)
    }

    /// Also brings back a session that is only stored, so that rmcp need not know of that.
    async fn has_session(&self, id: &SessionId) -> Result<bool, Refused> {
        let Some(asking) = principal() else { return Ok(false) };
        // In a task of its own: a client that hangs up right now must not leave it half restored.
        let finding = tokio::spawn(self.0.clone().find_anywhere(id.clone(), asking));
        finding.await.unwrap_or(Err(Refusal::Storage)).map_err(refuse)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Refused> {
        let Some(asking) = principal() else {
            // Its loop has ended. It may be there again already, restored.
            let ended = self.0.open().get(id).is_some_and(|session| session.incoming.is_closed());
            if ended {
                self.0.rest(id);
            }
            return Ok(());
        };
        // The client ends it.
        if !self.0.storage.forget(id.to_string(), asking.to_string()).await.map_err(|error| refuse(lost(error)))? {
            return Err(refuse(Refusal::Session));
        }
        self.0.rest(id);
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Refused> {
        let session = self.get(id)?;
        let ClientJsonRpcMessage::Request(request) = message else { return Err(refuse(Refusal::NotAMessage)) };
        session.check_free(&request.id).map_err(|taken| refuse(taken.into()))?;
        let work = self.0.gate.enter(|| true).map_err(refuse)?;
        let token = random_name().ok_or_else(|| refuse(Refusal::Storage))?;
        let noted = serde_json::to_string(&request.id).unwrap_or_default();
        let (storage, own) = (self.0.storage.clone(), session.clone());
        // In a task of its own: a client that hangs up right now must not leave a stream that nobody ends.
        let begun = tokio::spawn(async move {
            let key = storage.open_stream(own.id.to_string(), token.clone(), noted).await.map_err(|error| {
                tracing::error!(%error, "a request is refused");
                Refusal::Storage
            })?;
            let record = StreamRecord { key, request: None, last: 0, pruned: 0, ended: false };
            let log = EventLog::new(storage, token, false, &record);
            match own.begin(request, log.clone(), work).await {
                Ok(()) => Ok(log),
                Err(taken) => {
                    log.end();
                    Err(taken.into())
                }
            }
        });
        let log = begun.await.unwrap_or(Err(Refusal::Storage)).map_err(refuse)?;
        Ok(self.0.read(&session, log, Some(0)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Refused> {
        let session = self.get(id)?;
        session.note_cancel(&message);
        session.incoming.send(message).await.map_err(|_| refuse(Refusal::Session))
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Refused> {
        let session = self.get(id)?;
        Ok(self.0.read(&session, session.own.clone(), None))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Refused> {
        let session = self.get(id)?;
        let EventId { token, number } = EventId::parse(&last_event_id).ok_or_else(|| refuse(Refusal::Event))?;
        let log = match session.live(&token) {
            Some(log) => log,
            None => {
                let found = self
                    .0
                    .storage
                    .find_stream(id.to_string(), token.clone())
                    .await
                    .map_err(|error| refuse(lost(error)))?;
                let record = found.ok_or_else(|| refuse(Refusal::Event))?;
                EventLog::new(self.0.storage.clone(), token, false, &record)
            }
        };
        if !log.reaches(number) {
            return Err(refuse(Refusal::Event));
        }
        Ok(self.0.read(&session, log, Some(number)))
    }
}
