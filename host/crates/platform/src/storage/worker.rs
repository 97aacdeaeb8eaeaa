//! The thread of a database: jobs run in order and are committed in groups.

use super::error::StorageError;
use super::health::Health;
use super::job::{Afterwards, DatabaseJob, Job};
use super::repairable_connection::{Repair, RepairableConnection, WalLength};
use crate::durable::Durability;
use crate::sync::Mutex;
use rusqlite::{Connection, TransactionBehavior};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, Sender, channel};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::oneshot;

/// Maximum number of jobs per commit. Bounds how long the first one waits for the last one.
const GROUP: usize = 256;
/// How often maintenance runs while the worker is idle.
const PRUNE_EVERY: Duration = Duration::from_secs(5);
/// How often an idle worker tries to repair its database.
const REPAIR_EVERY: Duration = Duration::from_secs(1);
/// Maintenance runs at the latest after this many jobs. Bounds what accumulates between two runs.
const PRUNE_AFTER: usize = 4_096;

/// A job that runs regularly.
pub(super) type RegularJob = Arc<dyn Fn(&Connection) -> rusqlite::Result<()> + Send + Sync>;

enum Order {
    Job(Box<dyn Job>),
    /// Closes the file and then confirms that.
    Close(oneshot::Sender<()>),
}

pub(super) struct Worker {
    orders: Sender<Order>,
    durability: Durability,
    connection: Arc<Mutex<RepairableConnection>>,
    /// How many orders the thread has not started yet.
    queued: Arc<AtomicUsize>,
}

/// What a worker needs to know about its database.
pub(super) struct Setup {
    pub(super) connection: Connection,
    /// Each group of jobs is a transaction of this kind.
    pub(super) kind: TransactionBehavior,
    /// For jobs that do not choose their own.
    pub(super) durability: Durability,
    pub(super) upkeep: Option<RegularJob>,
    /// Opens the database again after an error of the disk.
    pub(super) repair: Option<Repair>,
    pub(super) health: Arc<Health>,
    /// Given for a database in which small changes may be made on the caller's thread.
    pub(super) wal: Option<WalLength>,
}

impl Setup {
    pub(super) fn new(connection: Connection, kind: TransactionBehavior, durability: Durability) -> Self {
        Self { connection, kind, durability, upkeep: None, repair: None, health: Arc::default(), wal: None }
    }
}

/// The result of a job. The job runs even if nobody waits for it.
#[must_use = "the result says whether it was kept"]
pub struct PendingResult<T>(oneshot::Receiver<Result<T, StorageError>>);

impl<T> Future for PendingResult<T> {
    type Output = Result<T, StorageError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|result| result.unwrap_or(Err(StorageError::Closed)))
    }
}

