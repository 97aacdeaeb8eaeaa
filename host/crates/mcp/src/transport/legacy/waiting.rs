//! Calls that wait for their clients on streams that outlive the process.

use super::event_log::EventLog;
use super::message::interrupted;
use super::registry::{SessionRegistry, request_parts, storage_refusal};
use super::session::LegacySession;
use crate::calls::waiting_call::{ResumableStream, WaitingCall, WaitingStore};
use crate::request_context::RequestText;
use crate::transport::refusal::HttpRefusal;
use bytes::Bytes;
use platform::durable::{Answer, DurableError};
use platform::storage::{SessionStore, StreamKey, WaitingStream};
use platform::sync::Mutex;
use rmcp::model::{ClientJsonRpcMessage, Extensions, GetExtensions as _};
use runtime::journal::{CallJournal, decode, encode};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// What is stored with a stream.
#[derive(Serialize, Deserialize)]
struct Stored<R, C> {
    /// The request, as the client has sent it.
    request: R,
    call: C,
}

/// The stream of a request, as its call sees it.
pub(super) struct WaitingRequest {
    storage: SessionStore,
    key: StreamKey,
    text: Bytes,
    ids: Arc<AtomicI64>,
    /// Of the call that is kept; none while it does not wait.
    kept: Mutex<Option<CallJournal>>,
}

impl WaitingRequest {
    /// None if the request is too long to be kept.
    pub(super) fn new(
        storage: SessionStore,
        key: StreamKey,
        request: &Extensions,
        session: &LegacySession,
    ) -> Option<Arc<Self>> {
        let RequestText(text) = RequestText::from_message(request)?;
        Some(Arc::new(Self { storage, key, text, ids: session.ids.clone(), kept: Mutex::default() }))
    }

    /// If the call waits, it goes on in the next process: here it ends without a trace.
    pub(super) fn leave(&self) -> bool {
        let kept = self.kept.lock().take();
        kept.inspect(CallJournal::leave).is_some()
    }
}

impl WaitingStore for WaitingRequest {
    fn next_id(&self) -> i64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    fn keep(&self, call: &WaitingCall, journal: &CallJournal) {
        let text = str::from_utf8(&self.text).unwrap_or_default();
        // In the order of messages, which are stored before they are sent.
        drop(self.storage.keep_waiting(self.key, encode(&Stored { request: text, call })));
        *self.kept.lock() = Some(journal.clone());
    }

    fn forget(&self) -> Answer<()> {
        *self.kept.lock() = None;
        let removed = self.storage.forget_waiting(self.key);
        Box::pin(async { removed.await.map_err(DurableError::from) })
    }
}

/// Goes on with the calls of a session that wait for its client.
pub(super) async fn resume(registry: &SessionRegistry, session: &Arc<LegacySession>) -> Result<(), HttpRefusal> {
    let waiting = registry.storage.waiting(session.id.to_string()).await.map_err(storage_refusal)?;
    for WaitingStream { token, record, call } in waiting {
        let log = EventLog::new(registry.storage.clone(), token, false, &record);
        if start(registry, session, log.clone(), record.key, &call).await.is_none() {
            tracing::error!(session = &*session.id, "a call that waited for its client cannot go on");
            let id = record.request.and_then(|id| serde_json::from_str(&id).ok());
            // It cannot have ended before.
            let _ = log.append(interrupted(id), true);
        }
    }
    Ok(())
}

async fn start(
    registry: &SessionRegistry,
    session: &Arc<LegacySession>,
    log: Arc<EventLog>,
    key: StreamKey,
    stored: &[u8],
) -> Option<()> {
    let Stored::<String, WaitingCall> { request: text, call } = decode(stored)?;
    let ClientJsonRpcMessage::Request(mut request) = serde_json::from_str(&text).ok()? else { return None };
    let (storage, ids, kept) = (registry.storage.clone(), session.ids.clone(), Mutex::default());
    let waiting = Arc::new(WaitingRequest { storage, key, text: text.into(), ids, kept });
    session.expect_answers(&log.token, call.asked_ids());
    let extensions = request.request.extensions_mut();
    extensions.insert(request_parts(&session.principal));
    extensions.insert(ResumableStream::new(waiting.clone(), Some(call)));
    let active = registry.lifecycle.accept(|| true).ok()?;
    session.start_request(request, log, Some(waiting), active).await.ok()
}
