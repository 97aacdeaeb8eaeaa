//! A connection to a database, and how its failures are handled.

use super::error::StorageError;
use super::health::Health;
use super::job::Job;
use crate::durable::Durability;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Opens the database again after an error of the disk. Succeeds only when everything that was acknowledged is on the disk and
/// something new could be written.
pub(super) type Repair = Box<dyn FnMut() -> Result<Connection, StorageError> + Send>;

pub(super) struct RepairableConnection {
    /// None after an error of the disk, until the repair succeeds.
    connection: Option<Connection>,
    kind: TransactionBehavior,
    /// The setting of the connection, once it is known.
    durability: Option<Durability>,
    repair: Option<Repair>,
    health: Arc<Health>,
    wal: Option<WalLength>,
}

/// The length of a database's write-ahead log. Where it is given, the storage thread copies the log into the file, so that
/// others may make small changes on their own threads. Clones share it.
#[derive(Clone, Default)]
pub(super) struct WalLength(Arc<AtomicI32>);

/// Length at which the write-ahead log is copied into the file. From a long log, each page is copied only once, however often
/// it was written. But a longer log takes longer to read after a crash.
pub(super) const WAL_BYTES: i32 = 32 << 20;
pub(super) const PAGE: i32 = 4_096;
/// How long to wait for another process that is writing.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

impl WalLength {
    /// Notes the length of the write-ahead log after each commit of this connection.
    pub(super) fn watch(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let pages = self.0.clone();
        connection.wal_hook(Some(move |_: &mut Wal, now| {
            pages.store(now, Ordering::Relaxed);
            Ok(())
        }))
    }

    fn is_long(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= WAL_BYTES / PAGE
    }
}

/// Why no job of a group was done.
enum GroupError {
    /// A job cannot be done, there is no room for it, or another process has locked the file. Nothing has changed, and other
    /// jobs may succeed.
    Passing(StorageError),
    /// The file contains something that is impossible, so it is damaged.
    Damaged(StorageError),
    /// After an error of the disk, SQLite's memory of the file may be wrong, and so may the kernel's: it treats pages as
    /// written although their write failed.
    Disk(StorageError),
}

impl GroupError {
    fn into_inner(self) -> StorageError {
        match self {
            Self::Passing(error) | Self::Damaged(error) | Self::Disk(error) => error,
        }
    }
}

impl From<rusqlite::Error> for GroupError {
    fn from(error: rusqlite::Error) -> Self {
        use ErrorCode::{
            CannotOpen, DatabaseCorrupt, FileLockingProtocolFailed, NotADatabase, ReadOnly, SystemIoFailure,
        };
        match error.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::Damaged(error.into()),
            Some(SystemIoFailure | ReadOnly | CannotOpen | FileLockingProtocolFailed) => Self::Disk(error.into()),
            _ => Self::Passing(error.into()),
        }
    }
}

impl RepairableConnection {
    pub(super) fn new(
        connection: Connection,
        kind: TransactionBehavior,
        repair: Option<Repair>,
        health: Arc<Health>,
        wal: Option<WalLength>,
    ) -> Self {
        Self { connection: Some(connection), kind, durability: None, repair, health, wal }
    }

    /// Closes the connection: all later jobs fail.
    pub(super) fn close(&mut self) {
        (self.connection, self.repair, self.wal) = (None, None, None);
    }

    pub(super) fn needs_repair(&self) -> bool {
        self.connection.is_none()
    }

    /// Does all jobs in one transaction. If one of them fails, each is done in a transaction of its own. That is rare, and
    /// savepoints would double the cost of every job.
    pub(super) fn serve(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        let failed = match self.attempt(&mut jobs) {
            Err(GroupError::Passing(_) | GroupError::Damaged(_)) if jobs.len() > 1 => {
                for job in jobs {
                    self.serve(vec![job]);
                }
                return;
            }
            result => result.err(),
        };
        self.finish(jobs, failed);
        if let (Some(wal), Some(connection)) = (&self.wal, &self.connection)
            && wal.is_long()
            && let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        {
            self.notice(&error.into());
        }
    }

    /// Does a job on the caller's thread. Returns the job if it could take long; then nothing has changed.
    pub(super) fn serve_at_once(&mut self, job: Box<dyn Job>) -> Result<(), Box<dyn Job>> {
        let is_short =
            self.wal.as_ref().is_some_and(|wal| !wal.is_long()) && job.durability() == Some(Durability::Process);
        let Some(connection) = self.connection.as_ref().filter(|_| is_short) else { return Err(job) };
        let mut jobs = [job];
        let attempt = match connection.busy_timeout(Duration::ZERO) {
            Ok(()) => self.attempt(&mut jobs),
            Err(error) => Err(error.into()),
        };
        let [job] = jobs;
        let patient = self.connection.as_ref().map_or(Ok(()), |connection| connection.busy_timeout(PATIENCE));
        match (attempt, patient) {
            (Err(GroupError::Passing(_)), _) => Err(job),
            (attempt, patient) => {
                self.finish(vec![job], attempt.err());
                if let Err(error) = patient {
                    self.notice(&error.into());
                }
                Ok(())
            }
        }
    }

    fn finish(&mut self, jobs: Vec<Box<dyn Job>>, failed: Option<GroupError>) {
        if let Some(failed) = &failed {
            self.notice(failed);
        }
        let failed = failed.map(GroupError::into_inner);
        for job in jobs {
            job.finish(failed.as_ref());
        }
    }

    fn notice(&mut self, failed: &GroupError) {
        match failed {
            GroupError::Disk(error) if self.repair.is_some() => {
                self.connection = None;
                self.health.fail(error);
            }
            // The undamaged part of the file can still be read.
            GroupError::Damaged(error) => self.health.fail(error),
            GroupError::Disk(_) | GroupError::Passing(_) => {}
        }
    }

    fn attempt(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), GroupError> {
        let connection = match (&mut self.connection, &mut self.repair) {
            (Some(connection), _) => connection,
            (None, Some(repair)) => {
                let connection = repair().map_err(GroupError::Disk)?;
                self.health.heal();
                self.durability = None;
                self.connection.insert(connection)
            }
            (None, None) => return Err(GroupError::Disk(StorageError::Closed)),
        };
        let Some(durability) = jobs.iter().filter_map(|job| job.durability()).max() else { return Ok(()) };
        // This setting cannot be changed inside a transaction.
        if self.durability != Some(durability) {
            connection.pragma_update(None, "synchronous", synchronous(durability))?;
            self.durability = Some(durability);
        }
        Ok(transact(connection, self.kind, |connection| jobs.iter_mut().try_for_each(|job| job.run(connection)))?)
    }
}

/// Does the work in a transaction, with statements that are prepared once.
fn transact(
    connection: &Connection,
    kind: TransactionBehavior,
    work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let run = |sql: &str| connection.prepare_cached(sql)?.execute([]).map(drop);
    // A transaction is still open if it could not be rolled back, or if its work has panicked.
    if !connection.is_autocommit() {
        run("ROLLBACK")?;
    }
    run(match kind {
        TransactionBehavior::Immediate => "BEGIN IMMEDIATE",
        _ => "BEGIN",
    })?;
    let done = work(connection).and_then(|()| run("COMMIT"));
    if done.is_err() && !connection.is_autocommit() {
        run("ROLLBACK")?;
    }
    done
}

/// A commit with `FULL` waits until the whole write-ahead log is on the disk, so all earlier commits are kept, too.
pub(super) fn synchronous(durability: Durability) -> &'static str {
    match durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    }
}
