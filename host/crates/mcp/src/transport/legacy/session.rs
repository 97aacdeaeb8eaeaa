//! One session: what runs in it, and which stream a message of the server goes to.

use super::log::{EventLog, Silent};
use super::message::{Worded, interrupted};
use super::wire::{Sending, SessionTransport};
use crate::respond;
use crate::transport::gate::Work;
use crate::vendor;
use policy::Principal;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ClientRequest,
    GetExtensions as _, GetMeta as _, JsonRpcRequest, ProgressToken, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerResult,
};
use rmcp::service::OriginatingRequestId;
use runtime::engine::Heavy;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Messages of the client that may wait for the session's loop.
const QUEUE: usize = 16;
/// Requests that may run in one session at a time. Bounds what one client can queue.
pub(super) const MAX_REQUESTS: usize = 256;
/// The version from which on clients know events without data.
const PRIMING_SINCE: &str = "2025-11-25";

pub(super) struct Session {
    pub(super) id: Arc<str>,
    pub(super) principal: Principal,
    /// The stream of what belongs to no request.
    pub(super) own: Arc<EventLog>,
    pub(super) incoming: mpsc::Sender<ClientJsonRpcMessage>,
    /// Told when the session ends; what runs in it is cancelled.
    pub(super) over: CancellationToken,
    /// The handshake is over.
    ready: AtomicBool,
    /// Whether the client knows events without data (2025-11-25).
    pub(super) knows_priming: AtomicBool,
    /// Cloned by everybody who reads one of its streams.
    pub(super) presence: Arc<()>,
    state: Mutex<State>,
}

struct State {
    running: HashMap<RequestId, Running>,
    /// Cancelled of late: rmcp would take a late answer to one of them for that to a new request of the same id.
    cancelled: VecDeque<RequestId>,
    /// Who waits for the answer to `initialize`.
    handshake: Option<oneshot::Sender<ServerJsonRpcMessage>>,
    used: Instant,
}

struct Running {
    log: Arc<EventLog>,
    progress: Option<ProgressToken>,
    /// It lasts as long as the client likes, so it does not keep a session in use that nobody reads from.
    lasts: bool,
    /// Whether its answer is.
    heavy: Option<Heavy>,
    /// It runs on when its client is away, so a server that stops waits for it rather than for a connection.
    _work: Work,
}

/// What stands in the way of a new request.
#[derive(Debug, PartialEq)]
pub(super) enum Taken {
    SameId,
    Full,
    /// The session has ended.
    Over,
}

impl Session {
    /// A session and the transport that serves it.
    pub(super) fn new(
        id: Arc<str>,
        principal: Principal,
        own: Arc<EventLog>,
        now: Instant,
    ) -> (Arc<Self>, SessionTransport) {
        let (incoming, received) = mpsc::channel(QUEUE);
        let state =
            Mutex::new(State { running: HashMap::new(), cancelled: VecDeque::new(), handshake: None, used: now });
        let session = Arc::new(Self {
            id,
            principal,
            own,
            incoming,
            over: CancellationToken::new(),
            ready: AtomicBool::new(false),
            knows_priming: AtomicBool::new(false),
            presence: Arc::new(()),
            state,
        });
        (session.clone(), SessionTransport::new(session, received))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    pub(super) fn use_now(&self, now: Instant) {
        self.state().used = now;
    }

    /// Since when nobody has used it; none while something runs in it or somebody reads.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        let works = state.running.values().any(|running| !running.lasts);
        let busy = works || Arc::strong_count(&self.presence) > 1;
        (!busy).then_some(state.used)
    }

    /// The answer to `initialize` goes here.
    pub(super) fn expect_handshake(&self) -> oneshot::Receiver<ServerJsonRpcMessage> {
        let (to, answer) = oneshot::channel();
        self.state().handshake = Some(to);
        answer
    }

    /// Notes what the handshake agreed on. False when it failed.
    pub(super) fn note_handshake(&self, answer: &ServerJsonRpcMessage) -> bool {
        let ServerJsonRpcMessage::Response(response) = answer else { return false };
        let ServerResult::InitializeResult(result) = &response.result else { return false };
        let knows = result.protocol_version.as_str() >= PRIMING_SINCE;
        self.knows_priming.store(knows, Ordering::Relaxed);
        self.ready.store(true, Ordering::Release);
        true
    }

    /// Whether there is room for a request of this id.
    pub(super) fn check_free(&self, id: &RequestId) -> Result<(), Taken> {
        self.state().check_free(id)
    }

