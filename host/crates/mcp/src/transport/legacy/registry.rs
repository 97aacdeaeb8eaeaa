//! All sessions: admits new ones, finds them, unloads idle ones, and restores those that are only stored.

use super::event_log::EventLog;
use super::message::request_parts;
use super::options::LegacyOptions;
use super::reader::{ReaderOptions, read_events};
use super::resumption;
use super::session::LegacySession;
use super::transport::SessionTransport;
use crate::handler::Server;
use crate::transport::request::lifecycle::Lifecycle;
use crate::transport::responses::refusal::HttpRefusal;
use futures::Stream;
use platform::clock::Clock;
use platform::random::{random_bytes, random_text};
use platform::storage::{SessionAdmission, SessionQuota, SessionStore, StorageError, StoredSession};
use platform::sync::Mutex;
use policy::Principal;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, InitializeRequest, InitializedNotification, RequestId,
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A session that is idle for longer may be deleted to admit a new one. Many clients never end their sessions, and these must
/// keep nobody out. A client in the middle of its work has a stream open, or sends its next request sooner.
const EVICTABLE_AFTER: Duration = Duration::from_secs(30);
/// A session that is idle for longer is unloaded from memory; the next request restores it.
const UNLOAD_AFTER: Duration = Duration::from_secs(1_800);
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

pub(super) struct SessionRegistry {
    pub(super) server: Server,
    pub(super) storage: SessionStore,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) options: LegacyOptions,
    pub(super) lifecycle: Lifecycle,
    /// Ends all sessions.
    pub(super) end: CancellationToken,
    pub(super) loaded: Mutex<HashMap<Arc<str>, Arc<LegacySession>>>,
    /// Held while a session is restored, so that two requests do not restore it twice.
    pub(super) restoring: tokio::sync::Mutex<()>,
}

impl SessionRegistry {
    pub(super) fn loaded(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<LegacySession>>> {
        self.loaded.lock()
    }

    /// The session, if it is in memory and belongs to this principal.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<LegacySession>> {
        let session = self.loaded().get(id).filter(|session| session.principal == *principal).cloned()?;
        session.mark_used(self.clock.now());
        Some(session)
    }