/// A job that was queued after the store was closed. Dropping it calls the job's `done`, so it must not be dropped under a lock
/// that `done` takes.
#[must_use = "the asker is told when it is dropped"]
pub struct RejectedJob(#[allow(dead_code, reason = "it is only to be dropped")] SendError<Order>);

impl Worker {
    /// Starts the thread.
    pub(super) fn start(setup: Setup) -> Result<Self, StorageError> {
        let (orders, queue) = channel();
        let Setup { connection, kind, durability, upkeep, repair, health, wal } = setup;
        let connection = Arc::new(Mutex::new(RepairableConnection::new(connection, kind, repair, health, wal)));
        let queued = Arc::<AtomicUsize>::default();
        let (owned, taken) = (connection.clone(), queued.clone());
        std::thread::Builder::new()
            .name("storage".into())
            .spawn(move || run(&owned, &queue, &taken, upkeep.as_ref()))
            .map_err(|error| StorageError::Sql(error.to_string()))?;
        Ok(Self { orders, durability, connection, queued })
    }

    /// Queues a job. Jobs run in the order of these calls, and `done` is called on the storage thread in the same order. The
    /// callers bound the queue: each waits for its job, so there is about one job per running call.
    pub(super) fn tell<T: Send + 'static>(
        &self,
        job: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
        done: impl FnOnce(Result<T, StorageError>) + Send + 'static,
    ) -> Option<RejectedJob> {
        self.tell_with(self.durability, job, done)
    }

    /// Queues a job whose change must survive what `durability` says.
    pub(super) fn tell_with<T: Send + 'static>(
        &self,
        durability: Durability,
        job: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
        done: impl FnOnce(Result<T, StorageError>) + Send + 'static,
    ) -> Option<RejectedJob> {
        self.queue(Box::new(DatabaseJob::new(durability, job, done)))
    }

    /// Does the same for a change that takes microseconds. It is made on the caller's thread if nothing is queued before it and
    /// it need not wait, because waking another thread takes longer.
    pub(super) fn tell_at_once<T: Send + 'static>(
        &self,
        durability: Durability,
        job: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
        done: impl FnOnce(Result<T, StorageError>) + Send + 'static,
    ) -> Option<RejectedJob> {
        let mut job: Box<dyn Job> = Box::new(DatabaseJob::new(durability, job, done));
        // Everything that was queued before is counted, and the storage thread does it under this lock.
        if let Some(mut connection) = self.connection.try_lock()
            && self.queued.load(Ordering::Acquire) == 0
        {
            job = match connection.serve_at_once(job) {
                Ok(()) if !connection.needs_repair() => return None,
                // This order wakes the storage thread, which does not know yet that it must repair the database.
                Ok(()) => Box::new(Afterwards::new(drop)),
                // The job is queued now, so it keeps its place in the order.
                Err(refused) => refused,
            };
            return self.queue(job);
        }
        self.queue(job)
    }

    /// Calls `done` once all jobs that are queued now have been reported. `done` gets an error if the database cannot be used.
    pub(super) fn afterwards(
        &self,
        done: impl FnOnce(Result<(), StorageError>) + Send + 'static,
    ) -> Option<RejectedJob> {
        self.queue(Box::new(Afterwards::new(done)))
    }

    fn queue(&self, job: Box<dyn Job>) -> Option<RejectedJob> {
        self.queued.fetch_add(1, Ordering::Release);
        self.orders.send(Order::Job(job)).err().map(RejectedJob)
    }

    pub(super) fn ask<T: Send + 'static>(
        &self,
        job: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> PendingResult<T> {
        let (done, pending) = oneshot::channel();
        drop(self.tell(job, move |result| {
            // The caller may not wait for the result.
            let _ = done.send(result);
        }));
        PendingResult(pending)
    }

    pub(super) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.orders.send(Order::Close(done)).is_ok() {
            let _ = closed.await;
        }
    }
}

fn run(
    connection: &Mutex<RepairableConnection>,
    queue: &Receiver<Order>,
    queued: &AtomicUsize,
    upkeep: Option<&RegularJob>,
) {
    let mut since_pruned = 0;
    loop {
        let first = match upkeep {
            _ if connection.lock().needs_repair() => queue.recv_timeout(REPAIR_EVERY),
            Some(_) => queue.recv_timeout(PRUNE_EVERY),
            None => queue.recv().map_err(RecvTimeoutError::from),
        };
        let first = match first {
            Ok(order) => Some(order),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut jobs = Vec::new();
        let mut close = None;
        for order in first.into_iter().chain(queue.try_iter()).take(GROUP) {
            match order {
                Order::Job(job) => jobs.push(job),
                Order::Close(done) => close = Some(done),
            }
            if close.is_some() {
                break;
            }
        }
        since_pruned += jobs.len();
        let idle = jobs.is_empty();
        {
            let mut connection = connection.lock();
            queued.fetch_sub(jobs.len(), Ordering::Release);
            // Without jobs, this only repairs the database if it needs that.
            connection.serve(jobs);
        }
        if let Some(upkeep) = upkeep.filter(|_| close.is_none() && (idle || since_pruned >= PRUNE_AFTER)) {
            since_pruned = 0;
            let upkeep = upkeep.clone();
            let told = |result: Result<(), StorageError>| {
                if let Err(error) = result {
                    tracing::error!(%error, "old state is not removed");
                }
            };
            connection.lock().serve(vec![Box::new(DatabaseJob::new(
                Durability::Process,
                move |connection: &Connection| upkeep(connection),
                told,
            ))]);
        }
        if let Some(done) = close {
            connection.lock().close();
            let _ = done.send(());
            return;
        }
    }
}
