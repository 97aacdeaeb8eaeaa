//! The format of notifications about a call, which the client chooses with each request.

use super::progress_token::ProgressToken;
use super::session;
use crate::request_context::declares;
use protocol::content::to_blocks;
use protocol::names::{
    CALL_META, CHUNK_ORIGIN_META, CORRELATION_META, PARTIAL_RESULT_NOTIFICATION, PARTIAL_RESULT_TOKEN_META,
    PARTIAL_RESULTS,
};
use rmcp::ErrorData;
use rmcp::model::{
    CustomNotification, JsonObject, LoggingMessageNotification, LoggingMessageNotificationParam, ServerNotification,
};
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::{Chunk, LogLevel, ProgressReport};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a client reads about a call before its result, and how.
pub(crate) struct NotificationFormat {
    /// `partial_result` notifications, with the client's own token if it gave one.
    partial: Option<Option<Value>>,
    progress: Option<ProgressToken>,
    /// Log messages from this level up.
    logs: Option<LogLevel>,
    /// Echoed on each notification.
    correlation: Option<Value>,
    /// The call's id, sent with each notification.
    call: Option<Arc<str>>,
}

impl NotificationFormat {
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Result<Self, ErrorData> {
        let partial_results = declares(context, PARTIAL_RESULTS);
        Ok(NotificationFormat {
            partial: partial_results.then(|| context.meta.get(PARTIAL_RESULT_TOKEN_META).cloned()),
            progress: ProgressToken::from_context(context)?,
            logs: session::min_log_level(context),
            correlation: context.meta.get(CORRELATION_META).cloned(),
            call: None,
        })
    }

    /// Adds the id of the call.
    pub(crate) fn with_call_id(self, call: &Arc<str>) -> Self {
        Self { call: Some(call.clone()), ..self }
    }

    /// Whether the client reads anything at all.
    pub(crate) fn is_read(&self) -> bool {
        self.reads_chunks() || self.reads_progress() || self.logs.is_some()
    }

    /// Whether the client reads chunks, as partial results.
    pub(crate) fn reads_chunks(&self) -> bool {
        self.partial.is_some()
    }

    pub(crate) fn reads_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// The notification of a chunk, for a client that reads chunks.
    pub(crate) fn chunk(&self, seq: u64, chunk: Chunk) -> Option<ServerNotification> {
        let token = self.partial.as_ref()?;
        let mut meta = self.meta();
        if !chunk.origin.is_empty() {
            meta.insert(CHUNK_ORIGIN_META.to_owned(), chunk.origin.into());
        }
        Some(self.partial(token, json!({ "seq": seq, "content": to_blocks(chunk.content) }), meta))
    }

    /// The notification of the end, if there was at least one chunk.
    pub(crate) fn end(&self, chunks: u64) -> Option<ServerNotification> {
        let token = self.partial.as_ref().filter(|_| chunks > 0)?;
        // A client that does not know `final` sees an empty chunk.
        Some(self.partial(token, json!({ "seq": chunks, "content": [], "final": true }), self.meta()))
    }

    pub(crate) fn progress(&self, report: ProgressReport) -> Option<ServerNotification> {
        Some(self.progress.as_ref()?.notification(report, self.meta()))
    }

    pub(crate) fn log(&self, level: LogLevel, message: String) -> Option<ServerNotification> {
        self.logs.filter(|from| level >= *from)?;
        let params = LoggingMessageNotificationParam::new(session::to_logging_level(level), message.into());
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
        let correlation = self.correlation.iter().map(|correlation| (CORRELATION_META.to_owned(), correlation.clone()));
        let call = self.call.iter().map(|call| (CALL_META.to_owned(), Value::from(&**call)));
        correlation.chain(call).collect()
    }
}
