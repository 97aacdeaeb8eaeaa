//! Stores the state of a task while it runs, and how it ended.

use crate::tasks::records::asked::AskedQuestions;
use crate::tasks::records::fuel::TaskFuel;
use crate::tasks::records::keys::Part;
use crate::tasks::records::record::{Suspended, TaskRecord, TaskState};
use crate::tasks::records::shown_calls::ShownCalls;
use crate::tasks::records::table::TaskId;
use crate::tasks::tasks::Tasks;
use platform::durable::{Durability, DurableError, Expected, Revision};
use platform::text::truncate_chars;
use rmcp::model::JsonObject;
use runtime::engine::FuelAccount;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// Time between two stored messages about a task's progress. Bounds the disk writes of a tool that reports all the time.
const MESSAGE_PAUSE: Duration = Duration::from_millis(500);
/// Time before a change that could not be stored is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// How long a result waits for room in the store. After that, the task ends without the result. Together with the number of
/// tasks, this bounds how many results wait in memory.
const PATIENCE: Duration = Duration::from_secs(300);
/// Characters that are kept of the message of a failed call, if there is no room for the whole result.
const MAX_SAID: usize = 400;

/// The state of a running task. A change of the message alone may be stored later.
#[derive(Debug, Clone, Default)]
pub(in crate::tasks) struct TaskProgress {
    pub(in crate::tasks) message: Option<String>,
    pub(in crate::tasks) requests: Map<String, Value>,
    pub(in crate::tasks) calls: ShownCalls,
    pub(in crate::tasks) asked: Arc<AskedQuestions>,
    pub(in crate::tasks) fuel: TaskFuel,
    pub(in crate::tasks) suspended: Option<Suspended>,
    /// Counts the changes of everything but the message.
    pub(in crate::tasks) version: u64,
}

impl TaskProgress {
    /// The state in which an earlier process has left the task.
    pub(in crate::tasks) fn new(record: &TaskRecord, asked: &AskedQuestions) -> Self {
        let (message, fuel) = (record.message.clone(), record.fuel.clone());
        Self { message, fuel, requests: record.requests(), asked: Arc::new(asked.clone()), ..Self::default() }
    }
}

/// The record of a running task. Only this process changes it.
pub(in crate::tasks) struct Recorder {
    pub(in crate::tasks) tasks: Arc<Tasks>,
    pub(in crate::tasks) id: TaskId,
    pub(in crate::tasks) record: TaskRecord,
    pub(in crate::tasks) revision: Revision,
}

/// Another process has ended, removed or taken over the task.
pub(in crate::tasks) struct Superseded;

impl Recorder {
    /// Stores changes until another process takes the task over. Sends each version that is stored to `stored`. `fuel` is the
    /// account of the call.
    pub(in crate::tasks) async fn follow(
        &mut self,
        mut progress: watch::Receiver<TaskProgress>,
        stored: &watch::Sender<u64>,
        fuel: Option<FuelAccount>,
    ) -> Superseded {
        let (mut version, mut is_stored) = (0, true);
        let mut pause = Box::pin(sleep(Duration::ZERO));
        loop {
            if is_stored {
                if progress.changed().await.is_err() {
                    return std::future::pending().await;
                }
                tokio::select! {
                    () = &mut pause => {}
                    _ = progress.wait_for(|now| now.version != version) => {}
                }
            } else {
                sleep(RETRY).await;
            }
            let now = progress.borrow_and_update().clone();
            let mut asked_is_stored = None;
            if version != now.version
                && let Some(key) = Part::Asked.key(&self.id)
            {
                let asked = now.asked.to_bytes();
                // Questions and answers are stored even if there is no room for them by now.
                let _ = self.tasks.count_part(&self.id, Part::Asked, asked.len());
                // The store takes this request before that of the record.
                asked_is_stored = Some(self.tasks.store.put(&key, asked, Expected::Any, Durability::Process));
            }
            (self.record.calls, self.record.fuel, self.record.suspended) = (now.calls, now.fuel, now.suspended);
            self.count_fuel(fuel.as_ref());
            let saved = self.save(TaskState::open(now.requests), now.message, Durability::Process).await;
            let asked = match asked_is_stored {
                Some(stored) => stored.await.map(drop),
                None => Ok(()),
            };
            match saved.and_then(|saved| asked.map(|()| saved)) {
                Ok(true) => {}
                Ok(false) => return Superseded,
                // This version is not reported as stored. If the state changes before the next attempt, the newest state is
                // stored.
                Err(error) => {
                    if is_stored {
                        tracing::error!(task = &*self.id, %error, "how a task stands cannot be stored; trying again");
                    }
                    is_stored = false;
                    continue;
                }
            }
            (version, is_stored) = (now.version, true);
            stored.send_replace(version);
            pause = Box::pin(sleep(MESSAGE_PAUSE));
        }
    }

