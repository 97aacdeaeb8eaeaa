//! Checkpoints: a call goes on from what its guest has saved, and its steps before that are forgotten.

use super::call_journal::{CallJournal, Handle};
use super::compaction::Compaction;
use super::entry::{RESTORED, bytes, encode};
use super::problem::JournalProblem;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;

/// What a guest has saved, and what its call had used by then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint<U> {
    #[serde(with = "bytes")]
    pub state: Vec<u8>,
    pub used: U,
}

/// The outcome of the step at which the guest asks for a checkpoint. The next step of the call has the number `next`.
#[derive(Serialize, Deserialize)]
struct Saved<U> {
    next: u32,
    checkpoint: Checkpoint<U>,
}

impl CallJournal {
    /// Marks where a later run begins: it repeats what comes before this step, and then goes on after the last checkpoint,
    /// which is returned. To be called once.
    pub async fn restored<U: Serialize + DeserializeOwned>(&self) -> Option<Checkpoint<U>> {
        let handle = self.shared()?;
        let step = self.begin(RESTORED, &());
        let number = handle.next.load(Ordering::Relaxed) - 1;
        let recorded: Option<Saved<U>> = step.ask(async { None }).await;
        // It is called once.
        let _ = handle.restored.set(number);
        let Saved { next, checkpoint } = recorded?;
        handle.next.store(next, Ordering::Relaxed);
        handle.start.begins();
        Some(checkpoint)
    }

    /// Saves a checkpoint. Returns when it is stored in the place of all steps since [`Self::restored`], which must have been
    /// called.
    pub async fn save<U: Serialize>(&self, checkpoint: Checkpoint<U>) {
        let Some(handle) = self.shared() else { return };
        let Some(from) = handle.restored.get().copied() else { return };
        // This step takes a number, and nothing else is recorded of it.
        let next = handle.next.fetch_add(1, Ordering::Relaxed) + 1;
        handle.replaying.store(false, Ordering::Relaxed);
        handle.start.is_over();
        let outcome = encode(&Some(Saved { next, checkpoint }));
        let compaction = Compaction { call: handle.call.clone(), steps: from..next, outcome };
        if !handle.records.has_stopped()
            && let Err(error) = handle.records.compact(compaction).await
        {
            handle.records.stop(JournalProblem::store(error));
        }
        if handle.records.has_stopped() {
            // The guest of a call that has to end, or that goes on elsewhere, learns nothing more.
            std::future::pending::<()>().await;
        }
    }

    /// Bytes of all records of the tree of calls.
    pub fn recorded_bytes(&self) -> u64 {
        self.shared().map_or(0, |handle| handle.records.recorded_bytes())
    }

    fn shared(&self) -> Option<&Handle> {
        self.0.as_deref()
    }
}

#[cfg(test)]
mod tests;
