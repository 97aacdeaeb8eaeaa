//! Takes up the tasks that other processes have left behind, at the start and later, and goes on with suspended tasks.

use crate::tasks::records::control::RunningTask;
use crate::tasks::records::keys::{Part, all_records};
use crate::tasks::records::record::{TaskRecord, millis};
use crate::tasks::records::table::{NewEntry, TaskId};
use crate::tasks::run::runner::TaskRunner;
use crate::tasks::tasks::{LEASE, Tasks};
use platform::durable::{Durability, DurableError, Expected, Fence, Key, Record};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Records that are read in one go.
const PAGE: u32 = 100;

/// How long to wait until the runner that has served a task here leaves it.
const LEAVING: Duration = Duration::from_secs(1);

/// Which tasks are taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakeUp {
    /// Only tasks that do not wait for something.
    WhenDue,
    Now,
    /// Also tasks that wait. Somebody is about to send something to the task, so it is not suspended again before that.
    AndStay,
}

/// Marks a task that this process is about to serve, until this is dropped: nothing else in this process takes it up.
pub(super) struct Starting {
    tasks: Arc<Tasks>,
    id: TaskId,
}

impl Starting {
    /// None if something else in this process is about to serve it.
    pub(super) fn new(tasks: &Arc<Tasks>, id: &TaskId) -> Option<Self> {
        tasks.starting.lock().insert(id.clone()).then(|| Self { tasks: tasks.clone(), id: id.clone() })
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.tasks.starting.lock().remove(&self.id);
        self.tasks.started.notify_waiters();
    }
}

