//! Goes on with calls that were waiting for their client when an earlier process ended.

use super::event_log::EventLog;
use super::message::{interrupted, request_parts};
use super::session::LegacySession;
use super::waiting::{Stored, WaitingRequest};
use crate::resumable_stream::{ResumableStream, WaitingCall};
use crate::transport::request::lifecycle::Lifecycle;
use platform::storage::{SessionStore, StorageError, StreamKey, WaitingStream};
use rmcp::model::{ClientJsonRpcMessage, GetExtensions as _};
use runtime::journal::decode;
use std::sync::Arc;

/// Goes on with the calls of a session that wait for its client.
pub(super) async fn resume(
    storage: &SessionStore,
    lifecycle: &Lifecycle,
    session: &Arc<LegacySession>,
) -> Result<(), StorageError> {
    let waiting = storage.waiting(session.id.to_string()).await?;
    for WaitingStream { token, record, call } in waiting {
        let log = EventLog::new(storage.clone(), token, false, &record);
        if start(storage, lifecycle, session, (log.clone(), record.key), &call).await.is_none() {
            tracing::error!(session = &*session.id, "a call that waited for its client cannot go on");
            let id = record.request.and_then(|id| serde_json::from_str(&id).ok());
            // This is the first message that ends the stream, so it cannot fail.
            let _ = log.append(interrupted(id), true);
        }
    }
    Ok(())
}

async fn start(
    storage: &SessionStore,
    lifecycle: &Lifecycle,
    session: &Arc<LegacySession>,
    (log, key): (Arc<EventLog>, StreamKey),
    stored: &[u8],
) -> Option<()> {
    let Stored::<String, WaitingCall> { request: text, call } = decode(stored)?;
    let ClientJsonRpcMessage::Request(mut request) = serde_json::from_str(&text).ok()? else { return None };
    let waiting = WaitingRequest::resumed(storage.clone(), key, text.into(), session.ids.clone());
    session.expect_answers(&log.token, call.asked_ids());
    let extensions = request.request.extensions_mut();
    extensions.insert(request_parts(&session.principal));
    extensions.insert(ResumableStream::new(waiting.clone(), Some(call)));
    let active = lifecycle.accept(|| true).ok()?;
    session.start_request(request, log, Some(waiting), active).await.ok()
}