    /// Copies what the call has used by now into the record.
    pub(in crate::tasks) fn count_fuel(&mut self, account: Option<&FuelAccount>) {
        if let Some(account) = account {
            let fuel = &mut self.record.fuel;
            (fuel.used, fuel.limit) = (fuel.used.max(account.used()), account.limit().or(fuel.limit));
        }
    }

    /// Stores how the task ended. Retries until that succeeds, or until another process owns the task.
    pub(in crate::tasks) async fn end(&mut self, state: TaskState, message: Option<String>, usage: Option<Value>) {
        self.record.usage = usage;
        let (mut state, mut waited) = (state, Duration::ZERO);
        loop {
            match self.save(state.clone(), message.clone(), Durability::Power).await {
                Ok(_) => return,
                Err(error @ (DurableError::TooLarge { .. } | DurableError::Full(_)))
                    if matches!(state, TaskState::Completed { .. })
                        && (waited >= PATIENCE || matches!(error, DurableError::TooLarge { .. })) =>
                {
                    tracing::error!(task = &*self.id, %error, "the result of a task cannot be kept");
                    if let TaskState::Completed { result } = &state {
                        state = TaskState::failed(&without_room(result, &error));
                    }
                }
                Err(DurableError::Closed) => {
                    return tracing::error!(task = &*self.id, "a task ended after the store was closed");
                }
                Err(error) if waited.is_zero() => {
                    tracing::error!(task = &*self.id, %error, "the end of a task cannot be stored; trying again")
                }
                Err(_) => {}
            }
            sleep(RETRY).await;
            waited += RETRY;
        }
    }

    /// Stores a change. False if the task has ended, is gone, or is served by another process.
    pub(in crate::tasks) async fn save(
        &mut self,
        state: TaskState,
        message: Option<String>,
        durability: Durability,
    ) -> Result<bool, DurableError> {
        let (tasks, id) = (self.tasks.clone(), self.id.clone());
        let Some(key) = Part::Record.key(&id) else { return Ok(false) };
        let mut changed = self.record.clone();
        if !changed.change(state, message, tasks.now(), tasks.limits.keep) {
            return Ok(false);
        }
        changed.time = Some(tasks.time.now());
        loop {
            match tasks.store.put(&key, changed.to_bytes(), Expected::At(self.revision), durability).await {
                Ok(revision) => {
                    self.revision = revision;
                    self.record = changed;
                    tasks.table.lock().set_expiry(&id, self.record.expires());
                    tasks.wake.notify_one();
                    tasks.changed(&self.record.principal(), &id);
                    return Ok(true);
                }
                // If the owner is still this process, the change was made and only its response was lost. An end was stored by
                // another process.
                Err(DurableError::Conflict(_)) => match tasks.load(&id).await? {
                    Some((task, record)) if !task.has_ended() && task.owner == changed.owner => {
                        self.revision = record.revision;
                    }
                    _ => return Ok(false),
                },
                Err(error) => return Err(error),
            }
        }
    }
}

/// The message that replaces a result for which the store has no room.
fn without_room(result: &JsonObject, error: &DurableError) -> String {
    let said = || result.get("content")?.get(0)?.get("text")?.as_str();
    match result.get("isError").and_then(Value::as_bool) {
        Some(true) => {
            let said = truncate_chars(said().unwrap_or_default(), MAX_SAID);
            format!("The call has failed, and the host has no room for all that it said ({error}): {said}")
        }
        _ => format!("The tool has ended, but the host has no room for its result ({error})."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_that_failed_is_not_said_to_have_ended() {
        let full = DurableError::Full("disk is full".into());
        let said = |result: Value| without_room(result.as_object().unwrap(), &full);
        let failed = said(json!({"isError": true, "content": [{"type": "text", "text": "the journal is lost"}]}));
        assert!(failed.contains("failed") && failed.contains("disk is full") && failed.contains("the journal is lost"));
        assert!(said(json!({"content": []})).contains("has ended"));
    }
}
