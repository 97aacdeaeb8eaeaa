//! One session: its running requests, and the stream that each message of the server belongs to.

use super::asked::AskedRequests;
use super::delivery::MessageDelivery;
use super::event_log::{EventLog, EventLogError};
use super::message::{EncodedMessage, interrupted};
use super::waiting::WaitingRequest;
use crate::request_context::LargeAnswer;
use crate::resumable_stream::{QuestionId, ReadState};
use crate::transport::request::lifecycle::ActiveRequest;
use platform::sync::Mutex;
use policy::Principal;
use protocol::names::REVERSE_LISTEN_METHOD;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ClientRequest,
    GetExtensions as _, JsonRpcRequest, RequestId, ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use rmcp::service::OriginatingRequestId;
use runtime::engine::TaskOwner;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Messages of the client that wait for the session's task.
const QUEUE_LENGTH: usize = 16;
/// Running requests of one session. Bounds what one client can queue.
pub(super) const MAX_REQUESTS: usize = 256;
/// The first protocol version whose clients accept events without data.
const PRIMING_SINCE: &str = "2025-11-25";

pub(super) struct LegacySession {
    pub(super) id: Arc<str>,
    pub(super) principal: Principal,
    /// The stream of messages that belong to no request.
    pub(super) standalone_log: Arc<EventLog>,
    pub(super) incoming: mpsc::Sender<ClientJsonRpcMessage>,
    /// Cancelled when the session ends; its running requests are cancelled then.
    pub(super) ended: CancellationToken,
    /// Whether the handshake has succeeded.
    ready: AtomicBool,
    /// Whether the client accepts events without data (2025-11-25).
    pub(super) supports_priming: AtomicBool,
    /// Each reader of a stream of the session holds a clone, so the strong count says whether there are any.
    pub(super) reader_token: Arc<()>,
    /// The id of the next request to the client.
    pub(super) ids: Arc<AtomicI64>,
    state: Mutex<LegacySessionState>,
}

struct LegacySessionState {
    running: HashMap<RequestId, RunningRequest>,
    asked: AskedRequests,
    /// Recently cancelled requests. rmcp would take a late response to one of them as that to a new request with its id.
    cancelled: VecDeque<RequestId>,
    /// Receives the response to `initialize`.
    handshake: Option<oneshot::Sender<ServerJsonRpcMessage>>,
    last_used: Instant,
}

struct RunningRequest {
    log: Arc<EventLog>,
    /// The request lasts until the client ends it, so it alone does not keep a session in use.
    long_lived: bool,
    /// Stores its call while the call waits.
    waiting: Option<Arc<WaitingRequest>>,
    /// The request sets this if its response is large.
    large: Option<LargeAnswer>,
    /// The request goes on while its client is disconnected, so shutdown waits for it rather than for a connection.
    _active: ActiveRequest,
}

/// Why a session rejects a new request.
#[derive(Debug, PartialEq)]
pub(super) enum RequestRejection {
    DuplicateId,
    TooManyRequests,
    SessionEnded,
}

impl LegacySession {
    /// Also returns the receiver of the client's messages. `first_id` is that of the first request to the client.
    pub(super) fn new(
        id: Arc<str>,
        principal: Principal,
        standalone_log: Arc<EventLog>,
        first_id: i64,
        now: Instant,
    ) -> (Arc<Self>, mpsc::Receiver<ClientJsonRpcMessage>) {
        let (incoming, received) = mpsc::channel(QUEUE_LENGTH);
        let (running, asked, cancelled) = Default::default();
        let state = Mutex::new(LegacySessionState { running, asked, cancelled, handshake: None, last_used: now });
        let session = Self {
            id,
            principal,
            standalone_log,
            incoming,
            ended: CancellationToken::new(),
            ready: AtomicBool::new(false),
            supports_priming: AtomicBool::new(false),
            reader_token: Arc::new(()),
            ids: Arc::new(AtomicI64::new(first_id)),
            state,
        };
        (Arc::new(session), received)
    }

    fn state(&self) -> MutexGuard<'_, LegacySessionState> {
        self.state.lock()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    pub(super) fn mark_used(&self, now: Instant) {
        self.state().last_used = now;
    }

