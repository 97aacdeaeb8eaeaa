//! A call of 2025-11-25 that waits for answers, kept with the stream of its request: whichever process serves the stream
//! later runs it again up to where it was, and asks again under the same ids.

use super::seal::RequestBinding;
use crate::client::pending::PendingQuestions;
use platform::clock::Clock;
use platform::durable::Answer;
use platform::sync::Mutex;
use rmcp::ErrorData;
use runtime::journal::{CallJournal, byte_strings};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is kept.
#[derive(Serialize, Deserialize)]
pub(crate) struct WaitingCall {
    /// The id of the call.
    pub(crate) call: String,
    /// What its request, its principal and its plugin's version have to be, for it to go on.
    pub(crate) binding: Vec<u8>,
    /// How long it has run, waiting not included; milliseconds.
    pub(crate) worked: u64,
    asked: Vec<Asked>,
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
    pub(crate) fn journal(&self, clock: Arc<dyn Clock>, binding: &RequestBinding) -> Result<CallJournal, ErrorData> {
        let ended = |why: &str| {
            let text = format!(
                "the server was stopped while this request waited for its client, and cannot go on with it: {why}; what it did before it asked was done"
            );
            ErrorData::internal_error(text, Some(json!({"kind": "interrupted"})))
        };
        if binding.to_bytes() != self.binding {
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
struct Asked {
    /// The step that asks, and the question's key there.
    step: String,
    key: String,
    /// Of the request to the client.
    id: i64,
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
    fn forget(&self) -> Answer<()>;
}

/// The stream of a request, in its extensions. Clones are the same.
#[derive(Clone)]
pub(crate) struct ResumableStream {
    store: Arc<dyn WaitingStore>,
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

/// Keeps a call whenever it asks something.
pub(crate) struct CallKeeper {
    store: Arc<dyn WaitingStore>,
    clock: Arc<dyn Clock>,
    journal: CallJournal,
    call: Arc<str>,
    binding: RequestBinding,
    /// What an earlier process has asked.
    earlier: Vec<Asked>,
    open: Vec<Asked>,
    /// How long it has run so far, waiting not included, and since when it runs; none while it waits.
    worked: Duration,
    runs_since: Option<Instant>,
}

impl CallKeeper {
    /// `earlier` is what an earlier process has kept.
    pub(crate) fn new(
        stream: &ResumableStream,
        clock: Arc<dyn Clock>,
        journal: CallJournal,
        call: Arc<str>,
        binding: RequestBinding,
        earlier: Option<&WaitingCall>,
    ) -> Self {
        let (store, now) = (stream.store.clone(), clock.now());
        let earlier = earlier.map(|kept| kept.asked.clone()).unwrap_or_default();
        let (worked, runs_since, open) = (journal.worked(), Some(now), Vec::new());
        Self { store, clock, journal, call, binding, earlier, open, worked, runs_since }
    }

    /// The ids under which the client is asked. The call is kept before the questions are sent.
    pub(super) fn ask(&mut self, pending: &PendingQuestions) -> Vec<i64> {
        let mut ids = Vec::new();
        for (key, _) in pending.questions() {
            let step = pending.step().unwrap_or_default();
            let was_asked = self.earlier.iter().position(|asked| asked.step == step && asked.key == *key);
            let asked = match was_asked {
                Some(at) => self.earlier.swap_remove(at),
                None => Asked { step: step.to_owned(), key: key.clone(), id: self.store.next_id() },
            };
            ids.push(asked.id);
            self.open.push(asked);
        }
        if let Some(since) = self.runs_since.take() {
            self.worked += self.clock.now().saturating_duration_since(since);
        }
        let keep = |steps| {
            let kept = WaitingCall {
                call: self.call.to_string(),
                binding: self.binding.to_bytes(),
                worked: u64::try_from(self.worked.as_millis()).unwrap_or(u64::MAX),
                // Those of an earlier process that it has not come to again are still asked.
                asked: self.open.iter().chain(&self.earlier).cloned().collect(),
                steps,
            };
            self.store.keep(&kept, &self.journal);
        };
        let store = self.store.clone();
        self.journal.keep_elsewhere(keep, Arc::new(move || store.forget()));
        ids
    }

    /// They are answered, or not asked any more.
    pub(super) fn end(&mut self, ids: &[i64]) {
        self.open.retain(|asked| !ids.contains(&asked.id));
        if self.open.is_empty() {
            self.runs_since.get_or_insert_with(|| self.clock.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::SystemClock;
    use policy::Principal;

    fn binding(plugin: &str) -> RequestBinding {
        RequestBinding::new(&Principal::anonymous(), "tools/call", "a__b", &json!({}), plugin, None)
    }

    #[test]
    fn another_version_of_a_plugin_does_not_go_on() {
        let steps = Vec::new();
        let kept = WaitingCall { call: "c".into(), binding: binding("v1").to_bytes(), worked: 5, asked: vec![], steps };
        let worked = |binding| kept.journal(Arc::new(SystemClock), &binding).map(|journal| journal.worked());
        assert_eq!(worked(binding("v1")).unwrap(), Duration::from_millis(5));
        let error = worked(binding("v2")).unwrap_err();
        assert!(error.message.contains("its plugin has changed"), "{error}");
        assert_eq!(error.data.unwrap()["kind"], "interrupted");
    }
}
