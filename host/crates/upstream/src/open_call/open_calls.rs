//! Calls that are open on a server. Assigns the server's notifications and requests to them.

use crate::api::handler::{Requester, UpstreamCallEvent};
use crate::api::resume_point::ResumePoint;
use crate::open_call::responder::Responder;
use crate::open_call::reverse_calls::{LIVE_PREFIX, ReverseCalls};
use crate::server_input::line_rate::LineRate;
use crate::server_input::text::single_line;
use crate::transport::ordered_transport::TransportObserver;
use platform::sync::Mutex;
use policy::TreeBudget;
use protocol::names::{
    CALL_META, CHUNK_ORIGIN_META, CORRELATION_META, PARTIAL_RESULT_NOTIFICATION, PARTIAL_RESULT_TOKEN_META,
};
use rmcp::model::{ClientRequest, ContentBlock, GetMeta, ProgressToken, RequestId, ServerNotification};
use runtime::engine::{PausableClock, PauseGuard};
use runtime::imports::{Content, ProgressReport};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use tokio::sync::mpsc;

/// Open calls on one server. Bounds what callers make us keep for a slow server. A principal may have at most as many calls as
/// are left for others, so that nobody keeps others out with calls that take long.
const MAX_OPEN: usize = 256;
/// Chunks of one call that are forwarded. Bounds a server that never stops.
const MAX_CHUNKS: u64 = 100_000;
/// Content blocks in one chunk, and its size in bytes. Larger chunks are dropped.
const MAX_PIECES: usize = 256;
const MAX_CHUNK: u64 = 1 << 20;
pub(crate) struct OpenCall {
    pub(crate) key: u64,
    pub(crate) requester: Requester,
    pub(crate) responder: Responder,
    pub(crate) reverse_calls: ReverseCalls,
    pub(crate) correlation: Option<String>,
    /// The clock of the call's timeout. It stands still while a question or a reverse call is answered.
    pub(crate) timeout: PausableClock,
    chunks: AtomicU64,
    /// Whether another process could continue the call. True until work on its answers begins.
    parked: AtomicBool,
    /// The task that it has become.
    task: Mutex<Option<TaskEffects>>,
    ids: Mutex<Ids>,
}

/// The effects that were begun for a task, by their keys, and whose outcome its server does not know yet.
struct TaskEffects {
    id: String,
    begun: BTreeSet<String>,
}

/// The IDs by which a server refers to a call.
#[derive(Default)]
struct Ids {
    request: Option<RequestId>,
    progress: Option<ProgressToken>,
    call_id: Option<String>,
}

