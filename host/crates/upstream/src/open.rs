//! Calls that are open on a server, and what belongs to each of them.

use super::offer::Offered;
use super::tap::Listener;
use super::voice::Voice;
use crate::{Asker, Heard};
use mcp::{self, CALL, CHUNK, CHUNK_ORIGIN, CORRELATION, PARTIAL_RESULT_NOTIFICATION, PARTIAL_RESULT_TOKEN};
use platform::telemetry::printable;
use rmcp::model::{ClientRequest, ContentBlock, GetMeta, ProgressToken, RequestId, ServerNotification};
use runtime::imports::{Content, Report};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Calls open on one server. Bounds what callers make us keep for a server that is slow.
pub(super) const MAX_OPEN: usize = 256;
/// Chunks of one call that are passed on. Bounds a server that never stops.
const MAX_CHUNKS: u64 = 100_000;
/// Pieces of one chunk, and bytes of one: what is more is dropped.
const MAX_PIECES: usize = 256;
const MAX_CHUNK: u64 = 1 << 20;
/// Text of one report or log message.
const MAX_TEXT: usize = 4 << 10;

/// One open call.
pub(super) struct OpenCall {
    pub(super) key: u64,
    pub(super) from: Asker,
    pub(super) voice: Voice,
    /// What the server may call meanwhile.
    pub(super) offered: Offered,
    pub(super) correlation: Option<String>,
    /// Questions and reverse calls that are being answered: the call's time stands still.
    answering: AtomicU32,
    chunks: AtomicU64,
    ids: Mutex<Ids>,
}

/// By which names a server means a call.
#[derive(Default)]
struct Ids {
    request: Option<RequestId>,
    progress: Option<ProgressToken>,
    named: Option<String>,
}

impl OpenCall {
    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While it is there, somebody answers the server.
    pub(super) fn answering(&self) -> impl Drop + '_ {
        self.answering.fetch_add(1, Ordering::Relaxed);
        Answering(&self.answering)
    }

    /// Whether somebody answers the server now.
    pub(super) fn is_answering(&self) -> bool {
        self.answering.load(Ordering::Relaxed) > 0
    }

    fn heard(&self, heard: Heard) {
        self.voice.heard(&self.from.task, heard);
    }

    fn named(&self, meta: &Value) {
        let Some(id) = meta.get(CALL).and_then(Value::as_str) else { return };
        if id.is_empty() || id.len() > 128 {
            return;
        }
        let mut ids = self.ids();
        if ids.named.as_deref() != Some(id) {
            ids.named = Some(id.to_owned());
            drop(ids);
            self.heard(Heard::Named(id.to_owned()));
        }
    }

    fn chunk(&self, params: &Value, meta: &Value) {
        let Some(seq) = params["seq"].as_u64() else { return };
        let pieces = params["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        if pieces.is_empty() || pieces.len() > MAX_PIECES || self.chunks.fetch_add(1, Ordering::Relaxed) >= MAX_CHUNKS {
            return;
        }
        let piece = |piece: &Value| {
            let block: ContentBlock = serde_json::from_value(piece.clone()).ok()?;
            mcp::content(block).ok()
        };
        let content: Vec<Content> = pieces.iter().filter_map(piece).collect();
        if content.is_empty() || content.iter().map(Content::size).sum::<u64>() > MAX_CHUNK {
            return;
        }
        let origin = meta.get(CHUNK_ORIGIN).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let origin = origin.iter().take(32).filter_map(Value::as_str).map(shortened).collect();
        self.heard(Heard::Chunk { seq, content, origin });
    }
}

struct Answering<'a>(&'a AtomicU32);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Text of a server's, fit to be shown in one line.
pub(super) fn shortened(text: &str) -> String {
    printable(&text[..text.floor_char_boundary(MAX_TEXT)]).into_owned()
}

/// All of them. What a server says that belongs to none of them is dropped, or handed on.
pub(super) struct OpenCalls {
    calls: Mutex<HashMap<u64, Arc<OpenCall>>>,
    next: AtomicU64,
    /// Notifications of calls over lane `live`.
    live: mpsc::Sender<(String, Value)>,
}

