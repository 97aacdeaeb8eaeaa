//! What a running call says, on the call's own stream: chunks and progress as notifications.
//!
//! The guest's side is a [`CallSink`] over a bounded queue, the wire's side a future that empties it: a reader that is
//! behind fills the queue, a full queue blocks the guest.

use super::content::{as_text, blocks};
use super::{PARTIAL_RESULT_NOTIFICATION, PARTIAL_RESULT_TOKEN, PARTIAL_RESULTS};
use crate::imports::{CallSink, Closed, Content, NoSink, Report};
use async_trait::async_trait;
use rmcp::model::{
    CustomNotification, GetExtensions as _, ProgressNotification, ProgressNotificationParam, ProgressToken, RequestId,
    ServerNotification,
};
use rmcp::service::{OriginatingRequestId, Peer, RequestContext, RoleServer};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Chunks that may wait for the reader: with the largest chunks, 1 MiB a call.
const QUEUE: usize = 16;

enum Event {
    Chunk(u64, Vec<Content>),
    Progress(Report),
}

struct Queue(mpsc::Sender<Event>);

#[async_trait]
impl CallSink for Queue {
    async fn chunk(&self, seq: u64, content: Vec<Content>) -> Result<(), Closed> {
        self.0.send(Event::Chunk(seq, content)).await.map_err(|_| Closed)
    }

    fn progress(&self, report: Report) {
        // A full queue means that the reader is behind; a newer report will come.
        let _ = self.0.try_send(Event::Progress(report));
    }
}

/// How this client is told, decided by what it declared on this very request.
struct Form {
    /// `partial_result` notifications, with the client's own token if it gave one.
    partial: Option<Option<Value>>,
    progress: Option<ProgressToken>,
}

/// The sink for a call, and what must run beside the call: none when the client reads nothing.
pub(super) fn open(context: &RequestContext<RoleServer>) -> (Arc<dyn CallSink>, Option<Forward>) {
    let declared =
        context.client_capabilities().and_then(|c| c.extensions).is_some_and(|e| e.contains_key(PARTIAL_RESULTS));
    let form = Form {
        partial: declared.then(|| context.meta.get(PARTIAL_RESULT_TOKEN).cloned()),
        progress: context.meta.get_progress_token(),
    };
    if form.partial.is_none() && form.progress.is_none() {
        return (Arc::new(NoSink), None);
    }
    let (to, from) = mpsc::channel(QUEUE);
    (
        Arc::new(Queue(to)),
        Some(Forward { from, form, peer: context.peer.clone(), request: context.id.clone(), last: None }),
    )
}

/// Empties the queue onto the wire.
pub(super) struct Forward {
    from: mpsc::Receiver<Event>,
    form: Form,
    peer: Peer<RoleServer>,
    request: RequestId,
    last: Option<(f64, Option<f64>)>,
}

impl Forward {
    /// Until the call is over and everything it said is sent.
    pub(super) async fn run(mut self) {
        while let Some(event) = self.from.recv().await {
            let Some(mut notification) = self.notification(event) else { continue };
            // Legacy sessions have a stream for each request and one for the rest; rmcp marks only requests itself.
            notification.extensions_mut().insert(OriginatingRequestId(self.request.clone()));
            if self.peer.send_notification(notification).await.is_err() {
                // Nobody reads any more: the guest's next chunk fails.
                self.from.close();
                return;
            }
        }
    }

    fn notification(&mut self, event: Event) -> Option<ServerNotification> {
        match (event, &self.form) {
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
