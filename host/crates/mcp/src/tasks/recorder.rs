//! Stores how a task stands while it runs, and how it ended.

use super::asked::AskedQuestions;
use super::fuel::TaskFuel;
use super::keys::Part;
use super::record::{Suspended, TaskRecord, TaskState};
use super::shown_calls::ShownCalls;
use super::table::TaskId;
use super::tasks::Tasks;
use platform::durable::{DurableError, Expected, Revision, Strength};
use platform::text::truncate_chars;
use rmcp::model::JsonObject;
use runtime::engine::FuelAccount;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// Time between two stored messages of a task's progress. Bounds what a tool that reports all the time costs the disk.
const MESSAGE_PAUSE: Duration = Duration::from_millis(500);
/// Time before a change that could not be stored is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// For how long a result waits for room in the store. Then the task ends without it. Bounds, with the number of tasks, what waits in
/// memory.
const PATIENCE: Duration = Duration::from_secs(300);
/// Characters of what a call that failed has said, where there is no room for all.
const MAX_SAID: usize = 400;

/// How a running task stands. A change of the message alone may wait.
#[derive(Debug, Clone, Default)]
pub(super) struct TaskProgress {
    pub(super) message: Option<String>,
    pub(super) requests: Map<String, Value>,
    pub(super) calls: ShownCalls,
    pub(super) asked: Arc<AskedQuestions>,
    pub(super) fuel: TaskFuel,
    pub(super) suspended: Option<Suspended>,
    /// Counts the changes of all but the message.
    pub(super) version: u64,
}

impl TaskProgress {
    /// How an earlier process has left it.
    pub(super) fn new(record: &TaskRecord, asked: &AskedQuestions) -> Self {
        let (message, fuel) = (record.message.clone(), record.fuel.clone());
        Self { message, fuel, requests: record.requests(), asked: Arc::new(asked.clone()), ..Self::default() }
    }
}

/// The record of a running task, which this process alone changes.
pub(super) struct Recorder {
    pub(super) tasks: Arc<Tasks>,
    pub(super) id: TaskId,
    pub(super) record: TaskRecord,
    pub(super) revision: Revision,
}

/// Somebody else has ended the task or removed it.
pub(super) struct Superseded;

impl Recorder {
    /// Stores changes until somebody else takes the task over. `stored` is told the version that is stored. `fuel` is that of
    /// the call.
    pub(super) async fn follow(
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
                // What is asked and answered is kept, whether or not there is room by now.
                let _ = self.tasks.count_part(&self.id, Part::Asked, asked.len());
                // It takes its turn before the record.
                asked_is_stored = Some(self.tasks.store.put(&key, asked, Expected::Any, Strength::Process));
            }
            (self.record.calls, self.record.fuel, self.record.suspended) = (now.calls, now.fuel, now.suspended);
            self.count_fuel(fuel.as_ref());
            let saved = self.save(TaskState::open(now.requests), now.message, Strength::Process).await;
            let asked = match asked_is_stored {
                Some(stored) => stored.await.map(drop),
                None => Ok(()),
            };
            match saved.and_then(|saved| asked.map(|()| saved)) {
                Ok(true) => {}
                Ok(false) => return Superseded,
                // Nobody is told that it is stored. If it changes meanwhile, the newest is.
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

    /// Notes what the call has used by now.
    pub(super) fn count_fuel(&mut self, account: Option<&FuelAccount>) {
        if let Some(account) = account {
            let fuel = &mut self.record.fuel;
            (fuel.used, fuel.limit) = (fuel.used.max(account.used()), account.limit().or(fuel.limit));
        }
    }

    /// Stores how the task ended. Tries until it has succeeded, or until it is not this process's task any more.
    pub(super) async fn end(&mut self, state: TaskState, message: Option<String>, usage: Option<Value>) {
        self.record.usage = usage;
        let (mut state, mut waited) = (state, Duration::ZERO);
        loop {
            match self.save(state.clone(), message.clone(), Strength::Power).await {
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
    pub(super) async fn save(
        &mut self,
        state: TaskState,
        message: Option<String>,
        strength: Strength,
    ) -> Result<bool, DurableError> {
        let (tasks, id) = (self.tasks.clone(), self.id.clone());
        let Some(key) = Part::Record.key(&id) else { return Ok(false) };
        let mut changed = self.record.clone();
        if !changed.change(state, message, tasks.now(), tasks.limits.keep) {
            return Ok(false);
        }
        changed.time = Some(tasks.time.now());
        loop {
            match tasks.store.put(&key, changed.to_bytes(), Expected::At(self.revision), strength).await {
                Ok(revision) => {
                    self.revision = revision;
                    self.record = changed;
                    tasks.table.lock().set_expiry(&id, self.record.expires());
                    tasks.wake.notify_one();
                    tasks.changed(&self.record.principal(), &id);
                    return Ok(true);
                }
                // A change whose answer was lost has been made; an end was made by somebody else.
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

/// What is said in the place of a result that the store does not take.
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
