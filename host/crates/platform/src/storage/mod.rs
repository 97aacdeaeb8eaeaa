//! What outlives the process: the only place that names SQLite. Sessions of the legacy protocol and what was said on
//! their streams, so that a client may resume after a broken connection or a restart of the server; credentials of
//! connected accounts; values that plugins keep. Each in a file of its own.
//!
//! Of sessions and streams: one file, one connection, one thread. Everything that is asked of it is queued and done in the order in which it was
//! asked; what waits is committed together, so a burst costs one commit. Nothing here knows the protocol: messages are
//! texts, principals are names.

mod open;
mod prune;
mod sessions;
mod streams;
#[cfg(test)]
mod tests;
mod thread;
mod tokens;
mod values;

pub use sessions::{Admission, Quota};
pub use streams::{Event, StreamKey, StreamRecord};
pub use thread::{Pending, Undone};
pub use tokens::{Tokens, TokensError};
pub use values::{Expected, Kept, Owner, Put, Room, Values};

use crate::clock::Clock;
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thread::Worker;

/// Why something is not kept.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum StorageError {
    #[error(
        "the state folder {path} cannot be used: {problem}; set PORTCULLIS_STATE or server.state to a folder of your own"
    )]
    Folder { path: PathBuf, problem: String },
    #[error(
        "{path} is in use by another portcullis: stop it, or give this one a state folder of its own (PORTCULLIS_STATE or server.state)"
    )]
    InUse { path: PathBuf },
    #[error("{path} cannot be used: {problem}; if nothing in it is needed any more, remove it")]
    Broken { path: PathBuf, problem: String },
    #[error(
        "{path} was written by a newer portcullis (format {found}, this one knows {known}): run that one, or set another state folder"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("the state cannot be kept: {0}")]
    Sql(String),
    #[error("the state is closed")]
    Closed,
}

impl From<rusqlite::Error> for StorageError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error.to_string())
    }
}

/// The open state. Clones are the same.
#[derive(Clone)]
pub struct Storage {
    worker: Arc<Worker>,
    clock: Arc<dyn Clock>,
}

impl Storage {
    /// Opens the state of a folder, making both when they are missing. Blocks.
    pub fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, StorageError> {
        let connection = open::open(folder)?;
        let time = clock.clone();
        let upkeep = Arc::new(move |connection: &Connection| prune::prune(connection, seconds(time.as_ref())));
        let worker = Arc::new(Worker::start(connection, TransactionBehavior::Immediate, Some(upkeep))?);
        Ok(Self { worker, clock })
    }

    /// Waits until everything asked for so far is done, and closes the file. What is asked for later fails.
    pub async fn close(&self) {
        self.worker.close().await;
    }

    /// Seconds since 1970.
    fn now(&self) -> i64 {
        seconds(self.clock.as_ref())
    }
}

fn seconds(clock: &dyn Clock) -> i64 {
    i64::try_from(clock.unix().as_secs()).unwrap_or(i64::MAX)
}
