//! Opens the tasks in the state folder, and finds the one that the user means.

use crate::cli::options::ConfigFile;
use anyhow::{Context, bail, ensure};
use mcp::{StoredTask, StoredTasks};
use platform::clock::{Clock, SystemClock};
use platform::storage::SqliteStore;
use std::sync::Arc;

/// The shortest part of an id that names a task.
const SHORTEST_ID: usize = 4;

pub(super) async fn open(file: &ConfigFile) -> anyhow::Result<StoredTasks> {
    let folder = file.load_or_empty()?.state.context("no state folder: set PORTCULLIS_STATE or server.state")?;
    ensure!(folder.is_dir(), "there is no folder {}: nothing was kept yet", folder.display());
    let store = tokio::task::spawn_blocking(move || SqliteStore::open(&folder, Arc::new(SystemClock))).await??;
    Ok(StoredTasks::new(Arc::new(store)))
}

/// The task with this id, or the only one whose id begins with it.
pub(super) async fn find(tasks: &StoredTasks, id: &str) -> anyhow::Result<StoredTask> {
    if let Some(task) = tasks.get(id).await? {
        return Ok(task);
    }
    ensure!(id.len() >= SHORTEST_ID, "write at least {SHORTEST_ID} characters of the id");
    let mut found: Vec<_> = tasks.list().await?.into_iter().filter(|task| task.id.starts_with(id)).collect();
    match (found.pop(), found.len()) {
        (Some(task), 0) => Ok(task),
        (Some(_), more) => bail!("{} tasks have ids that begin with {id:?}; write more of it", more + 1),
        (None, _) => bail!("there is no task {id:?}; `portcullis task list` lists those that are kept"),
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    u64::try_from(SystemClock.unix().as_millis()).unwrap_or(u64::MAX)
}
