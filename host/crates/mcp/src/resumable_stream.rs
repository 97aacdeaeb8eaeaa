//! The stream of a request of 2025-11-25 that outlives the process, and the call stored with it while the call waits for
//! answers.

use platform::clock::Clock;
use platform::durable::StoreAnswer;
use platform::sync::Mutex;
use rmcp::ErrorData;
use runtime::journal::{CallJournal, byte_strings};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The stored form of a call that waits.
#[derive(Serialize, Deserialize)]
pub(crate) struct WaitingCall {
    /// The id of the call.
    pub(crate) call: String,
    /// The request, the principal and the version of the plugin must match this, so that the call can go on.
    pub(crate) binding: Vec<u8>,
    /// How long it has run without waiting, in milliseconds.
    pub(crate) worked: u64,
    pub(crate) asked: Vec<OpenQuestion>,
    /// Its journal.
    #[serde(with = "byte_strings")]
    pub(crate) steps: Vec<Vec<u8>>,
}

impl WaitingCall {
    /// The ids of the questions that its client was asked.
    pub(crate) fn asked_ids(&self) -> impl Iterator<Item = i64> {
        self.asked.iter().map(|asked| asked.id)
    }

    /// The journal with which the call goes on, if its request and its plugin are unchanged.
    pub(crate) fn journal(&self, clock: Arc<dyn Clock>, binding: &[u8]) -> Result<CallJournal, ErrorData> {
        let ended = |why: &str| {
            let text = format!(
                "the server was stopped while this request waited for its client, and cannot go on with it: {why}; what it did before it asked was done"
            );
            ErrorData::internal_error(text, Some(json!({"kind": "interrupted"})))
        };
        if self.binding != binding {
            return Err(ended("its plugin has changed"));
        }
        CallJournal::resumed(clock, self.steps.clone(), Duration::from_millis(self.worked)).map_err(|error| {
            tracing::error!(%error, call = self.call, "a call that waited for its client cannot go on");
            ended("what was stored of it cannot be read, and the server's log has the details")
        })
    }
}

/// A question that waits for its answer.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenQuestion {
    /// The step that asks, and the key of the question in that step.
    pub(crate) step: String,
    pub(crate) key: String,
    /// The id of the request to the client.
    pub(crate) id: i64,
}

/// An extension of a request to the client, which sets its id.
#[derive(Clone, Copy)]
pub(crate) struct QuestionId(pub(crate) i64);

/// A store for one call: the stream of its request, if that outlives the process.
pub(crate) trait WaitingStore: Send + Sync {
    /// An id for another request to the client.
    fn next_id(&self) -> i64;

    /// Stores the call before anything that is sent on the stream after this.
    fn keep(&self, call: &WaitingCall, journal: &CallJournal);

    /// Removes the stored call, because it goes on, before anything that is sent on the stream after this.
    fn forget(&self) -> StoreAnswer<()>;
}

/// An extension of a request, which tells whether everything that was sent on its stream has been read.
#[derive(Clone)]
pub(crate) struct ReadState(pub(crate) Arc<dyn Fn() -> bool + Send + Sync>);

/// An extension of a request: its stream. Clones refer to the same stream.
#[derive(Clone)]
pub(crate) struct ResumableStream {
    pub(crate) store: Arc<dyn WaitingStore>,
    /// The stored call that goes on in this process.
    resumed: Arc<Mutex<Option<WaitingCall>>>,
}

impl ResumableStream {
    pub(crate) fn new(store: Arc<dyn WaitingStore>, resumed: Option<WaitingCall>) -> Self {
        Self { store, resumed: Arc::new(Mutex::new(resumed)) }
    }

    pub(crate) fn take_resumed(&self) -> Option<WaitingCall> {
        self.resumed.lock().take()
    }

    /// Makes `journal` remove the stored call when the call goes on, since it is outdated from then on.
    pub(crate) fn keeps(&self, journal: &CallJournal) {
        let store = self.store.clone();
        journal.is_kept_elsewhere(Arc::new(move || store.forget()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::SystemClock;

    #[test]
    fn another_version_of_a_plugin_does_not_go_on() {
        let steps = Vec::new();
        let kept = WaitingCall { call: "c".into(), binding: b"v1".to_vec(), worked: 5, asked: vec![], steps };
        let worked = |binding: &[u8]| kept.journal(Arc::new(SystemClock), binding).map(|journal| journal.worked());
        assert_eq!(worked(b"v1").unwrap(), Duration::from_millis(5));
        let error = worked(b"v2").unwrap_err();
        assert!(error.message.contains("its plugin has changed"), "{error}");
        assert_eq!(error.data.unwrap()["kind"], "interrupted");
    }
}
