//! A connection with what is done when it fails.

use super::error::StorageError;
use super::health::Health;
use super::job::Job;
use crate::durable::Strength;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Opens the database again after an error of the disk, and succeeds only once everything acknowledged is on the disk and
/// something new could be written.
pub(super) type Repair = Box<dyn FnMut() -> Result<Connection, StorageError> + Send>;

pub(super) struct WriterConnection {
    /// None after an error of the disk, until the repair succeeds.
    connection: Option<Connection>,
    kind: TransactionBehavior,
    /// What the connection is set to, once this is known.
    strength: Option<Strength>,
    repair: Option<Repair>,
    health: Arc<Health>,
    wal: Option<WalLength>,
}

/// How long the write-ahead log of a database is that is copied into the file on the storage thread, so that others may make
/// small changes at once. Clones share it.
#[derive(Clone, Default)]
pub(super) struct WalLength(Arc<AtomicI32>);

/// Length of the write-ahead log at which it is copied into the file. Each page is copied once from a long one, however often it
/// was written; one that is longer takes longer to read after a crash.
pub(super) const WAL_BYTES: i32 = 32 << 20;
pub(super) const PAGE: i32 = 4_096;
/// How long to wait for another process that is writing.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

impl WalLength {
    /// From now on it knows how long the log is behind each commit of this connection.
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
    /// One of them cannot be done, there is no room for it, or another process has the file: nothing has changed, and others
    /// may succeed.
    Passing(StorageError),
    /// What was found in the file cannot be: it is damaged.
    Damaged(StorageError),
    /// After an error of the disk SQLite's memory of the file may be wrong, and so may the kernel's: pages whose write
    /// failed count as written.
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

impl WriterConnection {
    pub(super) fn new(
        connection: Connection,
        kind: TransactionBehavior,
        repair: Option<Repair>,
        health: Arc<Health>,
        wal: Option<WalLength>,
    ) -> Self {
        Self { connection: Some(connection), kind, strength: None, repair, health, wal }
    }

    /// Nothing can be done any more.
    pub(super) fn close(&mut self) {
        (self.connection, self.repair, self.wal) = (None, None, None);
    }

    pub(super) fn needs_repair(&self) -> bool {
        self.connection.is_none()
    }

    /// Does all jobs in one transaction. If one of them fails, each is done in its own: that is rare, and savepoints would
    /// cost every job as much as its work.
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

    /// Does a job on the thread of whoever wants it done. Returns it if that could take long: then nothing has changed.
    pub(super) fn serve_at_once(&mut self, job: Box<dyn Job>) -> Result<(), Box<dyn Job>> {
        let is_short = self.wal.as_ref().is_some_and(|wal| !wal.is_long()) && job.strength() == Some(Strength::Process);
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
            // What is left of it can still be read.
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
    // Of a transaction that could not be rolled back, or whose work has panicked.
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

/// A commit with `FULL` waits until the disk has the whole write-ahead log, so it keeps all commits before it, too.
pub(super) fn synchronous(strength: Strength) -> &'static str {
    match strength {
        Strength::Process => "NORMAL",
        Strength::Power => "FULL",
    }
}
