//! Which sessions there are: admitted, found, restored from the storage, sent to rest.

use super::super::gate::Gate;
use super::super::refusal::Refusal;
use super::LegacyOptions;
use super::follow::{Reading, follow};
use super::log::EventLog;
use super::message::random_name;
use super::session::Session;
use super::wire::SessionTransport;
use crate::Server;
use axum::http::request::Parts;
use futures::Stream;
use platform::clock::Clock;
use platform::storage::{Admission, Quota, Storage, StorageError};
use policy::Principal;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, InitializeRequest, InitializedNotification, RequestId,
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
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

pub(super) struct Keeper {
    pub(super) server: Server,
    pub(super) storage: Storage,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) options: LegacyOptions,
    pub(super) gate: Gate,
    /// Ends all sessions.
    pub(super) end: CancellationToken,
    pub(super) open: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    /// One at a time: two requests must not restore the same session twice.
    pub(super) restoring: tokio::sync::Mutex<()>,
}

impl Keeper {
    pub(super) fn open(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session, if it is in memory and of this principal.
    pub(super) fn find(&self, id: &str, asking: &Principal) -> Option<Arc<Session>> {
        let session = self.open().get(id).filter(|session| session.principal == *asking).cloned()?;
        session.use_now(self.clock.now());
        Some(session)
    }

    /// Finds a session, and brings back one that is only stored. False when it is not of this principal.
    pub(super) async fn find_anywhere(self: Arc<Self>, id: Arc<str>, asking: Principal) -> Result<bool, Refusal> {
        if self.find(&id, &asking).is_some_and(|session| session.is_ready()) {
            return Ok(true);
        }
        let _turn = self.restoring.lock().await;
        if self.open().contains_key(&id) {
            return Ok(self.find(&id, &asking).is_some_and(|session| session.is_ready()));
        }
        match self.storage.handshake(id.to_string(), asking.to_string()).await.map_err(lost)? {
            Some(handshake) => self.restore(id, asking, &handshake).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Brings a session into memory.
    pub(super) async fn begin(
        &self,
        id: Arc<str>,
        principal: Principal,
    ) -> Result<(Arc<Session>, SessionTransport), Refusal> {
        let token = random_name().ok_or(Refusal::Storage)?;
        let (token, record) = self.storage.own_stream(id.to_string(), token).await.map_err(lost)?;
        let own = EventLog::new(self.storage.clone(), token, true, &record);
        let (session, transport) = Session::new(id.clone(), principal, own, self.clock.now());
        self.open().insert(id, session.clone());
        Ok((session, transport))
    }

    /// Makes room for a session, at the cost of one of the same principal that nobody uses.
    pub(super) async fn admit(&self, id: &str, principal: &Principal) -> Result<(), Refusal> {
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
            let Some(idle) = candidates.iter().find(idle) else { return Err(Refusal::ManySessions) };
            self.storage.forget(idle.clone(), principal.to_string()).await.map_err(lost)?;
            self.rest(idle);
        }
    }

    /// Takes a session out of memory. What runs in it is cancelled.
    pub(super) fn rest(&self, id: &str) {
        if let Some(session) = self.open().remove(id) {
            session.over.cancel();
        }
    }

    /// Says what the client said when it came, once more, to a handler of its own.
    async fn restore(self: &Arc<Self>, id: Arc<str>, principal: Principal, handshake: &str) -> Result<(), Refusal> {
        let Ok(params) = serde_json::from_str(handshake) else { return Err(Refusal::Session) };
        let (session, transport) = self.begin(id, principal.clone()).await?;
        let answer = session.expect_handshake();
        let (serving, keeper, ending) = (self.server.session(), self.clone(), session.clone());
        tokio::spawn(async move {
            let end = keeper.end.child_token();
            match rmcp::service::serve_server_with_ct(serving, transport, end).await {
                Ok(serving) => drop(serving.waiting().await),
                Err(error) => tracing::warn!(%error, "a session could not be restored"),
            }
            let same = keeper.open().get(&ending.id).is_some_and(|session| Arc::ptr_eq(session, &ending));
            if same {
                keeper.rest(&ending.id);
            }
        });
        let request = ClientRequest::InitializeRequest(InitializeRequest::new(params));
        let mut hello = ClientJsonRpcMessage::request(request, RequestId::Number(0));
        let ready = InitializedNotification::default();
        let mut ready = ClientJsonRpcMessage::notification(ClientNotification::InitializedNotification(ready));
        for message in [&mut hello, &mut ready] {
            message.insert_extension(parts_of(&principal));
        }
        let gone = |_| Refusal::Session;
        session.incoming.send(hello).await.map_err(gone)?;
        let agreed = answer.await.is_ok_and(|answer| session.note_handshake(&answer));
        if !agreed {
            self.rest(&session.id);
            return Err(Refusal::Session);
        }
        session.incoming.send(ready).await.map_err(gone)
    }

    pub(super) fn read(
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
    pub(super) async fn tidy_up(weak: std::sync::Weak<Self>) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let Some(keeper) = weak.upgrade() else { return };
            let now = keeper.clock.now();
            let mut used = Vec::new();
            let mut resting = Vec::new();
            for session in keeper.open().values() {
                match session.idle_since().map(|since| now.saturating_duration_since(since)) {
                    // A client that hung up in the middle of its handshake does not know the session.
                    Some(idle) if idle > RESTING || (idle > LOOK_EVERY && !session.is_ready()) => {
                        resting.push(session.id.clone())
                    }
                    Some(idle) if idle > LOOK_EVERY => {}
                    Some(_) | None => used.push(session.id.to_string()),
                }
            }
            resting.iter().for_each(|id| keeper.rest(id));
            if let Err(error) = keeper.storage.touch(used).await {
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

pub(super) fn lost(error: StorageError) -> Refusal {
    tracing::error!(%error, "a session cannot be served");
    Refusal::Storage
}
