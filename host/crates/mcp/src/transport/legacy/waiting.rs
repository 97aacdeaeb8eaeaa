//! Stores a call that waits for its client together with the stream of its request.

use crate::request_context::RequestText;
use crate::resumable_stream::{WaitingCall, WaitingStore};
use bytes::Bytes;
use platform::durable::{DurableError, StoreAnswer};
use platform::storage::{SessionStore, StreamKey};
use platform::sync::Mutex;
use rmcp::model::Extensions;
use runtime::journal::{CallJournal, encode};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The data that is stored with a stream.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored<R, C> {
    /// The request, as the client has sent it.
    pub(super) request: R,
    pub(super) call: C,
}

/// The stream of a request, for the use of its call.
pub(super) struct WaitingRequest {
    storage: SessionStore,
    key: StreamKey,
    text: Bytes,
    /// The id of the session's next request to its client.
    ids: Arc<AtomicI64>,
    /// The journal of the call that is stored; none while the call does not wait.
    kept: Mutex<Option<CallJournal>>,
}

impl WaitingRequest {
    /// None if the request is too long to be stored.
    pub(super) fn new(
        storage: SessionStore,
        key: StreamKey,
        request: &Extensions,
        ids: Arc<AtomicI64>,
    ) -> Option<Arc<Self>> {
        let RequestText(text) = RequestText::from_message(request)?;
        Some(Self::resumed(storage, key, text, ids))
    }

    /// The stream of a request that an earlier process has begun.
    pub(super) fn resumed(storage: SessionStore, key: StreamKey, text: Bytes, ids: Arc<AtomicI64>) -> Arc<Self> {
        Arc::new(Self { storage, key, text, ids, kept: Mutex::default() })
    }

    /// If the call waits, leaves it to the next process. In this process it then ends without a trace.
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
        // The store keeps the order of these requests, and messages are stored before they are sent.
        if self.storage.keep_waiting(self.key, encode(&Stored { request: text, call })) {
            *self.kept.lock() = Some(journal.clone());
        }
    }

    fn forget(&self) -> StoreAnswer<()> {
        *self.kept.lock() = None;
        let removed = self.storage.forget_waiting(self.key);
        Box::pin(async { removed.await.map_err(DurableError::from) })
    }
}