/// A call that is open until this is dropped.
pub(super) struct Opened {
    calls: Arc<OpenCalls>,
    call: Arc<OpenCall>,
}

impl Opened {
    /// The call.
    pub(super) fn call(&self) -> &Arc<OpenCall> {
        &self.call
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.call.offered.close();
        self.calls.all().remove(&self.call.key);
    }
}

impl OpenCalls {
    pub(super) fn new(live: mpsc::Sender<(String, Value)>) -> Arc<Self> {
        Arc::new(Self { calls: Mutex::default(), next: AtomicU64::new(1), live })
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u64, Arc<OpenCall>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a call, if there is room.
    pub(super) fn open(
        self: &Arc<Self>,
        from: Asker,
        voice: Voice,
        offered: Offered,
        correlation: Option<String>,
    ) -> Option<Opened> {
        let mut calls = self.all();
        if calls.len() >= MAX_OPEN {
            return None;
        }
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        let (answering, chunks, ids) = Default::default();
        let call = Arc::new(OpenCall { key, from, voice, offered, correlation, answering, chunks, ids });
        calls.insert(key, call.clone());
        drop(calls);
        Some(Opened { calls: self.clone(), call })
    }

    /// The call that a server's request belongs to. Where that cannot be told, it belongs to none: a question must never
    /// reach another user than the one whose call it is.
    pub(super) fn of(
        &self,
        origin: Option<&RequestId>,
        parent: Option<&str>,
        mark: Option<&str>,
    ) -> Option<Arc<OpenCall>> {
        let calls = self.all();
        if let Some(id) = origin {
            return calls.values().find(|call| call.ids().request.as_ref() == Some(id)).cloned();
        }
        if let Some(parent) = parent
            && let Some(call) = calls.values().find(|call| call.ids().named.as_deref() == Some(parent))
        {
            return Some(call.clone());
        }
        let mut fitting =
            calls.values().filter(|call| mark.is_none_or(|mark| call.correlation.as_deref() == Some(mark)));
        match (fitting.next(), fitting.next()) {
            (Some(call), None) => Some(call.clone()),
            _ => None,
        }
    }

    fn by_token(&self, token: &ProgressToken) -> Option<Arc<OpenCall>> {
        self.all().values().find(|call| call.ids().progress.as_ref() == Some(token)).cloned()
    }
}

impl Listener for OpenCalls {
    fn calls(&self, request: &ClientRequest, id: &RequestId, token: Option<ProgressToken>) {
        if !matches!(request, ClientRequest::CallToolRequest(_)) {
            return;
        }
        let ours = request.get_meta().get(PARTIAL_RESULT_TOKEN).and_then(Value::as_u64);
        if let Some(call) = ours.and_then(|key| self.all().get(&key).cloned()) {
            let mut ids = call.ids();
            (ids.request, ids.progress) = (Some(id.clone()), token);
        }
    }