    /// When the session was last used; none while a request runs or a stream is read.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        let is_working = state.running.values().any(|running| !running.long_lived);
        let is_read = Arc::strong_count(&self.reader_token) > 1;
        (!is_working && !is_read).then_some(state.last_used)
    }

    /// The receiver of the response to `initialize`.
    pub(super) fn expect_handshake(&self) -> oneshot::Receiver<ServerJsonRpcMessage> {
        let (sender, response) = oneshot::channel();
        self.state().handshake = Some(sender);
        response
    }

    /// Applies the response to `initialize`. False if the handshake has failed.
    pub(super) fn complete_handshake(&self, response: &ServerJsonRpcMessage) -> bool {
        let ServerJsonRpcMessage::Response(response) = response else { return false };
        let ServerResult::InitializeResult(result) = &response.result else { return false };
        let supports_priming = result.protocol_version.as_str() >= PRIMING_SINCE;
        self.supports_priming.store(supports_priming, Ordering::Relaxed);
        self.ready.store(true, Ordering::Release);
        true
    }

    /// Whether the session accepts a request with this id.
    pub(super) fn check_free(&self, id: &RequestId) -> Result<(), RequestRejection> {
        self.state().check_free(id)
    }

    /// Passes a request to the session's task. Its messages go to `log`.
    pub(super) async fn start_request(
        &self,
        mut request: JsonRpcRequest<ClientRequest>,
        log: Arc<EventLog>,
        waiting: Option<Arc<WaitingRequest>>,
        active: ActiveRequest,
    ) -> Result<(), RequestRejection> {
        let permit = self.incoming.reserve().await.map_err(|_| RequestRejection::SessionEnded)?;
        let id = request.id.clone();
        let long_lived = request.request.method() == REVERSE_LISTEN_METHOD;
        let (large, stream) = (LargeAnswer::from_message(request.request.extensions()), log.clone());
        request.request.extensions_mut().insert(ReadState(Arc::new(move || stream.is_read())));
        {
            let mut state = self.state();
            state.check_free(&id)?;
            let running = RunningRequest { log, long_lived, waiting, large, _active: active };
            state.running.insert(id.clone(), running);
        }
        permit.send(ClientJsonRpcMessage::Request(request));
        if self.incoming.is_closed() {
            // The task may have ended without seeing the request, after it has failed the running ones.
            return self.state().remove(&id).map_or(Ok(()), |_| Err(RequestRejection::SessionEnded));
        }
        Ok(())
    }

    /// The log with this token, if its stream has not ended.
    pub(super) fn find_log(&self, token: &str) -> Option<Arc<EventLog>> {
        if self.standalone_log.token == token {
            return Some(self.standalone_log.clone());
        }
        let state = self.state();
        state.running.values().find(|running| running.log.token == token).map(|running| running.log.clone())
    }

    /// Ends the stream of a request that the client cancels, because such a request gets no response. Before that, withdraws
    /// the questions that are open on it: afterwards nothing can be sent there, and the client would go on to show them.
    pub(super) fn apply_cancel(&self, message: &ClientJsonRpcMessage) {
        if let ClientJsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
            && let Some((running, open)) = self.state().cancel(id)
        {
            let reason = cancelled.params.reason.as_deref().unwrap_or("the request was cancelled");
            for question in open {
                let withdrawn =
                    CancelledNotificationParam::new(Some(RequestId::Number(question)), Some(reason.to_owned()));
                let withdrawn = ServerNotification::CancelledNotification(CancelledNotification::new(withdrawn));
                // If the stream has ended already, nobody reads it.
                let _ = running.log.append(ServerJsonRpcMessage::notification(withdrawn), false);
            }
            running.log.end();
        }
    }

    /// Cancels one running request when the session ends, and makes its cancel notification.
    pub(super) fn next_cancel(&self) -> Option<ClientJsonRpcMessage> {
        let mut state = self.state();
        let id = state.running.keys().next().cloned()?;
        if let Some((running, _)) = state.cancel(&id) {
            running.log.end();
        }
        let reason = Some("the session has ended".to_owned());
        let cancel = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        Some(ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancel)))
    }

    /// Sends an error for each running request, because the session's task has ended.
    pub(super) fn fail_running(&self) {
        let mut state = self.state();
        state.asked = AskedRequests::default();
        for (id, running) in state.running.drain() {
            // Its stream may have ended already.
            let _ = running.log.append(interrupted(Some(id)), true);
        }
    }

    /// On whose behalf a large response is serialized in the compute pool; none for any other message.
    pub(super) fn large_answer(&self, message: &ServerJsonRpcMessage) -> Option<TaskOwner> {
        let ServerJsonRpcMessage::Response(response) = message else { return None };
        self.state().running.get(&response.id)?.large.as_ref()?.owner().cloned()
    }

    /// Records that an earlier process has asked the client under these ids.
    pub(super) fn expect_answers(&self, stream: &str, ids: impl Iterator<Item = i64>) {
        let mut state = self.state();
        ids.for_each(|id| state.asked.expect(stream, id));
    }

    /// Returns an answer of the client with rmcp's id; none if nothing waits for it. Other messages are returned unchanged.
    pub(super) fn accept_answer(&self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        self.state().asked.answer(message)
    }

    /// Sends open requests again to a reader that begins after this event, and may know nothing of earlier requests.
    pub(super) fn ask_again(&self, log: &Arc<EventLog>, after: u32) {
        self.state().asked.ask_again(log, after);
    }

    /// Leaves calls that wait for the client to the next process. Returns their number.
    pub(super) fn leave_waiting(&self) -> usize {
        let mut state = self.state();
        let left: Vec<_> =
            state.running.iter().filter(|(_, it)| it.waiting.as_ref().is_some_and(|it| it.leave())).collect();
        let left: Vec<_> = left.into_iter().map(|(id, _)| id.clone()).collect();
        left.iter().for_each(|id| drop(state.remove(id)));
        left.len()
    }

    /// Replaces the id of a request of the server, or of one that it withdraws, by the id under which the client knows it. None
    /// if there is nothing to send.
    pub(super) fn name_for_client(&self, mut message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        match &mut message {
            ServerJsonRpcMessage::Request(request) => {
                let given = request.request.extensions().get::<QuestionId>().map(|QuestionId(id)| *id);
                let id = given.unwrap_or_else(|| self.ids.fetch_add(1, Ordering::Relaxed));
                let served_as = std::mem::replace(&mut request.id, RequestId::Number(id));
                let mut state = self.state();
                let Ok(log) = state.find_log(&message).unwrap_or_else(|| Ok(self.standalone_log.clone())) else {
                    return Some(message);
                };
                if let Some(answer) = state.asked.ask(&log.token, id, served_as) {
                    let incoming = self.incoming.clone();
                    // Done in a task, because the session may end meanwhile.
                    tokio::spawn(async move { incoming.send(answer).await });
                    return None;
                }
            }
            ServerJsonRpcMessage::Notification(sent) => {
                if let ServerNotification::CancelledNotification(cancelled) = &mut sent.notification
                    && let Some(served_as) = &cancelled.params.request_id
                {
                    let id = self.state().asked.withdraw(served_as)?;
                    cancelled.params.request_id = Some(RequestId::Number(id));
                }
            }
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => {}
        }
        Some(message)
    }

    /// Appends a message of the server to its stream.
    pub(super) fn route(&self, encoded: EncodedMessage) -> MessageDelivery {
        let answered = match &encoded.message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => match error.id.clone() {
                Some(id) => Some(id),
                None => return MessageDelivery::Dropped,
            },
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
        };
        let mut state = self.state();
        match answered {
            Some(id) => {
                let Some(running) = state.remove(&id) else {
                    // It is the response to `initialize`, or to a request that was cancelled meanwhile.
                    if let Some(handshake) = state.handshake.take() {
                        let _ = handshake.send(encoded.message);
                    }
                    return MessageDelivery::Dropped;
                };
                drop(state);
                MessageDelivery::append(running.log, encoded, true)
            }
            None => {
                let log = state.find_log(&encoded.message).unwrap_or_else(|| Ok(self.standalone_log.clone()));
                let log = match log {
                    Ok(log) => log,
                    Err(error) => return MessageDelivery::Failed(error),
                };
                let ServerJsonRpcMessage::Request(request) = &encoded.message else {
                    drop(state);
                    return MessageDelivery::append(log, encoded, false);
                };
                let (id, message) = (request.id.clone(), encoded.message.clone());
                let delivery = MessageDelivery::append(log, encoded, false);
                // This is done under the lock, because a client that has read the message may answer at once.
                if let (RequestId::Number(id), MessageDelivery::Appended { number, .. }) = (id, &delivery) {
                    state.asked.sent(id, message, *number);
                }
                delivery
            }
        }
    }
}

