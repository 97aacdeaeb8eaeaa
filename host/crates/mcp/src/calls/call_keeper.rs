//! Keeps a call of 2025-11-25 with the stream of its request while it waits for answers: whichever process serves the stream
//! later runs it again up to where it was, and asks again under the same ids.

use super::seal::RequestBinding;
use crate::client::pending::PendingQuestions;
use crate::resumable_stream::{Asked, ResumableStream, WaitingCall, WaitingStore};
use platform::clock::Clock;
use runtime::journal::CallJournal;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
