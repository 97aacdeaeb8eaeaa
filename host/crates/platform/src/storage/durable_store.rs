//! Records, logs and leases in one file, which several processes of one user may share.
//!
//! One thread writes and commits all queued changes together, and one thread reads. The writing thread passes a read on once
//! everything that was requested before it is committed. A small request that need not wait, neither for others nor for the
//! disk, runs on the caller's thread at once: a step of a call must not cost two switches of threads.

use super::durable_limits::DurableLimits;
use super::error::StorageError;
use super::health::Health;
use super::opened_file::OpenedFile;
use super::repairable_connection::WalLength;
use super::worker::{Setup, Worker};
use super::{durable_leases as leases, durable_logs as logs, durable_records as records, durable_tables as tables};
use crate::clock::Clock;
use crate::durable::{
    Durability, DurableError, DurableStore, Entries, Expected, Fence, Key, Lease, Record, Revision, StoreAnswer,
};
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

#[cfg(test)]
mod disk_tests;
#[cfg(test)]
mod kill_tests;
#[cfg(test)]
mod shared_tests;
#[cfg(test)]
mod tests;

/// The open file. Clones share it.
#[derive(Clone)]
pub struct SqliteStore {
    writes: Arc<Worker>,
    reads: Arc<Worker>,
    health: Arc<Health>,
    file: Arc<OpenedFile>,
    clock: Arc<dyn Clock>,
    limits: DurableLimits,
    /// Bytes of changes that wait for the disk.
    waiting: Arc<AtomicU64>,
}

/// How long a request may take, apart from the time for its bytes.
#[derive(Clone, Copy)]
enum Time {
    /// It touches only a few rows.
    Short,
    Long,
}

/// A read of a log with more bytes runs on the thread of the store, and so does a change with more bytes. Bounds how long a
/// request keeps the caller's thread busy, which others wait for.
const MOST_READ_AT_ONCE: u64 = 64 << 10;
const MOST_AT_ONCE: u64 = 16 << 10;
/// Bytes that a waiting change counts in addition to its own.
const CHANGE_COST: u64 = 512;

impl SqliteStore {
    /// Opens the file in the state folder and creates both if they are missing, private to this user. Blocks.
    pub fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, StorageError> {
        Self::open_with(folder, clock, DurableLimits::default())
    }

    pub fn open_with(folder: &Path, clock: Arc<dyn Clock>, limits: DurableLimits) -> Result<Self, StorageError> {
        let wal = WalLength::default();
        let tables::Opened { path, writer, reader } = tables::open(folder, &limits, &wal)?;
        let health = Arc::<Health>::default();
        let file = Arc::new(OpenedFile::new(path.clone())?);
        let watched = wal.clone();
        let writes = Setup {
            repair: Some(Box::new(move || tables::repair(&path, &limits, &watched))),
            health: health.clone(),
            wal: Some(wal),
            ..Setup::new(writer, TransactionBehavior::Immediate, Durability::Process)
        };
        // This connection never writes, so its write-ahead log has no length.
        let wal = Some(WalLength::default());
        let reads = Setup {
            wal,
            health: health.clone(),
            ..Setup::new(reader, TransactionBehavior::Deferred, Durability::Process)
        };
        let (writes, reads) = (Arc::new(Worker::start(writes)?), Arc::new(Worker::start(reads)?));
        Ok(Self { writes, reads, health, file, clock, limits, waiting: Arc::default() })
    }

    /// Waits for all queued requests and closes the file. Later requests fail.
    pub async fn close(&self) {
        self.writes.close().await;
        self.reads.close().await;
    }

    fn read_with<T: Send + 'static>(
        &self,
        time: Time,
        job: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreAnswer<T> {
        let (answer, pending) = oneshot::channel();
        let done = move |result: Result<T, StorageError>| {
            // The caller may not wait for the answer.
            let _ = answer.send(result.map_err(DurableError::from));
        };
        // Otherwise the read would not see earlier changes of this process, or would not report that nothing can be changed.
        if self.waiting.load(Ordering::Relaxed) == 0 && !self.health.is_broken() {
            drop(match time {
                Time::Short => self.reads.tell_at_once(Durability::Process, job, done),
                Time::Long => self.reads.tell(job, done),
            });
        } else {
            let reads = self.reads.clone();
            drop(self.writes.afterwards(move |before| match before {
                Ok(()) => drop(reads.tell(job, done)),
                Err(error) => done(Err(error)),
            }));
        }
        answered(pending)
    }

    /// Makes a change that takes this many bytes while it waits.
    fn change<T: Send + 'static>(
        &self,
        (durability, time): (Durability, Time),
        bytes: u64,
        job: impl FnMut(&Connection) -> rusqlite::Result<Result<T, DurableError>> + Send + 'static,
    ) -> StoreAnswer<T> {
        let (answer, pending) = oneshot::channel();
        let (waiting, most, cost) = (self.waiting.clone(), self.limits.queue, bytes + CHANGE_COST);
        if waiting.fetch_add(cost, Ordering::Relaxed) + cost > most {
            waiting.fetch_sub(cost, Ordering::Relaxed);
            let full = DurableError::Full(format!("changes of {most} bytes wait for the disk"));
            return Box::pin(std::future::ready(Err(full)));
        }
        let health = self.health.clone();
        let done = move |result: Result<Result<T, DurableError>, StorageError>| {
            waiting.fetch_sub(cost, Ordering::Relaxed);
            match &result {
                Ok(Ok(_)) if bytes > 0 => health.stored(bytes),
                Err(error @ StorageError::Full(_)) => health.full(error, bytes),
                _ => {}
            }
            let _ = answer.send(result.map_err(DurableError::from).and_then(|result| result));
        };
        drop(match time {
            Time::Short if bytes <= MOST_AT_ONCE => self.writes.tell_at_once(durability, job, done),
            Time::Short | Time::Long => self.writes.tell_with(durability, job, done),
        });
        answered(pending)
    }

    /// Fails if one value is too large.
    fn fits<'a>(&self, values: impl IntoIterator<Item = &'a Vec<u8>>) -> Result<(), DurableError> {
        let most = self.limits.value;
        let largest = values.into_iter().map(|value| value.len() as u64).max().unwrap_or_default();
        if largest > most { Err(DurableError::TooLarge { bytes: largest, most }) } else { Ok(()) }
    }
}