impl LegacySessionState {
    fn remove(&mut self, id: &RequestId) -> Option<RunningRequest> {
        let running = self.running.remove(id)?;
        self.asked.end(&running.log.token);
        Some(running)
    }

    /// Also returns the ids of the questions that are open on its stream.
    fn cancel(&mut self, id: &RequestId) -> Option<(RunningRequest, Vec<i64>)> {
        let running = self.running.remove(id)?;
        let open = self.asked.end(&running.log.token);
        self.cancelled.truncate(MAX_REQUESTS - 1);
        self.cancelled.push_front(id.clone());
        Some((running, open))
    }

    fn check_free(&self, id: &RequestId) -> Result<(), RequestRejection> {
        match self.running.len() {
            _ if self.running.contains_key(id) || self.cancelled.contains(id) => Err(RequestRejection::DuplicateId),
            MAX_REQUESTS.. => Err(RequestRejection::TooManyRequests),
            _ => Ok(()),
        }
    }

    /// The log of the request that a message belongs to; none if it belongs to no request. A message that comes after
    /// its request has ended is an error, so that it does not appear on another stream.
    fn find_log(&self, message: &ServerJsonRpcMessage) -> Option<Result<Arc<EventLog>, EventLogError>> {
        let origin = match message {
            ServerJsonRpcMessage::Request(request) => request.request.extensions().get::<OriginatingRequestId>(),
            ServerJsonRpcMessage::Notification(sent) => sent.notification.extensions().get::<OriginatingRequestId>(),
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => None,
        };
        let OriginatingRequestId(id) = origin?;
        Some(self.running.get(id).map(|running| running.log.clone()).ok_or(EventLogError::Ended))
    }
}
