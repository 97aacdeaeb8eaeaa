//! What becomes of tasks whose process does not serve them any more: the one place where that is decided, for those that an
//! earlier process left behind and for those that run when this one stops.
//!
//! Their calls cannot go on: a call lives in its process. So they end, and say why.

use super::control::StopReason;
use super::record::{TaskRecord, TaskState};
use super::table::TaskId;
use super::tasks::{LEASE, Tasks, all_records, parse, record_key};
use platform::durable::{DurableError, Expected, Key, Record, Strength};
use std::time::Duration;

/// Records that are read at once.
const PAGE: u32 = 100;
/// How long tasks that are cancelled may take to end when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How a task ends that an earlier process left behind.
fn left_behind() -> (TaskState, Option<String>) {
    let text = "The host was restarted while the task ran, and its call was lost.";
    (TaskState::failed(text), Some(text.into()))
}

/// How a task ends that runs when the process stops.
pub(super) fn at_shutdown() -> (TaskState, Option<String>) {
    (TaskState::Cancelled, Some("The host was stopped while the task ran.".into()))
}

impl Tasks {
    /// Takes up all stored tasks. Those that have not ended and that nobody serves any more end now. Returns how many may
    /// still be served by another process, or by one that ended a moment ago.
    pub(super) async fn take_up(&self) -> Result<usize, DurableError> {
        let Some(prefix) = all_records() else { return Ok(0) };
        let (mut after, mut others) = (None, 0);
        loop {
            let page = self.store.list(&prefix, after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(others) };
            after = Some(last.clone());
            for (key, record) in page {
                others += usize::from(!self.take_up_one(key, record).await?);
            }
        }
    }

    /// False if another process may still serve it.
    async fn take_up_one(&self, key: Key, record: Record) -> Result<bool, DurableError> {
        let Some((_, id)) = key.as_str().rsplit_once('/') else { return Ok(true) };
        let id: TaskId = id.into();
        if self.running.lock().contains_key(&id) {
            return Ok(true);
        }
        let Some((task, record)) = parse(&id, record) else { return Ok(true) };
        let bytes = record.value.len() as u64;
        let expires = task.expires();
        if task.has_ended() {
            self.table.lock().insert_stored(&id, &task.principal(), bytes, expires);
            return Ok(true);
        }
        let Some(lease) = self.store.acquire(&key, &self.holder, LEASE).await? else { return Ok(false) };
        // It may have ended before the lease was free.
        let Some((task, record)) = self.load(&id).await? else { return Ok(true) };
        let task = if task.has_ended() { task } else { self.end_left_behind(&id, task, record).await? };
        self.table.lock().insert_stored(&id, &task.principal(), bytes, task.expires());
        drop(self.store.release(&lease));
        Ok(true)
    }

    async fn end_left_behind(
        &self,
        id: &TaskId,
        mut task: TaskRecord,
        record: Record,
    ) -> Result<TaskRecord, DurableError> {
        let (state, message) = left_behind();
        task.change(state, message, self.now(), self.limits.keep);
        if let Some(key) = record_key(id) {
            self.store.put(&key, task.to_bytes(), Expected::At(record.revision), Strength::Power).await?;
            tracing::warn!(task = &**id, tool = task.tool, "a task was lost when the host ended");
            self.changed(&task.principal(), id);
        }
        Ok(task)
    }

    /// Ends all tasks that run, since their calls cannot outlive the process.
    pub async fn close(&self) {
        for running in self.running.lock().values() {
            running.stop(StopReason::Shutdown);
        }
        self.runners.close();
        if tokio::time::timeout(STOP_TIMEOUT, self.runners.wait()).await.is_err() {
            tracing::error!("tasks do not end; the next start of the host says that they were lost");
        }
    }
}
