//! Creating a task: it is stored before its client learns of it.

use super::control::RunningTask;
use super::record::{TaskRecord, TaskState, millis};
use super::runner::{Finish, TaskRunner};
use super::table::TaskId;
use super::tasks::{LEASE, Tasks, call_key, record_key};
use crate::calls::live::LiveCall;
use platform::durable::{DurableError, Expected, Lease, Revision, Strength};
use platform::random::random_text;
use policy::Principal;
use serde_json::json;
use std::sync::Arc;

/// The call that a task begins with.
pub(crate) struct NewTask {
    pub(crate) principal: Principal,
    /// The name that the client called.
    pub(crate) tool: Arc<str>,
    /// The version of the plugin.
    pub(crate) version: String,
    /// JSON text.
    pub(crate) arguments: String,
    pub(crate) call: Arc<str>,
    pub(crate) correlation: Option<String>,
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

/// A stored task whose call nobody serves yet. Dropped, it is removed again.
pub(crate) struct CreatedTask(Option<Stored>);

struct Stored {
    tasks: Arc<Tasks>,
    id: TaskId,
    record: TaskRecord,
    stored: Option<(Revision, Lease)>,
}

impl Tasks {
    pub(crate) async fn create(self: Arc<Self>, new: NewTask) -> Result<CreatedTask, NotCreated> {
        let NewTask { principal, tool, version, arguments, call, correlation } = new;
        let id: TaskId = random_text::<24>()?.into();
        let now = self.now();
        let ttl = millis(self.limits.run);
        let record = TaskRecord {
            principal: principal.as_str().to_owned(),
            tool: (*tool).to_owned(),
            call: (*call).to_owned(),
            correlation,
            created: now,
            updated: now,
            ttl,
            message: None,
            state: TaskState::Working,
            usage: None,
            size: 0,
        };
        let bytes = (arguments.len() + tool.len() + version.len()) as u64;
        if !self.table.lock().insert(&id, &principal, bytes, record.expires(), &self.limits) {
            return Err(NotCreated::Full);
        }
        let mut created = CreatedTask(Some(Stored { tasks: self.clone(), id: id.clone(), record, stored: None }));
        let (Some(record_key), Some(call_key)) = (record_key(&id), call_key(&id)) else {
            return Err(NotCreated::Store(DurableError::Failed("an id is no key".into())));
        };
        let call = json!({ "tool": &*tool, "version": version, "arguments": arguments });
        // Each takes its turn when it is asked for. A record without its call is removed at the end of its time.
        let lease = self.store.acquire(&record_key, &self.holder, LEASE);
        let value = created.0.as_ref().map(|it| it.record.to_bytes()).unwrap_or_default();
        let record = self.store.put(&record_key, value, Expected::Nothing, Strength::Power);
        let call = self.store.put(&call_key, call.to_string().into_bytes(), Expected::Nothing, Strength::Power);
        let (lease, record, call) = futures::join!(lease, record, call);
        let lease = lease?.ok_or_else(|| DurableError::Failed("a new task has an owner already".into()))?;
        call?;
        if let Some(stored) = &mut created.0 {
            stored.stored = Some((record?, lease));
        }
        Ok(created)
    }
}

impl CreatedTask {
    /// Serves its call from now on. Returns the id, and how the task stands.
    pub(crate) fn start(mut self, live: LiveCall, finish: Finish) -> Option<(TaskId, TaskRecord)> {
        let Stored { tasks, id, record, stored } = self.0.take()?;
        let (revision, lease) = stored?;
        let (running, control) = RunningTask::new(live.end.cancel.clone(), lease);
        tasks.running.lock().insert(id.clone(), running);
        tasks.wake.notify_one();
        let runner = TaskRunner { tasks: tasks.clone(), id: id.clone(), record: record.clone(), revision, control };
        tasks.runners.spawn(runner.run(live, finish));
        Some((id, record))
    }
}

impl Drop for CreatedTask {
    fn drop(&mut self) {
        let Some(Stored { tasks, id, stored, .. }) = self.0.take() else { return };
        tasks.remove_stored(&id, stored.map(|(_, lease)| lease));
    }
}

impl Tasks {
    /// Removes a task and everything that is stored of it. Nobody waits for it: a task that stays although it should not is
    /// removed at the end of its time.
    pub(super) fn remove_stored(&self, id: &TaskId, lease: Option<Lease>) {
        self.table.lock().remove(id);
        for key in [record_key(id), call_key(id)].into_iter().flatten() {
            // It takes its turn now, whether or not anybody waits.
            drop(self.store.remove(&key, Expected::Any, Strength::Process));
        }
        if let Some(lease) = lease {
            drop(self.store.release(&lease));
        }
    }
}
