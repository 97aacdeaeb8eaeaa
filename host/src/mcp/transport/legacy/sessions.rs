//! All sessions, as rmcp wants them: made, found, restored from the storage, ended.

use super::super::asking::{Refused, principal, refuse};
use super::super::refusal::Refusal;
use super::LegacyOptions;
use super::follow::{Reading, follow};
use super::log::EventLog;
use super::message::{EventId, interrupted, random_name};
use super::session::{MAX_REQUESTS, Session, SessionTransport, Taken};
use crate::clock::Clock;
use crate::mcp::Server;
use crate::mcp::transport::gate::Gate;
use crate::policy::Principal;
use crate::storage::{Admission, Quota, Storage, StorageError, StreamRecord};
use axum::http::request::Parts;
use futures::Stream;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, InitializeRequest, InitializedNotification, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A session may be ended to make room for another of its principal when nobody has used it for so long.
const EVICTABLE: Duration = Duration::from_secs(300);
/// A session that nobody has used for so long leaves the memory; it comes back when it is asked for.
const RESTING: Duration = Duration::from_secs(1_800);
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// All sessions of one server.
pub(in crate::mcp::transport) struct Sessions(Arc<Shared>);

struct Shared {
    server: Server,
    storage: Storage,
    clock: Arc<dyn Clock>,
    options: LegacyOptions,
    gate: Gate,
    /// Ends all sessions.
    end: CancellationToken,
    open: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    /// One at a time: two requests must not restore the same session twice.
    restoring: tokio::sync::Mutex<()>,
}

impl Sessions {
    /// Ends what a process that died left running, and serves what it kept.
    pub(in crate::mcp::transport) async fn open(
        server: Server,
        storage: Storage,
        clock: Arc<dyn Clock>,
        options: LegacyOptions,
        gate: Gate,
        end: CancellationToken,
    ) -> Result<Self, StorageError> {
        let ended = storage.end_abandoned(interrupted).await?;
        if ended > 0 {
            tracing::warn!(requests = ended, "a server before this one ended while they ran; their clients are told");
        }
        let (open, restoring) = (Mutex::default(), tokio::sync::Mutex::default());
        let shared = Arc::new(Shared { server, storage, clock, options, gate, end, open, restoring });
        tokio::spawn(Shared::tidy_up(Arc::downgrade(&shared)));
        Ok(Self(shared))
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session, if it is in memory and of whoever asks.
    fn find(&self, id: &str) -> Option<Arc<Session>> {
        let asking = principal()?;
        let session = self.open().get(id).filter(|session| session.principal == asking).cloned()?;
        session.use_now(self.clock.now());
        Some(session)
    }

    fn get(&self, id: &str) -> Result<Arc<Session>, Refused> {
        self.find(id).ok_or_else(|| refuse(Refusal::Session))
    }

    /// Brings a session into memory.
    async fn begin(&self, id: Arc<str>, principal: Principal) -> Result<(Arc<Session>, SessionTransport), Refused> {
        let token = random_name().ok_or_else(|| refuse(Refusal::Storage))?;
        let (token, record) = self.storage.own_stream(id.to_string(), token).await.map_err(lost)?;
        let own = EventLog::new(self.storage.clone(), token, true, &record);
        let (session, transport) = Session::new(id.clone(), principal, own, self.clock.now());
        self.open().insert(id, session.clone());
        Ok((session, transport))
    }

    /// Makes room for a session, at the cost of one of the same principal that nobody uses.
    async fn admit(&self, id: &str, principal: &Principal) -> Result<(), Refused> {
        let all = self.options.max_sessions;
        let quota = Quota { all, own: all.div_ceil(2) };
        loop {
            let admission = self.storage.admit(id.to_owned(), principal.to_string(), quota).await.map_err(lost)?;
            let Admission::Full(candidates) = admission else { return Ok(()) };
            let idle = |id: &&String| match self.open().get(id.as_str()) {
                None => true,
                Some(session) => session
                    .idle_since()
                    .is_some_and(|since| self.clock.now().saturating_duration_since(since) > EVICTABLE),
            };
            let Some(idle) = candidates.iter().find(idle) else { return Err(refuse(Refusal::ManySessions)) };
            self.storage.forget(idle.clone(), principal.to_string()).await.map_err(lost)?;
            self.rest(idle);
        }
    }

    /// Takes a session out of memory. What runs in it is cancelled.
    fn rest(&self, id: &str) {
        if let Some(session) = self.open().remove(id) {
            session.over.cancel();
        }
    }

    /// Says what the client said when it came, once more, to a handler of its own.
    async fn restore(self: &Arc<Self>, id: Arc<str>, principal: Principal, handshake: &str) -> Result<(), Refused> {
        let Ok(params) = serde_json::from_str(handshake) else { return Err(refuse(Refusal::Session)) };
        let (session, transport) = self.begin(id, principal.clone()).await?;
        let answer = session.expect_handshake();
        let (serving, shared, ending) = (self.server.clone(), self.clone(), session.clone());
        tokio::spawn(async move {
            let end = shared.end.child_token();
            match rmcp::service::serve_server_with_ct(serving, transport, end).await {
                Ok(serving) => drop(serving.waiting().await),
                Err(error) => tracing::warn!(%error, "a session could not be restored"),
            }
            let same = shared.open().get(&ending.id).is_some_and(|session| Arc::ptr_eq(session, &ending));
            if same {
                shared.rest(&ending.id);
            }
        });
        let request = ClientRequest::InitializeRequest(InitializeRequest::new(params));
        let mut hello = ClientJsonRpcMessage::request(request, RequestId::Number(0));
        let ready = InitializedNotification::default();
        let mut ready = ClientJsonRpcMessage::notification(ClientNotification::InitializedNotification(ready));
        for message in [&mut hello, &mut ready] {
            message.insert_extension(parts_of(&principal));
        }
        let gone = |_| refuse(Refusal::Session);
        session.incoming.send(hello).await.map_err(gone)?;
        let agreed = answer.await.is_ok_and(|answer| session.note_handshake(&answer));
        if !agreed {
            self.rest(&session.id);
            return Err(refuse(Refusal::Session));
        }
        session.incoming.send(ready).await.map_err(gone)
    }

    fn read(
        &self,
        session: &Session,
        log: Arc<EventLog>,
        after: Option<u32>,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let primed = session.knows_priming.load(Ordering::Relaxed);
        let (over, gate, own) = (session.over.clone(), self.gate.clone(), log.own);
        let over = Box::pin(async move {
            tokio::select! {
                () = over.cancelled_owned() => {}
                // The stream of a request ends with it.
                () = gate.stopping(), if own => {}
            }
        });
        let close_after = self.options.poll_after.filter(|_| primed && !log.own);
        let presence = session.presence.clone();
        follow(log, Reading { after, primed, close_after, over, presence })
    }

    /// Once in a while: notes which sessions are used, and lets those rest that nobody has used for long.
    async fn tidy_up(weak: std::sync::Weak<Self>) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let Some(shared) = weak.upgrade() else { return };
            let now = shared.clock.now();
            let mut used = Vec::new();
            let mut resting = Vec::new();
            for session in shared.open().values() {
                match session.idle_since().map(|since| now.saturating_duration_since(since)) {
                    Some(idle) if idle > RESTING => resting.push(session.id.clone()),
                    Some(idle) if idle > LOOK_EVERY => {}
                    Some(_) | None => used.push(session.id.to_string()),
                }
            }
            resting.iter().for_each(|id| shared.rest(id));
            if let Err(error) = shared.storage.touch(used).await {
                tracing::error!(%error, "the use of sessions is not noted");
            }
        }
    }
}