impl Tasks {
    /// Takes up all stored tasks. Those that have not ended, and that nobody serves any more, go on here.
    pub(super) async fn take_up(self: &Arc<Self>) -> Result<(), DurableError> {
        let Some(prefix) = all_records() else { return Ok(()) };
        let mut after = None;
        loop {
            let page = self.store.list(&prefix, after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else {
                self.seen.cancel();
                return Ok(());
            };
            after = Some(last.clone());
            for (key, record) in page {
                self.take_up_one(key, record, TakeUp::WhenDue).await?;
            }
        }
    }

    /// The same for tasks that other processes have served and do not serve any more: these processes have ended, or were
    /// inactive for so long that they have lost the leases. `known` are the suspended tasks that the last pass has found.
    pub(super) async fn take_up_left(self: &Arc<Self>, known: &mut HashMap<Key, Fence>) -> Result<(), DurableError> {
        let Some(prefix) = all_records() else { return Ok(()) };
        let left = self.store.expired(&prefix).await?;
        let mut waiting = HashMap::new();
        for lease in left {
            if known.get(&lease.name) != Some(&lease.fence) {
                match self.store.get(&lease.name).await? {
                    Some(record) => {
                        self.take_up_one(lease.name.clone(), record, TakeUp::WhenDue).await?;
                    }
                    // The task was removed.
                    None => drop(self.store.release(&lease)),
                }
            }
            let is_running = |id: &str| self.running.lock().contains_key(id);
            if !lease.name.as_str().rsplit_once('/').is_some_and(|(_, id)| is_running(id)) {
                waiting.insert(lease.name, lease.fence);
            }
        }
        *known = waiting;
        Ok(())
    }

    /// False if another process may still serve it.
    pub(super) async fn take_up_one(
        self: &Arc<Self>,
        key: Key,
        record: Record,
        when: TakeUp,
    ) -> Result<bool, DurableError> {
        let Some((_, id)) = key.as_str().rsplit_once('/') else { return Ok(true) };
        let id: TaskId = id.into();
        let starting = loop {
            let started = self.started.notified();
            match Starting::new(self, &id) {
                Some(starting) => break starting,
                None if when == TakeUp::WhenDue => return Ok(true),
                // Another caller looks at the task now, and may leave it because it is not due. So this waits, and then looks
                // again.
                None => started.await,
            }
        };
        // A task is put into `running` before it leaves `starting`, so this check must come after the one above.
        if self.running.lock().contains_key(&id) {
            return Ok(true);
        }
        let Some((task, record)) = self.read(&id, record) else { return Ok(true) };
        if task.has_ended() {
            self.insert_stored(&id, &task, record.value.len(), None);
            return Ok(true);
        }
        let waits_until = task.suspended_until().filter(|until| when == TakeUp::WhenDue && *until > self.now());
        if let Some(until) = waits_until {
            self.insert_stored(&id, &task, record.value.len(), Some(until));
            return Ok(true);
        }
        let Some(lease) = self.store.acquire(&key, &self.holder, LEASE).await? else { return Ok(false) };
        let (mut task, mut record) = (task, record);
        let revision = loop {
            if task.has_ended() {
                self.insert_stored(&id, &task, record.value.len(), None);
                drop(self.store.release(&lease));
                return Ok(true);
            }
            // Its time may be over. This keeps the sweep from removing it before it runs.
            self.insert_stored(&id, &task, record.value.len(), Some(self.now() + millis(LEASE)));
            (task.owner, task.suspended) = (lease.fence.0, None);
            match self.store.put(&key, task.to_bytes(), Expected::At(record.revision), Durability::Process).await {
                Ok(revision) => break revision,
                // Its former owner has changed it before the lease was free.
                Err(DurableError::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
            match self.load(&id).await? {
                Some(now) => (task, record) = now,
                None => return Ok(true),
            }
        };
        let (running, control) = RunningTask::new(lease);
        if when == TakeUp::AndStay {
            drop(running.clone().stay());
        }
        self.running.lock().insert(id.clone(), running);
        self.table.lock().set_expiry(&id, task.expires());
        self.runners.spawn(TaskRunner::new(self.clone(), id, task, revision, control).run(None));
        drop(starting);
        self.wake.notify_one();
        Ok(true)
    }

    /// Goes on with a suspended task, unless another process does.
    pub(super) async fn go_on(self: &Arc<Self>, id: &TaskId, when: TakeUp) -> Result<(), DurableError> {
        let left = self.running.lock().get(id).filter(|running| running.is_being_left()).cloned();
        if let Some(left) = left {
            // If the runner takes longer, a later attempt goes on with the task.
            let _ = tokio::time::timeout(LEAVING, left.left()).await;
        }
        let (Some(key), Some((task, record))) = (Part::Record.key(id), self.load(id).await?) else {
            self.table.lock().remove(id);
            return Ok(());
        };
        if task.has_ended() {
            self.table.lock().end(id, task.expires());
            return Ok(());
        }
        if !self.take_up_one(key, record, when).await? {
            // If that process ends, this process looks at the task again.
            self.table.lock().suspend(id, self.now() + millis(LEASE));
        }
        Ok(())
    }

    /// Goes on with a suspended task whose time has come: what it waits for is there, or the task is to end.
    pub(super) fn go_on_when_due(self: &Arc<Self>, id: TaskId) {
        // If the task does not go on now, this is tried again after this time.
        self.table.lock().suspend(&id, self.now() + millis(LEASE));
        let tasks = self.clone();
        self.runners.spawn(async move {
            if let Err(error) = tasks.go_on(&id, TakeUp::Now).await {
                tracing::error!(task = &*id, %error, "a task that waits cannot be read; trying again");
            }
        });
    }

    /// `goes_on` is when the task goes on by itself, if nobody serves it earlier; none if it has ended.
    fn insert_stored(&self, id: &TaskId, task: &TaskRecord, bytes: usize, goes_on: Option<u64>) {
        let (owner, bytes, expires) = (task.principal(), bytes as u64, task.expires());
        let mut table = self.table.lock();
        table.insert_stored(NewEntry { id, owner, call: &task.call, bytes, expires });
        match goes_on {
            Some(at) => table.suspend(id, at),
            None => table.end(id, expires),
        }
    }
}
