//! What a running call says, on the stream of the request it is served under: chunks and progress as notifications, and
//! questions in their place among them.
//!
//! The guest's side is a [`CallSink`] over a bounded queue, the wire's side a future that empties it: a reader that is
//! behind fills the queue, a full queue blocks the guest or, if its operator prefers that, drops the oldest chunk.

use super::content::{as_text, blocks};
use super::record::Record;
use super::round::Pending;
use super::{CHUNK, CORRELATION, PARTIAL_RESULT_NOTIFICATION, PARTIAL_RESULT_TOKEN, PARTIAL_RESULTS};
use crate::imports::{CallSink, Closed, Content, Report};
use crate::policy::Overflow;
use async_trait::async_trait;
use futures::future::BoxFuture;
use rmcp::model::{
    CustomNotification, JsonObject, MetaObject, NotificationMetaObject, ProgressNotification,
    ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// Chunks that may wait for the reader: with the largest chunks, 1 MiB a call.
const QUEUE: usize = 16;

pub(super) enum Event {
    Chunk(u64, Vec<Content>),
    /// There is something in the ring.
    Ring,
    Progress(Report),
    Ask(Pending),
}

/// The newest chunks of a call whose oldest may be dropped.
#[derive(Clone, Default)]
struct Ring(Arc<Mutex<VecDeque<(u64, Vec<Content>)>>>);

impl Ring {
    fn push(&self, seq: u64, content: Vec<Content>) {
        let mut chunks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if chunks.len() >= QUEUE {
            chunks.pop_front();
        }
        chunks.push_back((seq, content));
    }

    fn pop(&self) -> Option<Event> {
        let (seq, content) = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()?;
        Some(Event::Chunk(seq, content))
    }
}

/// The guest's side.
pub(super) struct Queue {
    to: mpsc::Sender<Event>,
    overflow: Overflow,
    ring: Ring,
}

impl Queue {
    /// Both sides of a call's queue.
    pub(super) fn new(overflow: Overflow, record: Record) -> (Self, Stream) {
        let (to, from) = mpsc::channel(QUEUE);
        let ring = Ring::default();
        (Self { to, overflow, ring: ring.clone() }, Stream { from, ring, record, last: None })
    }

    pub(super) fn sender(&self) -> mpsc::Sender<Event> {
        self.to.clone()
    }
}

#[async_trait]
impl CallSink for Queue {
    async fn chunk(&self, seq: u64, content: Vec<Content>) -> Result<(), Closed> {
        match self.overflow {
            Overflow::Block => self.to.send(Event::Chunk(seq, content)).await.map_err(|_| Closed),
            Overflow::DropOldest => {
                self.ring.push(seq, content);
                // The ring is looked into before every event, so a queue that is full needs no further one.
                if let Err(mpsc::error::TrySendError::Closed(_)) = self.to.try_send(Event::Ring) {
                    return Err(Closed);
                }
                // The wire's side runs beside the guest: without this it would come in only at the next epoch tick.
                tokio::task::yield_now().await;
                Ok(())
            }
        }
    }

    fn progress(&self, report: Report) {
        // A full queue means that the reader is behind; a newer report will come.
        let _ = self.to.try_send(Event::Progress(report));
    }
}

/// How this client is told, decided by what it declared on this very request.
struct Form {
    /// `partial_result` notifications, with the client's own token if it gave one.
    partial: Option<Option<Value>>,
    progress: Option<ProgressToken>,
    /// The client's mark, echoed on each notification.
    correlation: Option<Value>,
}

/// Where a request's notifications go, and in which form.
#[derive(Clone)]
pub(super) struct Outlet(Arc<Shared>);

struct Shared {
    form: Form,
    peer: Peer<RoleServer>,
}

impl Outlet {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self(Arc::new(Shared { form: Form::of(context), peer: context.peer.clone() }))
    }
}

impl Form {
    fn of(context: &RequestContext<RoleServer>) -> Self {
        let declared =
            context.client_capabilities().and_then(|c| c.extensions).is_some_and(|e| e.contains_key(PARTIAL_RESULTS));
        Form {
            partial: declared.then(|| context.meta.get(PARTIAL_RESULT_TOKEN).cloned()),
            progress: context.meta.get_progress_token(),
            correlation: context.meta.get(CORRELATION).cloned(),
        }
    }

