//! rmcp's session manager on top of the session registry.

use super::event_log::EventLog;
use super::message::{EventId, interrupted_text};
use super::options::LegacyOptions;
use super::registry::{SessionRegistry, storage_refusal};
use super::session::{LegacySession, MAX_REQUESTS, RequestRejection};
use super::transport::SessionTransport;
use super::waiting::WaitingRequest;
use crate::handler::Server;
use crate::resumable_stream::ResumableStream;
use crate::transport::request::lifecycle::Lifecycle;
use crate::transport::request::request_scope::{RefusedRequest, current_principal, refuse};
use crate::transport::responses::refusal::HttpRefusal;
use futures::Stream;
use platform::clock::Clock;
use platform::random::random_text;
use platform::storage::{SessionStore, StorageError, StreamRecord};
use platform::sync::Mutex;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetExtensions as _, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(in crate::transport) struct LegacySessionManager(Arc<SessionRegistry>);

impl LegacySessionManager {
    /// Ends the requests that a crashed process left running, and serves the stored sessions.
    pub(in crate::transport) async fn open(
        server: Server,
        storage: SessionStore,
        clock: Arc<dyn Clock>,
        options: LegacyOptions,
        lifecycle: Lifecycle,
        end: CancellationToken,
    ) -> Result<Self, StorageError> {
        let ended = storage.end_abandoned(interrupted_text).await?;
        if ended > 0 {
            tracing::warn!(requests = ended, "requests were interrupted when the server ended; their clients are told");
        }
        let (loaded, restoring) = (Mutex::default(), tokio::sync::Mutex::default());
        let registry = Arc::new(SessionRegistry { server, storage, clock, options, lifecycle, end, loaded, restoring });
        tokio::spawn(SessionRegistry::run_sweeps(Arc::downgrade(&registry)));
        Ok(Self(registry))
    }

    /// Returns a function for the end of the process, which must be called before running requests are cut off. It returns how
    /// many of them the next process goes on with.
    pub(in crate::transport) fn leave_waiting(&self) -> impl Fn() -> usize + use<> {
        let registry = self.0.clone();
        move || registry.leave_waiting()
    }

    /// The session, if it is in memory and belongs to the current principal.
    fn get(&self, id: &str) -> Result<Arc<LegacySession>, RefusedRequest> {
        let session = current_principal().and_then(|principal| self.0.find(id, &principal));
        session.ok_or_else(|| refuse(HttpRefusal::UnknownSession))
    }
}

#[cfg(test)]
impl LegacySessionManager {
    pub(super) fn unload(&self, id: &str) {
        self.0.unload(id);
    }

    pub(super) fn is_loaded(&self, id: &str) -> bool {
        self.0.loaded().contains_key(id)
    }

    pub(super) fn mark_used(&self, id: &str) {
        self.0.loaded()[id].mark_used(self.0.clock.now());
    }
}

impl From<RequestRejection> for HttpRefusal {
    fn from(rejection: RequestRejection) -> Self {
        match rejection {
            RequestRejection::DuplicateId => Self::DuplicateId,
            RequestRejection::TooManyRequests => Self::TooManyRequests(MAX_REQUESTS),
            RequestRejection::SessionEnded => Self::UnknownSession,
        }
    }
}

