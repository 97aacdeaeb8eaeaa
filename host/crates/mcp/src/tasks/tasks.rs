//! The tasks of a host: what clients ask of theirs.

use super::control::{RunningTask, StopReason};
use super::record::{TaskRecord, millis};
use super::table::{TaskId, TaskTable};
use crate::calls::wait_permits::WaitPermits;
use platform::changes::{Change, ChangeNotifier};
use platform::clock::Clock;
use platform::durable::{DurableError, DurableStore, Key, Record};
use platform::random::random_text;
use platform::sync::Mutex;
use policy::{Principal, TaskLimits};
use rmcp::model::InputResponses;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

/// What the URIs of tasks as resources begin with.
pub(crate) const TASK_URI: &str = "portcullis://tasks/";
/// For how long a process owns a task before it says so again. Another process treats the task as left behind when this has
/// passed.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// How often it says so.
pub(super) const RENEW: Duration = Duration::from_secs(10);
/// Where records are stored, by the task's id.
const RECORDS: &str = "task";
/// Where the calls that tasks began with are stored.
const CALLS: &str = "task-call";

/// All tasks of a store, and those that run in this process.
pub struct Tasks {
    pub(super) store: Arc<dyn DurableStore>,
    pub(super) limits: TaskLimits,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) changes: ChangeNotifier,
    /// Permits for calls that wait for their clients.
    pub(super) permits: Arc<WaitPermits>,
    /// The name of this process as a holder of leases.
    pub(super) holder: String,
    pub(super) table: Mutex<TaskTable>,
    pub(super) running: Mutex<HashMap<TaskId, RunningTask>>,
    /// Wakes the upkeep: there is something to do, or earlier.
    pub(super) wake: Arc<Notify>,
    /// The runners.
    pub(super) runners: TaskTracker,
}

/// Why a task cannot be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    /// Also for somebody else's.
    #[error("there is no such task: its id is not one of yours, or it was removed after its time to live")]
    Unknown,
    #[error("the host cannot read its tasks now: {0}")]
    Store(#[from] DurableError),
}

/// How a task stands, and the revision that says so.
pub(super) type StoredTask = (TaskRecord, Record);

impl Tasks {
    pub(super) fn new(
        store: Arc<dyn DurableStore>,
        limits: TaskLimits,
        clock: Arc<dyn Clock>,
        changes: ChangeNotifier,
        permits: Arc<WaitPermits>,
    ) -> std::io::Result<Arc<Self>> {
        let holder = random_text::<16>()?;
        let (table, running, wake, runners) = Default::default();
        Ok(Arc::new(Self { store, limits, clock, changes, permits, holder, table, running, wake, runners }))
    }

    /// How many tasks of this process have not ended.
    pub fn open_count(&self) -> usize {
        self.running.lock().len()
    }

    pub(crate) fn limits(&self) -> &TaskLimits {
        &self.limits
    }

    /// A task of this principal.
    pub(crate) async fn get(&self, principal: &Principal, id: &str) -> Result<TaskRecord, TaskError> {
        let stored = self.load(id).await?.filter(|(task, _)| task.principal == principal.as_str());
        let (task, _) =
            stored.filter(|(task, _)| task.expires() > self.now() || !task.has_ended()).ok_or(TaskError::Unknown)?;
        Ok(task)
    }

    /// Answers what a task asks. What it does not ask, or not any more, is ignored.
    pub(crate) async fn answer(
        &self,
        principal: &Principal,
        id: &str,
        answers: InputResponses,
    ) -> Result<(), TaskError> {
        self.get(principal, id).await?;
        let running = self.running.lock().get(id).cloned();
        if let Some(running) = running {
            // So that whoever asks next sees what is left to answer.
            running.answer(answers).await;
        }
        Ok(())
    }

    /// Cancels a task. One that has ended stays as it is.
    pub(crate) async fn cancel(&self, principal: &Principal, id: &str) -> Result<(), TaskError> {
        self.get(principal, id).await?;
        if let Some(running) = self.running.lock().get(id) {
            running.stop(StopReason::Client);
        }
        Ok(())
    }

    /// The URI of a task as a resource.
    pub(crate) fn uri(id: &str) -> String {
        format!("{TASK_URI}{id}")
    }

    pub(super) fn now(&self) -> u64 {
        millis(self.clock.unix())
    }

    /// Tells everybody who watches a task that it has changed.
    pub(super) fn changed(&self, owner: &Principal, id: &str) {
        self.changes.send(Change::Resource(Some(owner.clone()), Self::uri(id)));
    }

    /// The stored task, whoever it belongs to.
    pub(super) async fn load(&self, id: &str) -> Result<Option<StoredTask>, DurableError> {
        let Some(key) = record_key(id) else { return Ok(None) };
        let Some(record) = self.store.get(&key).await? else { return Ok(None) };
        Ok(parse(id, record))
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

/// None for what this version cannot read: it is as if it were not there, and says so in the log.
pub(super) fn parse(id: &str, record: Record) -> Option<StoredTask> {
    match TaskRecord::from_bytes(&record.value) {
        Ok(task) => Some((task, record)),
        Err(error) => {
            tracing::error!(task = id, %error, "a stored task cannot be read");
            None
        }
    }
}

/// None if no task can have this id.
pub(super) fn record_key(id: &str) -> Option<Key> {
    Key::new(format!("{RECORDS}/{id}")).ok().filter(|_| !id.contains('/'))
}

pub(super) fn call_key(id: &str) -> Option<Key> {
    Key::new(format!("{CALLS}/{id}")).ok().filter(|_| !id.contains('/'))
}

/// What the keys of all records begin with.
pub(super) fn all_records() -> Option<Key> {
    Key::new(RECORDS).ok()
}
