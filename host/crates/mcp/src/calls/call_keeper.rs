//! Stores a call of 2025-11-25 with the stream of its request while it waits for answers: a process that serves the stream
//! later runs the call again up to where it was, and asks again under the same ids.

use super::seal::RequestBinding;
use crate::client::pending::PendingQuestions;
use crate::resumable_stream::{OpenQuestion, ResumableStream, WaitingCall, WaitingStore};
use runtime::journal::CallJournal;
use std::sync::Arc;

/// Stores a call whenever it asks something.
pub(crate) struct CallKeeper {
    store: Arc<dyn WaitingStore>,
    journal: CallJournal,
    call: Arc<str>,
    binding: RequestBinding,
    /// The questions that an earlier process has asked.
    earlier: Vec<OpenQuestion>,
    open: Vec<OpenQuestion>,
}

impl CallKeeper {
    /// `earlier` is the call as an earlier process has stored it.
    pub(crate) fn new(
        stream: &ResumableStream,
        journal: CallJournal,
        call: Arc<str>,
        binding: RequestBinding,
        earlier: Option<&WaitingCall>,
    ) -> Self {
        let earlier = earlier.map(|kept| kept.asked.clone()).unwrap_or_default();
        Self { store: stream.store.clone(), journal, call, binding, earlier, open: Vec::new() }
    }

    /// Returns the ids for these questions to the client. The call is stored before the questions are sent.
    pub(super) fn ask(&mut self, pending: &PendingQuestions) -> Vec<i64> {
        let mut ids = Vec::new();
        for (key, _) in pending.questions() {
            let step = pending.step().unwrap_or_default();
            let was_asked = self.earlier.iter().position(|asked| asked.step == step && asked.key == *key);
            let asked = match was_asked {
                Some(at) => self.earlier.swap_remove(at),
                None => OpenQuestion { step: step.to_owned(), key: key.clone(), id: self.store.next_id() },
            };
            ids.push(asked.id);
            self.open.push(asked);
        }
        let keep = |steps| {
            let kept = WaitingCall {
                call: self.call.to_string(),
                binding: self.binding.to_bytes(),
                worked: u64::try_from(self.journal.worked().as_millis()).unwrap_or(u64::MAX),
                // Questions of an earlier process that this run has not reached yet are still open.
                asked: self.open.iter().chain(&self.earlier).cloned().collect(),
                steps,
            };
            self.store.keep(&kept, &self.journal);
        };
        let store = self.store.clone();
        self.journal.keep_elsewhere(keep, Arc::new(move || store.forget()));
        ids
    }

    /// Forgets questions that are answered, or not asked any more.
    pub(super) fn end(&mut self, ids: &[i64]) {
        self.open.retain(|asked| !ids.contains(&asked.id));
    }
}
