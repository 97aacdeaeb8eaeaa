//! Creating a task: it is stored before its client learns of it.

use crate::calls::live::LiveCall;
use crate::tasks::records::call::{Finish, TaskCall};
use crate::tasks::records::control::RunningTask;
use crate::tasks::records::fuel::TaskFuel;
use crate::tasks::records::keys::Part;
use crate::tasks::records::record::{TaskRecord, TaskState, millis};
use crate::tasks::records::shown_calls::ShownCalls;
use crate::tasks::records::table::{NewEntry, TaskId};
use crate::tasks::run::runner::TaskRunner;
use crate::tasks::take_up::Starting;
use crate::tasks::tasks::{LEASE, Tasks};
use platform::durable::{Durability, DurableError, Expected, Lease, Revision};
use platform::random::random_id;
use policy::{Principal, Survive};
use std::sync::Arc;

/// A task to be created.
pub(crate) struct NewTask {
    pub(crate) principal: Principal,
    pub(crate) call: TaskCall,
    /// The id of the call.
    pub(crate) id: Arc<str>,
    pub(crate) correlation: Option<String>,
    /// The id of the task, if it was chosen already. It must be as hard to guess as any other id.
    pub(crate) task: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NotCreated {
    #[error("there is no room for another task")]
    Full,
    #[error("{0}")]
    Store(#[from] DurableError),
    #[error("there are no random bytes for its id: {0}")]
    Random(#[from] std::io::Error),
}

/// A stored task whose call nobody serves yet. If this is dropped, the task is removed again.
pub(crate) struct CreatedTask(Option<Stored>);

struct Stored {
    tasks: Arc<Tasks>,
    id: TaskId,
    record: TaskRecord,
    stored: Option<(Revision, Lease)>,
    survive: Option<Survive>,
    starting: Option<Starting>,
}

impl Tasks {
    pub(crate) async fn create(self: Arc<Self>, new: NewTask) -> Result<CreatedTask, NotCreated> {
        let NewTask { principal, call, id: call_id, correlation, task } = new;
        let id: TaskId = match task {
            Some(task) => task.into(),
            None => random_id()?.into(),
        };
        let now = self.now();
        let ttl = millis(self.limits.run);
        let record = TaskRecord {
            principal: principal.as_str().to_owned(),
            tool: call.tool.clone(),
            call: (*call_id).to_owned(),
            correlation,
            created: now,
            updated: now,
            ttl,
            message: None,
            state: TaskState::Working,
            owner: 0,
            fuel: TaskFuel::default(),
            calls: ShownCalls::default(),
            suspended: None,
            time: Some(self.time.now()),
            moved: 0,
            usage: None,
            size: 0,
        };
        let survive = call.survive;
        // Text and flags can always be written.
        let call = serde_json::to_vec(&call).unwrap_or_default();
        let bytes = call.len() as u64;
        let entry = NewEntry { id: &id, owner: principal, call: &record.call, bytes, expires: record.expires() };
        let gone = self.table.lock().insert(entry, &self.limits).ok_or(NotCreated::Full)?;
        gone.into_iter().for_each(|ended| self.remove(ended));
        let starting = Starting::new(&self, &id);
        let tasks = self.clone();
        let mut created = CreatedTask(Some(Stored { tasks, id: id.clone(), record, stored: None, survive, starting }));
        let (Some(record_key), Some(call_key)) = (Part::Record.key(&id), Part::Call.key(&id)) else {
            return Err(NotCreated::Store(DurableError::Failed("an id is no key".into())));
        };
        let lease = self.store.acquire(&record_key, &self.holder, LEASE).await?;
        let lease = lease.ok_or_else(|| DurableError::Failed("a new task has an owner already".into()))?;
        let Some(stored) = &mut created.0 else { return Ok(created) };
        stored.record.owner = lease.fence.0;
        // The store does the two in the order of these calls. A record whose call was not stored is removed at the end of its
        // time.
        let record = self.store.put(&record_key, stored.record.to_bytes(), Expected::Nothing, Durability::Power);
        let call = self.store.put(&call_key, call, Expected::Nothing, Durability::Power);
        let (record, call) = futures::join!(record, call);
        call?;
        stored.stored = Some((record?, lease));
        Ok(created)
    }
}

impl CreatedTask {
    /// Makes sure that another process could go on with the call, and serves it from then on. Returns the id and the state of
    /// the task.
    pub(crate) async fn start(mut self, mut live: LiveCall, finish: Finish) -> Option<(TaskId, TaskRecord)> {
        let Stored { tasks, id, record, survive, .. } = self.0.as_ref()?;
        // Another process may go on with it from now on.
        if !live.life().journal.note_effect().await {
            return None;
        }
        tasks.store_journal(id, record, *survive, live.life()).await;
        let Stored { tasks, id, record, stored, survive: _, starting } = self.0.take()?;
        let (revision, lease) = stored?;
        let (running, control) = RunningTask::new(lease);
        tasks.running.lock().insert(id.clone(), running);
        drop(starting);
        tasks.wake.notify_one();
        let runner = TaskRunner::new(tasks.clone(), id.clone(), record.clone(), revision, control);
        tasks.runners.spawn(runner.run(Some((live, finish))));
        Some((id, record))
    }
}

impl Drop for CreatedTask {
    fn drop(&mut self) {
        let Some(Stored { tasks, id, stored, starting, .. }) = self.0.take() else { return };
        tasks.remove_stored(&id, stored.map(|(_, lease)| lease));
        drop(starting);
    }
}

impl Tasks {
    /// Removes a task and everything that is stored about it. Nobody waits for the removal: a task that it fails for is removed
    /// at the end of its time.
    pub(super) fn remove_stored(&self, id: &TaskId, lease: Option<Lease>) {
        self.table.lock().remove(id);
        // The store takes these requests in this order, whether or not anybody waits for them.
        for part in Part::ALL {
            let Some(key) = part.key(id) else { continue };
            match part {
                Part::Journal => drop(self.store.remove_log(&key)),
                _ => drop(self.store.remove(&key, Expected::Any, Durability::Process)),
            }
        }
        if let Some(lease) = lease {
            drop(self.store.release(&lease));
        }
    }
}