    fn hears(&self, notification: ServerNotification) -> Option<ServerNotification> {
        let meta = Value::Object(notification.get_meta().0.0.clone());
        match notification {
            ServerNotification::CustomNotification(said) if said.method == PARTIAL_RESULT_NOTIFICATION => {
                let params = said.params.as_ref()?;
                let call = params["token"].as_u64().and_then(|key| self.all().get(&key).cloned())?;
                call.named(&meta);
                call.chunk(params, &meta);
                None
            }
            ServerNotification::CustomNotification(said) if said.method.starts_with(super::live::PREFIX) => {
                // A server that calls faster than we look loses calls, and hears so when they time out.
                let _ = self.live.try_send((said.method.clone(), said.params.clone().unwrap_or_default()));
                None
            }
            ServerNotification::ProgressNotification(said) => {
                let Some(call) = self.by_token(&said.params.progress_token) else {
                    return Some(ServerNotification::ProgressNotification(said));
                };
                let inner = said.params.meta.as_ref().map(|meta| Value::Object(meta.0.0.clone()));
                let meta = inner.unwrap_or(meta);
                call.named(&meta);
                match meta.get(CHUNK) {
                    Some(chunk) => call.chunk(chunk, &meta),
                    None => {
                        let (done, total) = (said.params.progress, said.params.total);
                        let message = said.params.message.as_deref().map(shortened);
                        if done.is_finite() {
                            call.heard(Heard::Progress(Report { done, total, message }));
                        }
                    }
                }
                None
            }
            ServerNotification::LoggingMessageNotification(said) => {
                let mark = meta.get(CORRELATION).and_then(Value::as_str);
                let text = match &said.params.data {
                    Value::String(text) => shortened(text),
                    other => shortened(&other.to_string()),
                };
                if let Some(call) = self.of(None, None, mark) {
                    call.heard(Heard::Log(text));
                }
                None
            }
            other => Some(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Offer;
    use crate::call::Under;
    use crate::offer::Chain;
    use platform::clock::{Clock, SystemClock};
    use policy::{Budget, Limits, Lineage, Principal};
    use runtime::engine::PausableDeadline;
    use runtime::imports::{NoClient, NoSink, Questions};

    fn opened(calls: &Arc<OpenCalls>, task: &str, mark: Option<&str>) -> Option<Opened> {
        let (limits, clock) = (Limits::default(), Arc::new(SystemClock));
        let (lineage, budget) = (Lineage::root("far.run".into(), &limits), Budget::root(&limits, clock.now()));
        let pausable_deadline = PausableDeadline::new(clock.clone());
        let under = Under {
            lineage: lineage.clone(),
            budget,
            pausable_deadline: pausable_deadline.clone(),
            held: 0,
            principal: Principal::local(),
            client: Arc::new(NoClient),
            sink: Arc::new(NoSink),
            questions: Questions::new(1),
            answer: std::time::Duration::from_secs(1),
            chain: None,
        };
        let voice = Voice::Client(crate::voice::Caller::new(&under).0);
        let agent = Arc::new(plugins::Nobody);
        let chain = Chain { lineage, budget, pausable_deadline, held: 0, principal: Principal::local(), agent };
        let from = Asker { server: "far".into(), plugin: None, task: task.into() };
        let offered = Offered::new(Offer::none(), chain, clock);
        calls.open(from, voice, offered, mark.map(str::to_owned))
    }

    #[test]
    fn what_may_belong_to_two_calls_belongs_to_none() {
        let calls = OpenCalls::new(mpsc::channel(1).0);
        assert!(calls.of(None, None, None).is_none(), "nothing is open");
        let one = opened(&calls, "one", Some("trip")).unwrap();
        let task = |found: Option<Arc<OpenCall>>| found.map(|call| call.from.task.clone());
        assert_eq!(task(calls.of(None, None, None)).as_deref(), Some("one"));
        assert_eq!(task(calls.of(None, None, Some("other"))), None);
        let two = opened(&calls, "two", Some("trip")).unwrap();
        assert_eq!(task(calls.of(None, None, None)), None);
        assert_eq!(task(calls.of(None, None, Some("trip"))), None, "a mark that two have tells nothing");
        let id = RequestId::Number(7);
        two.call().ids().request = Some(id.clone());
        two.call().named(&serde_json::json!({ CALL: "c-2" }));
        assert_eq!(task(calls.of(Some(&id), None, None)).as_deref(), Some("two"));
        assert_eq!(task(calls.of(Some(&RequestId::Number(8)), None, None)), None);
        assert_eq!(task(calls.of(None, Some("c-2"), None)).as_deref(), Some("two"));
        drop(two);
        assert_eq!(task(calls.of(None, None, None)).as_deref(), Some("one"));
        drop(one);
        assert!(calls.all().is_empty());
    }

    #[test]
    fn there_is_an_end_to_open_calls() {
        let calls = OpenCalls::new(mpsc::channel(1).0);
        let mut open: Vec<_> = (0..MAX_OPEN).map(|_| opened(&calls, "x", None).unwrap()).collect();
        assert!(opened(&calls, "x", None).is_none());
        open.pop();
        assert!(opened(&calls, "x", None).is_some());
    }
}