    /// Hands a request to the loop. From now on what answers it is said on `log`.
    pub(super) async fn begin(
        &self,
        request: JsonRpcRequest<ClientRequest>,
        log: Arc<EventLog>,
        work: Work,
    ) -> Result<(), Taken> {
        let place = self.incoming.reserve().await.map_err(|_| Taken::Over)?;
        let (id, progress) = (request.id.clone(), request.request.get_meta().get_progress_token());
        let lasts = request.request.method() == vendor::LISTEN;
        let heavy = respond::heavy(request.request.extensions());
        {
            let mut state = self.state();
            state.check_free(&id)?;
            state.running.insert(id.clone(), Running { log, progress, lasts, heavy, _work: work });
        }
        place.send(ClientJsonRpcMessage::Request(request));
        if self.incoming.is_closed() {
            // The loop may have ended before it could see the request, and after it told what runs that it has.
            return self.state().running.remove(&id).map_or(Ok(()), |_| Err(Taken::Over));
        }
        Ok(())
    }

    /// The stream with this token, if it is still written to.
    pub(super) fn live(&self, token: &str) -> Option<Arc<EventLog>> {
        if self.own.token == token {
            return Some(self.own.clone());
        }
        let state = self.state();
        state.running.values().find(|running| running.log.token == token).map(|running| running.log.clone())
    }

    /// A cancelled request gets no answer, so nothing more comes on its stream.
    pub(super) fn note_cancel(&self, message: &ClientJsonRpcMessage) {
        if let ClientJsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
            && let Some(running) = self.state().cancel(id)
        {
            running.log.end();
        }
    }

    /// One of the requests that still run when the session ends, as the cancel it gets.
    pub(super) fn next_cancel(&self) -> Option<ClientJsonRpcMessage> {
        let mut state = self.state();
        let id = state.running.keys().next().cloned()?;
        if let Some(running) = state.cancel(&id) {
            running.log.end();
        }
        let why = Some("the session has ended".to_owned());
        let cancel = CancelledNotification::new(CancelledNotificationParam::new(Some(id), why));
        Some(ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancel)))
    }

    /// The loop is over: nobody will answer what still runs, so its clients are told.
    pub(super) fn abandon(&self) {
        for (id, running) in self.state().running.drain() {
            // It may be over already.
            let _ = running.log.say(interrupted(Some(id)), true);
        }
    }

    /// Set when a message is a heavy answer, which is put into words elsewhere than here.
    pub(super) fn heavy(&self, message: &ServerJsonRpcMessage) -> Option<Heavy> {
        let ServerJsonRpcMessage::Response(response) = message else { return None };
        let state = self.state();
        state.running.get(&response.id)?.heavy.clone().filter(|heavy| heavy.who().is_some())
    }

    /// Puts a message of the server on its stream. With it: what the sender waits for.
    pub(super) fn route(&self, said: Worded) -> Sending {
        let answered = match &said.message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => match error.id.clone() {
                Some(id) => Some(id),
                None => return Sending::Dropped,
            },
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
        };
        let mut state = self.state();
        match answered {
            Some(id) => {
                let Some(running) = state.running.remove(&id) else {
                    // Either the answer to `initialize`, or one to a request that was cancelled meanwhile.
                    if let Some(handshake) = state.handshake.take() {
                        let _ = handshake.send(said.message);
                    }
                    return Sending::Dropped;
                };
                drop(state);
                Sending::said(running.log, said, true)
            }
            None => {
                let log = state.log_of(&said.message).unwrap_or_else(|| Ok(self.own.clone()));
                drop(state);
                log.map_or_else(Sending::Failed, |log| Sending::said(log, said, false))
            }
        }
    }
}

impl State {
    fn cancel(&mut self, id: &RequestId) -> Option<Running> {
        let running = self.running.remove(id)?;
        self.cancelled.truncate(MAX_REQUESTS - 1);
        self.cancelled.push_front(id.clone());
        Some(running)
    }

    fn check_free(&self, id: &RequestId) -> Result<(), Taken> {
        match self.running.len() {
            _ if self.running.contains_key(id) || self.cancelled.contains(id) => Err(Taken::SameId),
            MAX_REQUESTS.. => Err(Taken::Full),
            _ => Ok(()),
        }
    }

    /// The stream of the request that a message belongs to, if it belongs to one; what comes late is not said elsewhere.
    fn log_of(&self, message: &ServerJsonRpcMessage) -> Option<Result<Arc<EventLog>, Silent>> {
        let origin = match message {
            ServerJsonRpcMessage::Request(request) => request.request.extensions().get::<OriginatingRequestId>(),
            ServerJsonRpcMessage::Notification(said) => said.notification.extensions().get::<OriginatingRequestId>(),
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => None,
        };
        if let Some(OriginatingRequestId(id)) = origin {
            return Some(self.running.get(id).map(|running| running.log.clone()).ok_or(Silent::Over));
        }
        if let ServerJsonRpcMessage::Notification(said) = message
            && let ServerNotification::ProgressNotification(progress) = &said.notification
        {
            let token = Some(&progress.params.progress_token);
            let found = self.running.values().find(|running| running.progress.as_ref() == token);
            return found.map(|running| Ok(running.log.clone()));
        }
        None
    }
}
