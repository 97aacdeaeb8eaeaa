//! The store of sessions and their streams, with one file, one connection and one thread.
//!
//! Jobs run in the order in which they are queued. All jobs that wait are committed together, so a burst costs one commit.

use super::error::StorageError;
use super::worker::{Setup, Worker};
use super::{open, prune};
use crate::clock::Clock;
use crate::durable::Durability;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The open store. Clones share it.
#[derive(Clone)]
pub struct SessionStore {
    pub(super) worker: Arc<Worker>,
    clock: Arc<dyn Clock>,
    /// Bytes of calls that wait to be stored.
    pub(super) queued_calls: Arc<AtomicUsize>,
}

impl SessionStore {
    /// Opens the store in a folder, creating both if they are missing. Blocks.
    pub fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, StorageError> {
        let connection = open::open(folder)?;
        let time = clock.clone();
        let upkeep = Arc::new(move |connection: &Connection| prune::prune(connection, seconds(time.as_ref())));
        let setup = Setup::new(connection, TransactionBehavior::Immediate, Durability::Process);
        let worker = Arc::new(Worker::start(Setup { upkeep: Some(upkeep), ..setup })?);
        Ok(Self { worker, clock, queued_calls: Arc::default() })
    }

    /// Waits for all queued jobs and closes the file. Later jobs fail.
    pub async fn close(&self) {
        self.worker.close().await;
    }

    pub(super) fn now(&self) -> i64 {
        seconds(self.clock.as_ref())
    }
}

fn seconds(clock: &dyn Clock) -> i64 {
    i64::try_from(clock.unix().as_secs()).unwrap_or(i64::MAX)
}
