//! A connection with what is done when it fails.

use super::error::StorageError;
use super::health::Health;
use super::job::Job;
use crate::durable::Strength;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::sync::Arc;

/// Opens the database again after an error of the disk, and succeeds only once everything acknowledged is on the disk and
/// something new could be written.
pub(super) type Repair = Box<dyn FnMut() -> Result<Connection, StorageError> + Send>;

pub(super) struct Owner {
    /// None after an error of the disk, until the repair succeeds.
    connection: Option<Connection>,
    kind: TransactionBehavior,
    /// What the connection is set to, once this is known.
    strength: Option<Strength>,
    repair: Option<Repair>,
    health: Arc<Health>,
}

/// Why no job of a group was done.
enum GroupError {
    /// One of them cannot be done, there is no room for it, or another process has the file: nothing has changed, and others
    /// may succeed.
    Passing(StorageError),
    /// After an error of the disk SQLite's memory of the file may be wrong, and so may the kernel's: pages whose write
    /// failed count as written.
    Disk(StorageError),
}

impl GroupError {
    fn into_inner(self) -> StorageError {
        match self {
            Self::Passing(error) | Self::Disk(error) => error,
        }
    }
}

impl From<rusqlite::Error> for GroupError {
    fn from(error: rusqlite::Error) -> Self {
        use ErrorCode::{CannotOpen, FileLockingProtocolFailed, ReadOnly, SystemIoFailure};
        match error.sqlite_error_code() {
            Some(SystemIoFailure | ReadOnly | CannotOpen | FileLockingProtocolFailed) => Self::Disk(error.into()),
            _ => Self::Passing(error.into()),
        }
    }
}

impl Owner {
    pub(super) fn new(
        connection: Connection,
        kind: TransactionBehavior,
        repair: Option<Repair>,
        health: Arc<Health>,
    ) -> Self {
        Self { connection: Some(connection), kind, strength: None, repair, health }
    }

    pub(super) fn needs_repair(&self) -> bool {
        self.connection.is_none()
    }

    /// Does all jobs in one transaction. If one of them fails, each is done in its own: that is rare, and savepoints would
    /// cost every job as much as its work.
    pub(super) fn serve(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        let failed = match self.attempt(&mut jobs) {
            Err(GroupError::Passing(_)) if jobs.len() > 1 => {
                for job in jobs {
                    self.serve(vec![job]);
                }
                return;
            }
            result => result.err(),
        };
        if let Some(GroupError::Disk(error)) = &failed
            && self.repair.is_some()
        {
            self.connection = None;
            self.health.fail(error);
        }
        let failed = failed.map(GroupError::into_inner);
        for job in jobs {
            job.finish(failed.as_ref());
        }
    }

    fn attempt(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), GroupError> {
        let connection = match (&mut self.connection, &mut self.repair) {
            (Some(connection), _) => connection,
            (None, Some(repair)) => {
                let connection = repair().map_err(GroupError::Disk)?;
                self.health.heal();
                self.strength = None;
                self.connection.insert(connection)
            }
            (None, None) => return Err(GroupError::Disk(StorageError::Closed)),
        };
        let Some(strength) = jobs.iter().filter_map(|job| job.strength()).max() else { return Ok(()) };
        // It cannot be changed inside a transaction.
        if self.strength != Some(strength) {
            connection.pragma_update(None, "synchronous", synchronous(strength))?;
            self.strength = Some(strength);
        }
        let group = connection.transaction_with_behavior(self.kind)?;
        for job in jobs.iter_mut() {
            job.run(&group)?;
        }
        group.commit()?;
        Ok(())
    }
}

/// A commit with `FULL` waits until the disk has the whole write-ahead log, so it keeps all commits before it, too.
pub(super) fn synchronous(strength: Strength) -> &'static str {
    match strength {
        Strength::Process => "NORMAL",
        Strength::Power => "FULL",
    }
}
