//! The tasks of a host, and the requests of clients about their own tasks.

use crate::calls::wait_permits::WaitPermits;
use crate::tasks::records::call::CallMaker;
use crate::tasks::records::control::{RunningTask, TaskRequest};
use crate::tasks::records::keys::Part;
use crate::tasks::records::record::TaskRecord;
use crate::tasks::records::table::{TaskId, TaskTable};
use platform::changes::{Change, ChangeNotifier};
use platform::clock::{Clock, SteadyClock};
use platform::durable::{Durability, DurableError, DurableStore, Key, Record};
use platform::files::ProcessSlot;
use platform::sync::Mutex;
use policy::{Principal, Survive, TaskLimits};
use rmcp::model::InputResponses;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The prefix of the URIs of tasks as resources.
pub(crate) const TASK_URI: &str = "portcullis://tasks/";
/// How long a process owns a task before it has to renew the lease. After that, other processes treat the task as left behind.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// How often it renews its leases.
pub(super) const RENEW: Duration = Duration::from_secs(10);
/// The longest sleep before the tasks are looked at again, because timers stand still while the machine sleeps.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(600);

/// Where tasks are stored.
pub struct TaskStore {
    pub store: Arc<dyn DurableStore>,
    /// The place of this process among those that use the store; none if the store ends with the process.
    pub process: Option<ProcessSlot>,
}

impl TaskStore {
    /// The name under which this process holds leases. A process that takes the place of one that has ended gets the same name,
    /// and so holds the other's leases at once.
    pub fn holder(&self) -> String {
        self.process.as_ref().map_or_else(String::new, |process| format!("process-{}", process.number()))
    }
}

/// All tasks of a store, and those that run in this process.
pub struct Tasks {
    pub(super) store: Arc<dyn DurableStore>,
    pub(super) limits: TaskLimits,
    pub(super) clock: Arc<dyn Clock>,
    /// The clock for times that are stored.
    pub(super) time: SteadyClock,
    pub(super) changes: ChangeNotifier,
    /// Permits for calls that wait for their clients.
    pub(super) permits: Arc<WaitPermits>,
    /// See [`TaskStore::holder`].
    pub(super) holder: String,
    _process: Option<ProcessSlot>,
    /// What the stored steps of calls survive; none if the store ends with the process.
    journal: Option<Survive>,
    /// Makes the calls of stored tasks again. Stored tasks wait until it is set.
    pub(super) maker: OnceLock<Arc<dyn CallMaker>>,
    pub(super) table: Mutex<TaskTable>,
    /// Tasks that this process is about to serve: nothing else in this process takes them up.
    pub(super) starting: Mutex<HashSet<TaskId>>,
    /// Notified when a task leaves `starting`, whether it is served or not.
    pub(super) started: Notify,
    /// Cancelled once this process has read all stored tasks.
    pub(super) seen: CancellationToken,
    pub(super) running: Mutex<HashMap<TaskId, RunningTask>>,
    /// Stored requests that are being passed on.
    pub(super) asking: Mutex<HashSet<Key>>,
    /// Wakes the upkeep when there is something to do, or to do earlier than planned.
    pub(super) wake: Arc<Notify>,
    /// The runners.
    pub(super) runners: TaskTracker,
}

/// Why a request to a task fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    /// Also returned for tasks of other principals.
    #[error("there is no such task: its id is not one of yours, or it was removed after its time to live")]
    Unknown,
    #[error("too much that was asked of this task, or said to its call, waits until the task goes on")]
    TooMuch,
    #[error("there is no room for it: what your tasks keep takes as much as `server.tasks.size` lets it")]
    Full,
    #[error("the host cannot read its tasks now: {0}")]
    Store(#[from] DurableError),
}

/// The state of a task, and the revision of the stored record that has it.
pub(super) type TaskAtRevision = (TaskRecord, Record);

impl Tasks {
    pub(super) fn new(
        store: TaskStore,
        limits: TaskLimits,
        clock: Arc<dyn Clock>,
        changes: ChangeNotifier,
        permits: Arc<WaitPermits>,
    ) -> Arc<Self> {
        let holder = store.holder();
        let TaskStore { store, process } = store;
        let time = SteadyClock::new(clock.clone());
        let journal = process.as_ref().map(|_| limits.survive);
        let (maker, table, starting, started, seen, running, asking, wake, runners) = Default::default();
        Arc::new(Self {
            store,
            limits,
            clock,
            time,
            changes,
            permits,
            holder,
            _process: process,
            journal,
            maker,
            table,
            starting,
            started,
            seen,
            running,
            asking,
            wake,
            runners,
        })
    }