impl OpenCall {
    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock()
    }

    /// Whether the call's request with this id was given to the transport.
    pub(crate) fn has_sent(&self, id: &RequestId) -> bool {
        self.ids().request.as_ref() == Some(id)
    }

    /// Logs why a question of the server is refused, as long as the chain's limit on refusals allows it.
    pub(crate) fn log_refused(&self, reason: &str) {
        if self.reverse_calls.scope.lineage.take(TreeBudget::Refusals, 1).is_ok() {
            tracing::warn!(server = self.requester.server, "a question is refused: {}", single_line(reason));
        }
    }

    /// Marks the call as answering the server until the guard is dropped.
    pub(crate) fn answering(&self) -> PauseGuard {
        self.timeout.pause()
    }

    /// Tells the agent the point from which another process could continue.
    pub(crate) fn park(&self, point: ResumePoint) {
        self.parked.store(true, Ordering::Relaxed);
        self.emit(UpstreamCallEvent::Resumable(Some(point)));
    }

    /// The call is a task from now on.
    pub(crate) fn becomes_task(&self, id: String, begun: Vec<String>) {
        *self.task.lock() = Some(TaskEffects { id, begun: begun.into_iter().collect() });
    }

    /// From now on no other process can continue the call where it was parked.
    pub(crate) fn unpark(&self) {
        if self.parked.swap(false, Ordering::Relaxed) {
            self.emit(UpstreamCallEvent::Resumable(None));
        }
    }

    /// Called before something is done that must not be done twice. In a task, it has a key.
    pub(crate) fn begin_effect(&self, key: Option<String>) {
        self.unpark();
        let point = key.and_then(|key| {
            let mut task = self.task.lock();
            let TaskEffects { id, begun } = task.as_mut()?;
            begun.insert(key);
            Some(ResumePoint::Task { id: id.clone(), begun: begun.iter().cloned().collect() })
        });
        if let Some(point) = point {
            self.emit(UpstreamCallEvent::Resumable(Some(point)));
        }
    }

    /// The server of the task knows the outcome of this effect.
    pub(crate) fn end_effect(&self, key: &str) {
        if let Some(task) = self.task.lock().as_mut() {
            task.begun.remove(key);
        }
    }

    pub(crate) fn emit(&self, event: UpstreamCallEvent) {
        self.responder.on_call_event(&self.requester, event);
    }

    pub(crate) fn read_call_id(&self, meta: &Value) {
        let Some(id) = meta.get(CALL_META).and_then(Value::as_str) else { return };
        if id.is_empty() || id.len() > 128 {
            return;
        }
        let mut ids = self.ids();
        if ids.call_id.as_deref() != Some(id) {
            ids.call_id = Some(id.to_owned());
            drop(ids);
            self.emit(UpstreamCallEvent::CallId(id.to_owned()));
        }
    }

    fn read_chunk(&self, params: &Value, meta: &Value) {
        let Some(seq) = params["seq"].as_u64() else { return };
        let pieces = params["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        if pieces.is_empty() || pieces.len() > MAX_PIECES || self.chunks.fetch_add(1, Ordering::Relaxed) >= MAX_CHUNKS {
            return;
        }
        let piece = |piece: &Value| {
            let block: ContentBlock = serde_json::from_value(piece.clone()).ok()?;
            protocol::content::from_block(block).ok()
        };
        let content: Vec<Content> = pieces.iter().filter_map(piece).collect();
        if content.is_empty() || content.iter().map(Content::size).sum::<u64>() > MAX_CHUNK {
            return;
        }
        let origin = meta.get(CHUNK_ORIGIN_META).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let origin = origin.iter().take(32).filter_map(Value::as_str).map(single_line).collect();
        self.emit(UpstreamCallEvent::Chunk { seq, content, origin });
    }
}

/// All open calls of one server.
pub(crate) struct OpenCalls {
    calls: Mutex<HashMap<u64, Arc<OpenCall>>>,
    next: AtomicU64,
    /// Queues the notifications of lane `live`.
    live: mpsc::Sender<(String, Value)>,
    /// Limits log messages.
    messages: LineRate,
}

/// Keeps a call open until it is dropped.
pub(crate) struct OpenCallGuard {
    calls: Arc<OpenCalls>,
    call: Arc<OpenCall>,
}

impl OpenCallGuard {
    pub(crate) fn call(&self) -> &Arc<OpenCall> {
        &self.call
    }
}

impl Drop for OpenCallGuard {
    fn drop(&mut self) {
        self.call.reverse_calls.close();
        self.calls.all().remove(&self.call.key);
    }
}

