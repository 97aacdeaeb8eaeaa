//! What a running call says, on the stream of the request it is served under: chunks and progress as notifications, and
//! questions in their place among them.
//!
//! The guest's side is a [`CallSink`] over a bounded queue, the wire's side a future that empties it: a reader that is
//! behind fills the queue, a full queue blocks the guest.

use super::content::{as_text, blocks};
use super::round::Pending;
use super::session;
use super::{PARTIAL_RESULT_NOTIFICATION, PARTIAL_RESULT_TOKEN, PARTIAL_RESULTS};
use crate::imports::{CallSink, Closed, Content, Level, Report};
use async_trait::async_trait;
use futures::future::BoxFuture;
use rmcp::model::{
    CustomNotification, LoggingMessageNotification, LoggingMessageNotificationParam, ProgressNotification,
    ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Chunks that may wait for the reader: with the largest chunks, 1 MiB a call.
const QUEUE: usize = 16;

pub(super) enum Event {
    Chunk(u64, Vec<Content>),
    Progress(Report),
    Log(Level, String),
    Ask(Pending),
}

/// The guest's side.
pub(super) struct Queue(mpsc::Sender<Event>);

impl Queue {
    /// Both sides of a call's queue.
    pub(super) fn new() -> (Self, Stream) {
        let (to, from) = mpsc::channel(QUEUE);
        (Self(to), Stream { from, last: None })
    }

    pub(super) fn sender(&self) -> mpsc::Sender<Event> {
        self.0.clone()
    }
}

#[async_trait]
impl CallSink for Queue {
    async fn chunk(&self, seq: u64, content: Vec<Content>) -> Result<(), Closed> {
        self.0.send(Event::Chunk(seq, content)).await.map_err(|_| Closed)
    }

    fn progress(&self, report: Report) {
        // A full queue means that the reader is behind; a newer report will come.
        let _ = self.0.try_send(Event::Progress(report));
    }

    fn log(&self, level: Level, message: &str) {
        // Likewise; the host's log has it in any case.
        let _ = self.0.try_send(Event::Log(level, message.to_owned()));
    }
}

/// How this client is told, decided by what it declared on this very request.
struct Form {
    /// `partial_result` notifications, with the client's own token if it gave one.
    partial: Option<Option<Value>>,
    progress: Option<ProgressToken>,
    /// Log messages from this level up.
    logs: Option<Level>,
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
            logs: session::logs(context),
        }
    }
}

/// Whether the client of this request reads anything of a call before its result.
pub(super) fn is_read(context: &RequestContext<RoleServer>) -> bool {
    let form = Form::of(context);
    form.partial.is_some() || form.progress.is_some() || form.logs.is_some()
}

/// The wire's side: empties the queue.
pub(super) struct Stream {
    from: mpsc::Receiver<Event>,
    last: Option<(f64, Option<f64>)>,
}

impl Stream {
    /// Sends what the call says until it asks something, or has said everything, or nobody reads any more.
    pub(super) fn forward(mut self, to: Outlet) -> BoxFuture<'static, (Self, Option<Pending>)> {
        Box::pin(async move {
            while let Some(event) = self.from.recv().await {
                let event = match event {
                    Event::Ask(pending) => return (self, Some(pending)),
                    event => event,
                };
                let Some(notification) = self.notification(event, &to.0.form) else { continue };
                if to.0.peer.send_notification(notification).await.is_err() {
                    // Nobody reads any more: the guest's next chunk fails.
                    self.from.close();
                    break;
                }
            }
            (self, None)
        })
    }

    fn notification(&mut self, event: Event, form: &Form) -> Option<ServerNotification> {
        match (event, form) {
            (Event::Chunk(seq, content), Form { partial: Some(token), .. }) => {
                let mut params = json!({ "seq": seq, "content": blocks(content) });
                if let Some(token) = token {
                    params["token"] = token.clone();
                }
                Some(ServerNotification::CustomNotification(CustomNotification::new(
                    PARTIAL_RESULT_NOTIFICATION,
                    Some(params),
                )))
            }
            (Event::Chunk(_, content), Form { progress: Some(token), .. }) => {
                // Progress must grow with every notification; the smallest step does not disturb what the guest reports.
                let (done, total) = self.last.map_or((0.0, None), |(done, total)| (done.next_up(), total));
                let report = Report { done, total, message: Some(as_text(&content)) };
                Some(progress(token.clone(), report, &mut self.last))
            }
            (Event::Progress(report), Form { progress: Some(token), .. }) => {
                // A chunk may already have stepped past this report.
                let grown = self.last.is_none_or(|(done, _)| report.done > done);
                grown.then(|| progress(token.clone(), report, &mut self.last))
            }
            (Event::Log(level, message), Form { logs: Some(from), .. }) if level >= *from => {
                let params = LoggingMessageNotificationParam::new(session::to_wire(level), message.into());
                Some(ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(params)))
            }
            _ => None,
        }
    }
}

fn progress(token: ProgressToken, report: Report, last: &mut Option<(f64, Option<f64>)>) -> ServerNotification {
    *last = Some((report.done, report.total));
    let mut params = ProgressNotificationParam::new(token, report.done);
    params.total = report.total;
    params.message = report.message;
    ServerNotification::ProgressNotification(ProgressNotification::new(params))
}