fn answered<T: Send + 'static>(pending: oneshot::Receiver<Result<T, DurableError>>) -> StoreAnswer<T> {
    Box::pin(async move { pending.await.unwrap_or(Err(DurableError::Closed)) })
}

impl From<StorageError> for DurableError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Closed => Self::Closed,
            StorageError::Full(problem) => Self::Full(problem),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl SqliteStore {
    /// Appends entries to a log, or replaces all its entries by them.
    fn write_log(
        &self,
        (write, time): (logs::Write, Time),
        log: &Key,
        fence: Fence,
        next: u64,
        entries: Vec<Vec<u8>>,
        durability: Durability,
    ) -> StoreAnswer<()> {
        let (log, fits, most) = (log.clone(), self.fits(&entries), self.limits.log);
        let bytes = entries.iter().map(|entry| entry.len() as u64).sum();
        self.change((durability, time), bytes, move |connection| match &fits {
            Ok(()) => write(connection, &log, fence, next, &entries, most),
            Err(error) => Ok(Err(error.clone())),
        })
    }
}

impl DurableStore for SqliteStore {
    fn get(&self, key: &Key) -> StoreAnswer<Option<Record>> {
        let key = key.clone();
        self.read_with(Time::Short, move |connection| records::get(connection, &key))
    }

    fn put(&self, key: &Key, value: Vec<u8>, expected: Expected, durability: Durability) -> StoreAnswer<Revision> {
        let (key, fits) = (key.clone(), self.fits([&value]));
        self.change((durability, Time::Short), value.len() as u64, move |connection| match &fits {
            Ok(()) => records::put(connection, &key, &value, expected),
            Err(error) => Ok(Err(error.clone())),
        })
    }

    fn remove(&self, key: &Key, expected: Expected, durability: Durability) -> StoreAnswer<()> {
        let key = key.clone();
        self.change((durability, Time::Short), 0, move |connection| records::remove(connection, &key, expected))
    }

    fn list(&self, prefix: &Key, after: Option<&Key>, most: u32) -> StoreAnswer<Vec<(Key, Record)>> {
        let (prefix, after) = (prefix.clone(), after.cloned());
        self.read_with(Time::Short, move |connection| records::list(connection, &prefix, after.as_ref(), most))
    }

    fn append(
        &self,
        log: &Key,
        fence: Fence,
        next: u64,
        entries: Vec<Vec<u8>>,
        durability: Durability,
    ) -> StoreAnswer<()> {
        self.write_log((logs::append, Time::Short), log, fence, next, entries, durability)
    }

    fn read(&self, log: &Key, from: u64, most_bytes: u64) -> StoreAnswer<Entries> {
        let log = log.clone();
        let time = if most_bytes <= MOST_READ_AT_ONCE { Time::Short } else { Time::Long };
        self.read_with(time, move |connection| logs::read(connection, &log, from, most_bytes))
    }

    fn trim(&self, log: &Key, fence: Fence, before: u64) -> StoreAnswer<()> {
        let log = log.clone();
        self.change((Durability::Process, Time::Long), 0, move |connection| logs::trim(connection, &log, fence, before))
    }

    fn replace(
        &self,
        log: &Key,
        fence: Fence,
        next: u64,
        entries: Vec<Vec<u8>>,
        durability: Durability,
    ) -> StoreAnswer<()> {
        self.write_log((logs::replace, Time::Long), log, fence, next, entries, durability)
    }

    fn remove_log(&self, log: &Key) -> StoreAnswer<()> {
        let log = log.clone();
        self.change((Durability::Process, Time::Long), 0, move |connection| logs::remove(connection, &log).map(Ok))
    }

    fn acquire(&self, name: &Key, holder: &str, time: Duration) -> StoreAnswer<Option<Lease>> {
        let (name, holder, clock) = (name.clone(), holder.to_owned(), self.clock.clone());
        self.change((Durability::Process, Time::Short), 0, move |connection| {
            leases::acquire(connection, &name, &holder, time, clock.awake()).map(Ok)
        })
    }

    fn renew(&self, leases: Vec<Lease>, time: Duration) -> StoreAnswer<Vec<Lease>> {
        let clock = self.clock.clone();
        self.change((Durability::Process, Time::Long), 0, move |connection| {
            leases::renew(connection, &leases, time, clock.awake()).map(Ok)
        })
    }

    fn expired(&self, prefix: &Key) -> StoreAnswer<Vec<Lease>> {
        let (prefix, clock) = (prefix.clone(), self.clock.clone());
        self.read_with(Time::Long, move |connection| leases::expired(connection, &prefix, clock.awake()))
    }

    fn release(&self, lease: &Lease) -> StoreAnswer<()> {
        let lease = lease.clone();
        self.change((Durability::Process, Time::Short), 0, move |connection| {
            leases::release(connection, &lease).map(Ok)
        })
    }

    fn problem(&self) -> Option<DurableError> {
        self.health.problem().or_else(|| self.file.problem()).map(DurableError::from)
    }
}