    /// Makes sure that a session is in memory. False if this principal has no such session.
    pub(super) async fn find_or_restore(
        self: Arc<Self>,
        id: Arc<str>,
        principal: Principal,
    ) -> Result<bool, HttpRefusal> {
        if self.find(&id, &principal).is_some_and(|session| session.is_ready()) {
            return Ok(true);
        }
        let _restoring = self.restoring.lock().await;
        if self.loaded().contains_key(&id) {
            return Ok(self.find(&id, &principal).is_some_and(|session| session.is_ready()));
        }
        match self.storage.handshake(id.to_string(), principal.to_string()).await.map_err(storage_refusal)? {
            Some(handshake) => self.restore(id, principal, &handshake).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Loads a session into memory and makes its transport.
    pub(super) async fn load(
        &self,
        id: Arc<str>,
        principal: Principal,
        first_id: i64,
    ) -> Result<(Arc<LegacySession>, SessionTransport), HttpRefusal> {
        let token = random_text::<16>().map_err(|_| HttpRefusal::Storage)?;
        let (token, record) = self.storage.own_stream(id.to_string(), token).await.map_err(storage_refusal)?;
        let standalone_log = EventLog::new(self.storage.clone(), token, true, &record);
        let (session, received) = LegacySession::new(id.clone(), principal, standalone_log, first_id, self.clock.now());
        self.loaded().insert(id, session.clone());
        Ok((session.clone(), SessionTransport::new(session, received)))
    }

    /// Reserves a place for a new session. If there are too many, deletes the one that is idle for the longest: of the same
    /// principal, or of the principal who has the most.
    pub(super) async fn admit(&self, id: &str, principal: &Principal) -> Result<(), HttpRefusal> {
        let all = self.options.max_sessions;
        let quota = SessionQuota { all, own: all.div_ceil(2) };
        loop {
            let admission =
                self.storage.admit(id.to_owned(), principal.to_string(), quota).await.map_err(storage_refusal)?;
            let SessionAdmission::Full(candidates) = admission else { return Ok(()) };
            let Some(idle) = self.longest_idle(candidates) else { return Err(HttpRefusal::TooManySessions) };
            self.storage.forget(idle.id.clone(), idle.principal).await.map_err(storage_refusal)?;
            self.unload(&idle.id);
        }
    }

    /// The first candidate that is not in memory, or else the one that is idle for the longest.
    fn longest_idle(&self, candidates: Vec<StoredSession>) -> Option<StoredSession> {
        let (loaded, now) = (self.loaded(), self.clock.now());
        let idle_for = |session: &StoredSession| match loaded.get(session.id.as_str()) {
            None => Some(Duration::MAX),
            Some(session) => session.idle_since().map(|since| now.saturating_duration_since(since)),
        };
        let idle = candidates.into_iter().rev().filter_map(|session| Some((idle_for(&session)?, session)));
        idle.filter(|(time, _)| *time > EVICTABLE_AFTER).max_by_key(|(time, _)| *time).map(|(_, session)| session)
    }

    /// Removes a session from memory and cancels its running requests.
    pub(super) fn unload(&self, id: &str) {
        if let Some(session) = self.loaded().remove(id) {
            session.ended.cancel();
        }
    }

    /// Loads a stored session: starts a new handler for it, and repeats the handshake of its client.
    async fn restore(self: &Arc<Self>, id: Arc<str>, principal: Principal, handshake: &str) -> Result<(), HttpRefusal> {
        let Ok(params) = serde_json::from_str(handshake) else { return Err(HttpRefusal::UnknownSession) };
        // The ids start far from those of earlier processes, so that an answer to a request of an earlier process fits no other
        // request. They stay below 53 bits, the integers that JavaScript knows.
        let first_id = i64::from(u32::from_le_bytes(random_bytes().map_err(|_| HttpRefusal::Storage)?)) << 20;
        let (session, transport) = self.load(id, principal.clone(), first_id).await?;
        let response = session.expect_handshake();
        let (server, registry, served) = (self.server.with_new_session(), self.clone(), session.clone());
        tokio::spawn(async move {
            let end = registry.end.child_token();
            match rmcp::service::serve_server_with_ct(server, transport, end).await {
                Ok(serving) => drop(serving.waiting().await),
                Err(error) => tracing::warn!(%error, "a session could not be restored"),
            }
            let is_loaded = registry.loaded().get(&served.id).is_some_and(|session| Arc::ptr_eq(session, &served));
            if is_loaded {
                registry.unload(&served.id);
            }
        });
        let request = ClientRequest::InitializeRequest(InitializeRequest::new(params));
        let mut initialize = ClientJsonRpcMessage::request(request, RequestId::Number(0));
        let initialized = InitializedNotification::default();
        let mut initialized =
            ClientJsonRpcMessage::notification(ClientNotification::InitializedNotification(initialized));
        for message in [&mut initialize, &mut initialized] {
            message.insert_extension(request_parts(&principal));
        }
        let ended = |_| HttpRefusal::UnknownSession;
        session.incoming.send(initialize).await.map_err(ended)?;
        let is_complete = response.await.is_ok_and(|response| session.complete_handshake(&response));
        if !is_complete {
            self.unload(&session.id);
            return Err(HttpRefusal::UnknownSession);
        }
        session.incoming.send(initialized).await.map_err(ended)?;
        resumption::resume(&self.storage, &self.lifecycle, &session).await.map_err(storage_refusal)
    }

    /// Leaves calls that wait for their clients to the next process, because this one ends. Returns their number.
    pub(super) fn leave_waiting(&self) -> usize {
        self.loaded().values().map(|session| session.leave_waiting()).sum()
    }

    /// The events of a stream after event number `after`, or after the last one sent.
    pub(super) fn read_stream(
        &self,
        session: &LegacySession,
        log: Arc<EventLog>,
        after: Option<u32>,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let primed = session.supports_priming.load(Ordering::Relaxed);
        let (ended, lifecycle, standalone) = (session.ended.clone(), self.lifecycle.clone(), log.standalone);
        let ended = Box::pin(async move {
            tokio::select! {
                () = ended.cancelled_owned() => {}
                // The stream of a request ends with the request.
                () = lifecycle.wait_stopping(), if standalone => {}
            }
        });
        let close_after = self.options.poll_after.filter(|_| primed && !log.standalone);
        let reader_token = session.reader_token.clone();
        read_events(log, ReaderOptions { after, primed, close_after, ended, reader_token })
    }

    /// Periodically unloads idle sessions and records which ones are used.
    pub(super) async fn run_sweeps(registry: Weak<Self>) {
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            let Some(registry) = registry.upgrade() else { return };
            let now = registry.clock.now();
            let (mut used, mut idle) = (Vec::new(), Vec::new());
            for session in registry.loaded().values() {
                match session.idle_since().map(|since| now.saturating_duration_since(since)) {
                    // A client that disconnects during its handshake never learns the session's id.
                    Some(time) if time > UNLOAD_AFTER || (time > SWEEP_INTERVAL && !session.is_ready()) => {
                        idle.push(session.id.clone())
                    }
                    Some(time) if time > SWEEP_INTERVAL => {}
                    Some(_) | None => used.push(session.id.to_string()),
                }
            }
            idle.iter().for_each(|id| registry.unload(id));
            if let Err(error) = registry.storage.touch(used).await {
                tracing::error!(%error, "the use of sessions cannot be recorded");
            }
        }
    }
}

pub(super) fn storage_refusal(error: StorageError) -> HttpRefusal {
    tracing::error!(%error, "a session cannot be read or stored");
    HttpRefusal::Storage
}