impl OpenCalls {
    pub(crate) fn new(live: mpsc::Sender<(String, Value)>, messages: LineRate) -> Arc<Self> {
        Arc::new(Self { calls: Mutex::default(), next: AtomicU64::new(1), live, messages })
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u64, Arc<OpenCall>>> {
        self.calls.lock()
    }

    /// Opens a call. The error is how many calls its principal has, if it may have no more.
    pub(crate) fn open(
        self: &Arc<Self>,
        requester: Requester,
        responder: Responder,
        reverse_calls: ReverseCalls,
        correlation: Option<String>,
    ) -> Result<OpenCallGuard, usize> {
        let mut calls = self.all();
        let principal = &reverse_calls.scope.principal;
        let own = calls.values().filter(|call| call.reverse_calls.scope.principal == *principal).count();
        if own >= MAX_OPEN - calls.len() {
            return Err(own);
        }
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        let timeout = PausableClock::new(reverse_calls.scope.pausable_clock.unpaused().clone());
        let (chunks, parked, task, ids) = Default::default();
        let call =
            OpenCall { key, requester, responder, reverse_calls, correlation, timeout, chunks, parked, task, ids };
        let call = Arc::new(call);
        calls.insert(key, call.clone());
        drop(calls);
        Ok(OpenCallGuard { calls: self.clone(), call })
    }

    /// Finds the call that a server's request belongs to. Returns none when several calls match, so that a question
    /// never reaches a user whose call it is not about.
    pub(crate) fn find(
        &self,
        origin: Option<&RequestId>,
        parent: Option<&str>,
        correlation: Option<&str>,
    ) -> Option<Arc<OpenCall>> {
        let calls = self.all();
        if let Some(id) = origin {
            return calls.values().find(|call| call.ids().request.as_ref() == Some(id)).cloned();
        }
        if let Some(parent) = parent
            && let Some(call) = calls.values().find(|call| call.ids().call_id.as_deref() == Some(parent))
        {
            return Some(call.clone());
        }
        let mut matching = calls
            .values()
            .filter(|call| correlation.is_none_or(|correlation| call.correlation.as_deref() == Some(correlation)));
        match (matching.next(), matching.next()) {
            (Some(call), None) => Some(call.clone()),
            _ => None,
        }
    }

    fn by_token(&self, token: &ProgressToken) -> Option<Arc<OpenCall>> {
        self.all().values().find(|call| call.ids().progress.as_ref() == Some(token)).cloned()
    }
}

impl TransportObserver for OpenCalls {
    fn on_request(&self, request: &ClientRequest, id: &RequestId, token: Option<ProgressToken>) {
        let is_call = matches!(
            request,
            ClientRequest::CallToolRequest(_)
                | ClientRequest::ReadResourceRequest(_)
                | ClientRequest::GetPromptRequest(_)
                | ClientRequest::CompleteRequest(_)
        );
        if !is_call {
            return;
        }
        let token_key = request.get_meta().get(PARTIAL_RESULT_TOKEN_META).and_then(Value::as_u64);
        if let Some(call) = token_key.and_then(|key| self.all().get(&key).cloned()) {
            let mut ids = call.ids();
            (ids.request, ids.progress) = (Some(id.clone()), token);
        }
    }

    fn on_notification(&self, notification: ServerNotification) -> Option<ServerNotification> {
        let meta = Value::Object(notification.get_meta().0.0.clone());
        match notification {
            ServerNotification::CustomNotification(message) if message.method == PARTIAL_RESULT_NOTIFICATION => {
                let params = message.params.as_ref()?;
                let call = params["token"].as_u64().and_then(|key| self.all().get(&key).cloned())?;
                call.read_call_id(&meta);
                call.read_chunk(params, &meta);
                None
            }
            ServerNotification::CustomNotification(message) if message.method.starts_with(LIVE_PREFIX) => {
                // When the queue is full the call is dropped, and times out on the server.
                let _ = self.live.try_send((message.method.clone(), message.params.clone().unwrap_or_default()));
                None
            }
            ServerNotification::ProgressNotification(message) => {
                let Some(call) = self.by_token(&message.params.progress_token) else {
                    return Some(ServerNotification::ProgressNotification(message));
                };
                let inner = message.params.meta.as_ref().map(|meta| Value::Object(meta.0.0.clone()));
                let meta = inner.unwrap_or(meta);
                call.read_call_id(&meta);
                let (done, total) = (message.params.progress, message.params.total);
                let message = message.params.message.as_deref().map(single_line);
                if done.is_finite() {
                    call.emit(UpstreamCallEvent::Progress(ProgressReport { done, total, message }));
                }
                None
            }
            ServerNotification::LoggingMessageNotification(_) if !self.messages.passes() => None,
            ServerNotification::LoggingMessageNotification(message) => {
                let correlation = meta.get(CORRELATION_META).and_then(Value::as_str);
                let text = match &message.params.data {
                    Value::String(text) => single_line(text),
                    other => single_line(&other.to_string()),
                };
                if let Some(call) = self.find(None, None, correlation) {
                    call.emit(UpstreamCallEvent::Log(text));
                }
                None
            }
            other => Some(other),
        }
    }
}

#[cfg(test)]
mod tests;
