//! Takes up the tasks that an earlier process has left behind.

use super::control::RunningTask;
use super::keys::all_records;
use super::runner::TaskRunner;
use super::table::TaskId;
use super::tasks::{LEASE, Tasks, parse};
use platform::durable::{DurableError, Expected, Key, Record, Strength};
use std::sync::Arc;

/// Records that are read at once.
const PAGE: u32 = 100;

impl Tasks {
    /// Takes up all stored tasks. Those that have not ended, and that nobody serves any more, go on here. Returns how many may
    /// still be served by another process, or by one that ended a moment ago.
    pub(super) async fn take_up(self: &Arc<Self>) -> Result<usize, DurableError> {
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
    async fn take_up_one(self: &Arc<Self>, key: Key, record: Record) -> Result<bool, DurableError> {
        let Some((_, id)) = key.as_str().rsplit_once('/') else { return Ok(true) };
        let id: TaskId = id.into();
        // In this order: it runs before it is no longer starting.
        if self.starting.lock().contains(&id) || self.running.lock().contains_key(&id) {
            return Ok(true);
        }
        let Some((task, record)) = parse(&id, record) else { return Ok(true) };
        let bytes = record.value.len() as u64;
        if task.has_ended() {
            self.table.lock().insert_stored(&id, &task.principal(), bytes, task.expires());
            return Ok(true);
        }
        let Some(lease) = self.store.acquire(&key, &self.holder, LEASE).await? else { return Ok(false) };
        // It may have ended before the lease was free.
        let Some((mut task, record)) = self.load(&id).await? else { return Ok(true) };
        self.table.lock().insert_stored(&id, &task.principal(), bytes, task.expires());
        if task.has_ended() {
            drop(self.store.release(&lease));
            return Ok(true);
        }
        task.owner = lease.fence.0;
        let written = self.store.put(&key, task.to_bytes(), Expected::At(record.revision), Strength::Process);
        let revision = written.await?;
        let (running, control) = RunningTask::new(lease);
        self.running.lock().insert(id.clone(), running);
        self.runners.spawn(TaskRunner::new(self.clone(), id, task, revision, control).resume());
        Ok(true)
    }
}
