//! In which form the client of a request is told what its call says, decided by what it declared on this very request.

use super::content::{as_text, blocks};
use super::{CALL, CHUNK, CORRELATION, PARTIAL_RESULT_NOTIFICATION, PARTIAL_RESULT_TOKEN, PARTIAL_RESULTS, session};
use rmcp::model::{
    CustomNotification, JsonObject, LoggingMessageNotification, LoggingMessageNotificationParam, MetaObject,
    NotificationMetaObject, ProgressNotification, ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::{Chunk, Level, Report};
use serde_json::{Value, json};
use services::shelf::CHUNK_ORIGIN;
use std::sync::Arc;

/// What a client reads before the result.
pub(super) struct Form {
    /// `partial_result` notifications, with the client's own token if it gave one.
    partial: Option<Option<Value>>,
    progress: Option<ProgressToken>,
    /// Log messages from this level up.
    logs: Option<Level>,
    /// The client's mark, echoed on each notification.
    correlation: Option<Value>,
    /// The call's id, likewise.
    call: Option<Arc<str>>,
}

/// The progress that a client has seen last, and of how much. It grows with every notification of a call.
pub(super) type Seen = Option<(f64, Option<f64>)>;

impl Form {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let declared =
            context.client_capabilities().and_then(|c| c.extensions).is_some_and(|e| e.contains_key(PARTIAL_RESULTS));
        Form {
            partial: declared.then(|| context.meta.get(PARTIAL_RESULT_TOKEN).cloned()),
            progress: context.meta.get_progress_token(),
            logs: session::logs(context),
            correlation: context.meta.get(CORRELATION).cloned(),
            call: None,
        }
    }

    /// For what this call says.
    pub(super) fn for_call(self, call: &Arc<str>) -> Self {
        Self { call: Some(call.clone()), ..self }
    }

    /// Whether the client reads anything at all.
    pub(super) fn is_read(&self) -> bool {
        self.takes_chunks() || self.logs.is_some()
    }

    /// Whether the client reads chunks, in one form or the other.
    pub(super) fn takes_chunks(&self) -> bool {
        self.partial.is_some() || self.progress.is_some()
    }

    /// A chunk.
    pub(super) fn chunk(&self, seq: u64, chunk: Chunk, seen: &mut Seen) -> Option<ServerNotification> {
        let Chunk { content, origin } = chunk;
        let mut meta = self.meta();
        if !origin.is_empty() {
            meta.insert(CHUNK_ORIGIN.to_owned(), origin.into());
        }
        if let Some(token) = &self.partial {
            return Some(self.partial(token, json!({ "seq": seq, "content": blocks(content) }), meta));
        }
        let token = self.progress.as_ref()?;
        // Progress must grow with every notification; the smallest step does not disturb what the guest reports.
        let (done, total) = seen.map_or((0.0, None), |(done, total)| (done.next_up(), total));
        let report = Report { done, total, message: Some(as_text(&content)) };
        meta.insert(CHUNK.to_owned(), json!({ "seq": seq, "content": blocks(content) }));
        Some(notification(token, report, meta, seen))
    }

    /// After the last of `chunks`. Where chunks are progress, the result is end enough.
    pub(super) fn end(&self, chunks: u64) -> Option<ServerNotification> {
        let token = self.partial.as_ref().filter(|_| chunks > 0)?;
        // With empty content, so that a client that knows nothing of ends sees an empty chunk.
        Some(self.partial(token, json!({ "seq": chunks, "content": [], "final": true }), self.meta()))
    }

    /// A report of the guest's.
    pub(super) fn progress(&self, report: Report, seen: &mut Seen) -> Option<ServerNotification> {
        let token = self.progress.as_ref()?;
        // A chunk may already have stepped past this report.
        let grown = seen.is_none_or(|(done, _)| report.done > done);
        grown.then(|| notification(token, report, self.meta(), seen))
    }

    /// A log message.
    pub(super) fn log(&self, level: Level, message: String) -> Option<ServerNotification> {
        self.logs.filter(|from| level >= *from)?;
        let params = LoggingMessageNotificationParam::new(session::to_wire(level), message.into());
        Some(ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(params)))
    }

    fn partial(&self, token: &Option<Value>, mut params: Value, meta: JsonObject) -> ServerNotification {
        if let Some(token) = token {
            params["token"] = token.clone();
        }
        if !meta.is_empty() {
            params["_meta"] = Value::Object(meta);
        }
        let notification = CustomNotification::new(PARTIAL_RESULT_NOTIFICATION, Some(params));
        ServerNotification::CustomNotification(notification)
    }

    /// `_meta` of every chunk and report.
    fn meta(&self) -> JsonObject {
        let correlation = self.correlation.iter().map(|correlation| (CORRELATION.to_owned(), correlation.clone()));
        let call = self.call.iter().map(|call| (CALL.to_owned(), Value::from(&**call)));
        correlation.chain(call).collect()
    }
}

fn notification(token: &ProgressToken, report: Report, meta: JsonObject, seen: &mut Seen) -> ServerNotification {
    *seen = Some((report.done, report.total));
    let mut params = ProgressNotificationParam::new(token.clone(), report.done);
    params.total = report.total;
    params.message = report.message;
    params.meta = (!meta.is_empty()).then_some(NotificationMetaObject(MetaObject(meta)));
    ServerNotification::ProgressNotification(ProgressNotification::new(params))
}
