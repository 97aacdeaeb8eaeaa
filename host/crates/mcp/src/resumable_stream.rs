//! The stream of a request of 2025-11-25 that outlives the process, and what is kept with it of a call that waits for answers.

use platform::clock::Clock;
use platform::durable::StoreAnswer;
use platform::sync::Mutex;
use rmcp::ErrorData;
use runtime::journal::{CallJournal, byte_strings};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// What is kept.
#[derive(Serialize, Deserialize)]
pub(crate) struct WaitingCall {
    /// The id of the call.
    pub(crate) call: String,
    /// What its request, its principal and its plugin's version have to be, for it to go on.
    pub(crate) binding: Vec<u8>,
    /// How long it has run, waiting not included; milliseconds.
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

    /// The journal with which the call goes on, if its request and its plugin are still the same.
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
    /// The step that asks, and the question's key there.
    pub(crate) step: String,
    pub(crate) key: String,
    /// Of the request to the client.
    pub(crate) id: i64,
}

/// The id of a request to the client, in its extensions.
#[derive(Clone, Copy)]
pub(crate) struct QuestionId(pub(crate) i64);

/// Where a call is kept: a stream that outlives the process.
pub(crate) trait WaitingStore: Send + Sync {
    /// An id for another request to the client.
    fn next_id(&self) -> i64;

    /// Keeps the call, before anything that is sent on the stream from now on.
    fn keep(&self, call: &WaitingCall, journal: &CallJournal);

    /// The call goes on: what is kept is removed, before anything that is sent from now on.
    fn forget(&self) -> StoreAnswer<()>;
}

/// Whether all that was sent on the stream of a request is read, in its extensions.
#[derive(Clone)]
pub(crate) struct ReadState(pub(crate) Arc<dyn Fn() -> bool + Send + Sync>);

/// The stream of a request, in its extensions. Clones are the same.
#[derive(Clone)]
pub(crate) struct ResumableStream {
    pub(crate) store: Arc<dyn WaitingStore>,
    /// The call that goes on in this process.
    resumed: Arc<Mutex<Option<WaitingCall>>>,
}

impl ResumableStream {
    pub(crate) fn new(store: Arc<dyn WaitingStore>, resumed: Option<WaitingCall>) -> Self {
        Self { store, resumed: Arc::new(Mutex::new(resumed)) }
    }

    pub(crate) fn take_resumed(&self) -> Option<WaitingCall> {
        self.resumed.lock().take()
    }

    /// What is kept is outdated when the call goes on.
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