/// What a handler is told of a request that no client sent.
fn parts_of(principal: &Principal) -> Parts {
    let mut parts = axum::http::Request::new(()).into_parts().0;
    parts.extensions.insert(principal.clone());
    parts
}

impl From<Taken> for Refusal {
    fn from(taken: Taken) -> Self {
        match taken {
            Taken::SameId => Self::SameId,
            Taken::Full => Self::ManyRequests(MAX_REQUESTS),
        }
    }
}

fn lost(error: StorageError) -> Refused {
    tracing::error!(%error, "a session cannot be served");
    refuse(Refusal::Storage)
}

impl SessionManager for Sessions {
    type Error = Refused;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, SessionTransport), Refused> {
        let asking = principal().ok_or_else(|| refuse(Refusal::Session))?;
        let id: Arc<str> = random_name().ok_or_else(|| refuse(Refusal::Storage))?.into();
        self.0.admit(&id, &asking).await?;
        let (_, transport) = self.0.begin(id.clone(), asking).await?;
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Refused> {
        let session = self.0.get(id)?;
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
            self.0.storage.keep_handshake(id.to_string(), handshake).await.map_err(lost)?;
        }
        Ok(answer)
    }

    /// Also brings back a session that is only stored, so that rmcp need not know of that.
    async fn has_session(&self, id: &SessionId) -> Result<bool, Refused> {
        if self.0.find(id).is_some() {
            return Ok(true);
        }
        let Some(asking) = principal() else { return Ok(false) };
        let _turn = self.0.restoring.lock().await;
        if self.0.open().contains_key(id) {
            return Ok(self.0.find(id).is_some());
        }
        match self.0.storage.handshake(id.to_string(), asking.to_string()).await.map_err(lost)? {
            Some(handshake) => self.0.restore(id.clone(), asking, &handshake).await.map(|()| true),
            None => Ok(false),
        }
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
        if !self.0.storage.forget(id.to_string(), asking.to_string()).await.map_err(lost)? {
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
        let session = self.0.get(id)?;
        let ClientJsonRpcMessage::Request(request) = message else { return Err(refuse(Refusal::NotAMessage)) };
        session.check_free(&request.id).map_err(|taken| refuse(taken.into()))?;
        let work = self.0.gate.enter(true).map_err(refuse)?;
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
            let sent = match own.register(&request, log.clone(), work) {
                Ok(()) => own.incoming.send(ClientJsonRpcMessage::Request(request)).await.map_err(|_| Refusal::Session),
                Err(taken) => Err(taken.into()),
            };
            sent.map(|()| log.clone()).inspect_err(|_| log.end())
        });
        let log = begun.await.unwrap_or(Err(Refusal::Storage)).map_err(refuse)?;
        Ok(self.0.read(&session, log, Some(0)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Refused> {
        let session = self.0.get(id)?;
        session.note_cancel(&message);
        session.incoming.send(message).await.map_err(|_| refuse(Refusal::Session))
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Refused> {
        let session = self.0.get(id)?;
        Ok(self.0.read(&session, session.own.clone(), None))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Refused> {
        let session = self.0.get(id)?;
        let EventId { token, number } = EventId::parse(&last_event_id).ok_or_else(|| refuse(Refusal::Event))?;
        let log = match session.live(&token) {
            Some(log) => log,
            None => {
                let found = self.0.storage.find_stream(id.to_string(), token.clone()).await.map_err(lost)?;
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