    /// Whether another process could go on with a call that has a journal.
    pub(crate) fn are_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// How safely the steps of a call are stored, by what its plugin's configuration says; none if they are not stored.
    pub(super) fn durability(&self, of_plugin: Option<Survive>) -> Option<Durability> {
        self.journal.map(|usual| match of_plugin.unwrap_or(usual) {
            Survive::Crash => Durability::Process,
            Survive::PowerLoss => Durability::Power,
        })
    }

    /// Lets stored tasks go on from now on, with calls that `maker` makes.
    pub(crate) fn resume_with(&self, maker: Arc<dyn CallMaker>) {
        let _ = self.maker.set(maker);
        self.wake.notify_one();
    }

    /// How many tasks run in this process, and how many suspended tasks it would go on with.
    pub fn open_count(&self) -> (usize, usize) {
        (self.running.lock().len(), self.table.lock().suspended())
    }

    /// Why nothing can be stored at the moment, if the store knows the reason.
    pub(crate) fn store_problem(&self) -> Option<DurableError> {
        self.store.problem()
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

    /// The output of a task up to its last checkpoint or its end, as its log showed it: JSON text.
    pub(crate) async fn output(&self, id: &str) -> Result<Option<String>, DurableError> {
        let Some(key) = Part::Output.key(id) else { return Ok(None) };
        Ok(self.store.get(&key).await?.and_then(|record| String::from_utf8(record.value).ok()))
    }

    /// Answers questions of a task. Ignores answers to questions that it does not ask, or does not ask any more.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        principal: &Principal,
        id: &str,
        answers: InputResponses,
    ) -> Result<(), TaskError> {
        let mut answers = answers;
        let task = self.get(principal, id).await?;
        if task.suspended_until().is_some() {
            // The open questions of a suspended task are known, and an answer to anything else does not make it run again.
            answers.retain(|key, _| task.asks(key));
        }
        match task.has_ended() || answers.is_empty() {
            true => Ok(()),
            // This returns when the answers are stored, so that the next reader of the task sees which questions are left.
            false => self.ask(id, TaskRequest::Answer(answers)).await,
        }
    }

    /// Takes outcomes of calls of its client's tools, by the same rule as [`Self::answer`].
    pub(crate) async fn answer_calls(
        self: &Arc<Self>,
        principal: &Principal,
        id: &str,
        outcomes: Map<String, Value>,
    ) -> Result<(), TaskError> {
        if outcomes.is_empty() {
            return Ok(());
        }
        let mut outcomes = outcomes;
        let task = self.get(principal, id).await?;
        if task.suspended_until().is_some() {
            outcomes.retain(|key, _| task.calls(key));
        }
        if task.has_ended() || outcomes.is_empty() {
            return Ok(());
        }
        let bytes = outcomes.values().map(|outcome| outcome.to_string().len() as u64).sum();
        if self.table.lock().has_room(id, bytes, &self.limits) == Some(false) {
            return Err(TaskError::Full);
        }
        self.ask(id, TaskRequest::Outcomes(outcomes)).await
    }

    /// Cancels a task. One that has ended stays as it is.
    pub(crate) async fn cancel(self: &Arc<Self>, principal: &Principal, id: &str) -> Result<(), TaskError> {
        match self.get(principal, id).await?.has_ended() {
            true => Ok(()),
            false => self.ask(id, TaskRequest::Cancel).await,
        }
    }

    /// The URI of a task as a resource.
    pub(crate) fn uri(id: &str) -> String {
        format!("{TASK_URI}{id}")
    }

    /// Milliseconds since 1970. While the process lives, this clock only moves on with time, even if somebody sets the system's
    /// clock.
    pub(super) fn now(&self) -> u64 {
        self.time.now().unix()
    }

    /// Notifies everybody who watches a task that it has changed.
    pub(super) fn changed(&self, owner: &Principal, id: &str) {
        self.changes.send(Change::Resource(Some(owner.clone()), Self::uri(id)));
    }

    /// The stored task of any principal.
    pub(super) async fn load(&self, id: &str) -> Result<Option<TaskAtRevision>, DurableError> {
        let Some(key) = Part::Record.key(id) else { return Ok(None) };
        let Some(record) = self.store.get(&key).await? else { return Ok(None) };
        Ok(self.read(id, record))
    }

    /// A stored task, with its times adjusted to the clock of this process.
    pub(super) fn read(&self, id: &str, record: Record) -> Option<TaskAtRevision> {
        let (mut task, record) = parse(id, record)?;
        task.date_by(self.time.now());
        Some((task, record))
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

/// None if this version cannot read the record, which is then logged and treated as missing.
pub(super) fn parse(id: &str, record: Record) -> Option<TaskAtRevision> {
    match TaskRecord::from_bytes(&record.value) {
        Ok(task) => Some((task, record)),
        Err(error) => {
            tracing::error!(task = id, %error, "a stored task cannot be read");
            None
        }
    }
}