impl SessionManager for LegacySessionManager {
    type Error = RefusedRequest;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, SessionTransport), RefusedRequest> {
        let principal = current_principal().ok_or_else(|| refuse(HttpRefusal::UnknownSession))?;
        let id: Arc<str> = random_text::<16>().map_err(|_| refuse(HttpRefusal::Storage))?.into();
        self.0.admit(&id, &principal).await.map_err(refuse)?;
        let (_, transport) = self.0.load(id.clone(), principal, 0).await.map_err(refuse)?;
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, RefusedRequest> {
        let session = self.get(id)?;
        let handshake = match &message {
            ClientJsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::InitializeRequest(request) => serde_json::to_string(&request.params).ok(),
                _ => None,
            },
            _ => None,
        };
        let response = session.expect_handshake();
        session.incoming.send(message).await.map_err(|_| refuse(HttpRefusal::UnknownSession))?;
        let response = response.await.map_err(|_| refuse(HttpRefusal::UnknownSession))?;
        if let Some(handshake) = handshake.filter(|_| session.complete_handshake(&response)) {
            let stored = self.0.storage.keep_handshake(id.to_string(), handshake).await;
            stored.map_err(|error| refuse(storage_refusal(error)))?;
        }
        Ok(response)
    }

    /// Also restores a session that is only stored, so that rmcp does not have to.
    async fn has_session(&self, id: &SessionId) -> Result<bool, RefusedRequest> {
        let Some(principal) = current_principal() else { return Ok(false) };
        // In its own task, so that a client that disconnects does not leave the session half restored.
        let found = tokio::spawn(self.0.clone().find_or_restore(id.clone(), principal));
        found.await.unwrap_or(Err(HttpRefusal::Storage)).map_err(refuse)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), RefusedRequest> {
        let Some(principal) = current_principal() else {
            // rmcp closes a session whose task has ended. It may have been restored since.
            let has_ended = self.0.loaded().get(id).is_some_and(|session| session.incoming.is_closed());
            if has_ended {
                self.0.unload(id);
            }
            return Ok(());
        };
        // The client ends the session.
        let existed = self.0.storage.forget(id.to_string(), principal.to_string()).await;
        if !existed.map_err(|error| refuse(storage_refusal(error)))? {
            return Err(refuse(HttpRefusal::UnknownSession));
        }
        self.0.unload(id);
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, RefusedRequest> {
        let session = self.get(id)?;
        let ClientJsonRpcMessage::Request(mut request) = message else { return Err(refuse(HttpRefusal::NotAMessage)) };
        session.check_free(&request.id).map_err(|rejection| refuse(rejection.into()))?;
        let active = self.0.lifecycle.accept(|| true).map_err(refuse)?;
        let token = random_text::<16>().map_err(|_| refuse(HttpRefusal::Storage))?;
        let request_id = serde_json::to_string(&request.id).unwrap_or_default();
        let (storage, owner) = (self.0.storage.clone(), session.clone());
        // In its own task, so that a client that disconnects does not leave a stream that never ends.
        let started = tokio::spawn(async move {
            let key = storage.open_stream(owner.id.to_string(), token.clone(), request_id).await.map_err(|error| {
                tracing::error!(%error, "a request is refused");
                HttpRefusal::Storage
            })?;
            let record = StreamRecord { key, request: None, last: 0, pruned: 0, ended: false };
            let log = EventLog::new(storage.clone(), token, false, &record);
            let extensions = request.request.extensions_mut();
            let waiting = WaitingRequest::new(storage, key, extensions, owner.ids.clone());
            if let Some(waiting) = &waiting {
                extensions.insert(ResumableStream::new(waiting.clone(), None));
            }
            match owner.start_request(request, log.clone(), waiting, active).await {
                Ok(()) => Ok(log),
                Err(rejection) => {
                    log.end();
                    Err(rejection.into())
                }
            }
        });
        let log = started.await.unwrap_or(Err(HttpRefusal::Storage)).map_err(refuse)?;
        Ok(self.0.read_stream(&session, log, Some(0)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), RefusedRequest> {
        let session = self.get(id)?;
        session.apply_cancel(&message);
        let Some(message) = session.accept_answer(message) else { return Ok(()) };
        session.incoming.send(message).await.map_err(|_| refuse(HttpRefusal::UnknownSession))
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, RefusedRequest> {
        let session = self.get(id)?;
        Ok(self.0.read_stream(&session, session.standalone_log.clone(), None))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, RefusedRequest> {
        let session = self.get(id)?;
        let event = EventId::parse(&last_event_id).ok_or_else(|| refuse(HttpRefusal::UnknownEvent))?;
        let EventId { token, number } = event;
        let log = match session.find_log(&token) {
            Some(log) => log,
            None => {
                let found = self.0.storage.find_stream(id.to_string(), token.clone()).await;
                let found = found.map_err(|error| refuse(storage_refusal(error)))?;
                let record = found.ok_or_else(|| refuse(HttpRefusal::UnknownEvent))?;
                EventLog::new(self.0.storage.clone(), token, false, &record)
            }
        };
        if !log.can_resume_after(number) {
            return Err(refuse(HttpRefusal::UnknownEvent));
        }
        log.mark_resumed_after(number);
        if !log.take_closed() {
            session.ask_again(&log, number);
        }
        Ok(self.0.read_stream(&session, log, Some(number)))
    }
}