    /// `_meta` of every notification.
    fn meta(&self) -> JsonObject {
        self.correlation.iter().map(|correlation| (CORRELATION.to_owned(), correlation.clone())).collect()
    }

    fn partial(&self, token: &Option<Value>, mut params: Value) -> ServerNotification {
        if let Some(token) = token {
            params["token"] = token.clone();
        }
        let meta = self.meta();
        if !meta.is_empty() {
            params["_meta"] = Value::Object(meta);
        }
        let notification = CustomNotification::new(PARTIAL_RESULT_NOTIFICATION, Some(params));
        ServerNotification::CustomNotification(notification)
    }

    /// After the last of `chunks`. Where chunks are progress, the result is end enough.
    fn end(&self, chunks: u64) -> Option<ServerNotification> {
        let token = self.partial.as_ref().filter(|_| chunks > 0)?;
        // Without content, so that a client that knows nothing of ends sees an empty chunk.
        Some(self.partial(token, json!({ "seq": chunks, "content": [], "final": true })))
    }
}

/// Whether the client of this request reads anything of a call before its result.
pub(super) fn is_read(context: &RequestContext<RoleServer>) -> bool {
    let form = Form::of(context);
    form.partial.is_some() || form.progress.is_some()
}

/// The wire's side: empties the queue.
pub(super) struct Stream {
    from: mpsc::Receiver<Event>,
    ring: Ring,
    record: Record,
    last: Option<(f64, Option<f64>)>,
}

impl Stream {
    /// What became of the chunks.
    pub(super) fn record(&self) -> Record {
        self.record.clone()
    }

    /// Sends what the call says until it asks something, or has said everything, or nobody reads any more.
    pub(super) fn forward(mut self, to: Outlet) -> BoxFuture<'static, (Self, Option<Pending>)> {
        Box::pin(async move {
            while let Some(event) = self.next().await {
                let event = match event {
                    Event::Ask(pending) => return (self, Some(pending)),
                    event => event,
                };
                let Some(notification) = self.notification(event, &to.0.form) else { continue };
                if to.0.peer.send_notification(notification).await.is_err() {
                    // Nobody reads any more: the guest's next chunk fails.
                    self.from.close();
                    return (self, None);
                }
            }
            if let Some(end) = to.0.form.end(self.record.given()) {
                // Whoever misses it reads the same in the result.
                let _ = to.0.peer.send_notification(end).await;
            }
            (self, None)
        })
    }

    async fn next(&mut self) -> Option<Event> {
        match self.ring.pop() {
            Some(chunk) => Some(chunk),
            None => self.from.recv().await,
        }
    }

    fn notification(&mut self, event: Event, form: &Form) -> Option<ServerNotification> {
        match (event, form) {
            (Event::Chunk(seq, content), Form { partial: Some(token), .. }) => {
                self.record.sent(seq, &content);
                Some(form.partial(token, json!({ "seq": seq, "content": blocks(content) })))
            }
            (Event::Chunk(seq, content), Form { progress: Some(token), .. }) => {
                self.record.sent(seq, &content);
                // Progress must grow with every notification; the smallest step does not disturb what the guest reports.
                let (done, total) = self.last.map_or((0.0, None), |(done, total)| (done.next_up(), total));
                let report = Report { done, total, message: Some(as_text(&content)) };
                let chunk = json!({ "seq": seq, "content": blocks(content) });
                let mut meta = form.meta();
                meta.insert(CHUNK.to_owned(), chunk);
                Some(progress(token.clone(), report, meta, &mut self.last))
            }
            (Event::Chunk(seq, content), _) => {
                self.record.log(seq, content);
                None
            }
            (Event::Progress(report), Form { progress: Some(token), .. }) => {
                // A chunk may already have stepped past this report.
                let grown = self.last.is_none_or(|(done, _)| report.done > done);
                grown.then(|| progress(token.clone(), report, form.meta(), &mut self.last))
            }
            _ => None,
        }
    }
}

fn progress(
    token: ProgressToken,
    report: Report,
    meta: JsonObject,
    last: &mut Option<(f64, Option<f64>)>,
) -> ServerNotification {
    *last = Some((report.done, report.total));
    let mut params = ProgressNotificationParam::new(token, report.done);
    params.total = report.total;
    params.message = report.message;
    params.meta = (!meta.is_empty()).then(|| NotificationMetaObject(MetaObject(meta)));
    ServerNotification::ProgressNotification(ProgressNotification::new(params))
}
