//! The thread that owns a database: jobs run in order and are committed in groups.

use super::error::StorageError;
use rusqlite::{Connection, TransactionBehavior};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, Sender, channel};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::oneshot;

/// Jobs per commit. Bounds how long the first one waits for the last.
const GROUP: usize = 256;
/// How often maintenance runs when idle.
const PRUNE_EVERY: Duration = Duration::from_secs(5);
/// Jobs after which maintenance runs at the latest. Bounds what accumulates in between.
const PRUNE_AFTER: usize = 4_096;

/// Reports to the caller, once the group is committed or has failed.
type Finish = Box<dyn FnOnce(Option<&StorageError>) + Send>;
type Work = Box<dyn FnOnce(&Connection) -> Finish + Send>;
/// A job that runs regularly.
pub(super) type Upkeep = Arc<dyn Fn(&Connection) -> rusqlite::Result<()> + Send + Sync>;

enum Job {
    Work(Work),
    /// Close the file, then confirm.
    Close(oneshot::Sender<()>),
}

pub(super) struct Worker {
    jobs: Sender<Job>,
}

/// The result of a job. The job runs whether or not anybody waits for it.
#[must_use = "the result says whether it was kept"]
pub struct PendingResult<T>(oneshot::Receiver<Result<T, StorageError>>);

impl<T> Future for PendingResult<T> {
    type Output = Result<T, StorageError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|result| result.unwrap_or(Err(StorageError::Closed)))
    }
}

/// A job that came after the store was closed. Dropping it calls the job's `done`, so it must not be dropped under a lock
/// that `done` takes.
#[must_use = "the asker is told when it is dropped"]
pub struct RejectedJob(#[allow(dead_code, reason = "it is only to be dropped")] SendError<Job>);

/// Reports exactly once, even if the job is dropped.
struct Done<T, F: FnOnce(Result<T, StorageError>)>(Option<F>, PhantomData<T>);

impl<T, F: FnOnce(Result<T, StorageError>)> Done<T, F> {
    fn tell(&mut self, result: Result<T, StorageError>) {
        if let Some(done) = self.0.take() {
            done(result);
        }
    }
}

impl<T, F: FnOnce(Result<T, StorageError>)> Drop for Done<T, F> {
    fn drop(&mut self) {
        self.tell(Err(StorageError::Closed));
    }
}

impl Worker {
    /// Starts the thread; each group of jobs is a transaction of this kind.
    pub(super) fn start(
        connection: Connection,
        kind: TransactionBehavior,
        upkeep: Option<Upkeep>,
    ) -> Result<Self, StorageError> {
        let (jobs, queue) = channel();
        std::thread::Builder::new()
            .name("storage".into())
            .spawn(move || run(connection, kind, &queue, upkeep.as_ref()))
            .map_err(|error| StorageError::Sql(error.to_string()))?;
        Ok(Self { jobs })
    }

    /// Queues a job. Jobs run in the order of these calls; `done` is called on the storage thread in the same order. The
    /// queue is bounded by its callers: each waits for its job, so there is about one job per running call.
    pub(super) fn tell<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
        done: impl FnOnce(Result<T, StorageError>) + Send + 'static,
    ) -> Option<RejectedJob> {
        let mut done = Done(Some(done), PhantomData);
        let work: Work = Box::new(move |connection| {
            let result = alone(connection, job);
            Box::new(move |failed| {
                done.tell(match failed {
                    None => result.map_err(StorageError::from),
                    Some(error) => Err(error.clone()),
                });
            })
        });
        self.jobs.send(Job::Work(work)).err().map(RejectedJob)
    }

    pub(super) fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> PendingResult<T> {
        let (done, pending) = oneshot::channel();
        drop(self.tell(job, move |result| {
            // The caller may not wait for it.
            let _ = done.send(result);
        }));
        PendingResult(pending)
    }

    pub(super) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.jobs.send(Job::Close(done)).is_ok() {
            let _ = closed.await;
        }
    }
}

/// Runs a job in a savepoint: if it fails, it leaves no changes, and the others of its group are committed.
fn alone<T>(connection: &Connection, job: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    connection.prepare_cached("SAVEPOINT job")?.execute([])?;
    let result = job(connection);
    if result.is_err() {
        connection.prepare_cached("ROLLBACK TO job")?.execute([])?;
    }
    connection.prepare_cached("RELEASE job")?.execute([])?;
    result
}

fn run(mut connection: Connection, kind: TransactionBehavior, queue: &Receiver<Job>, upkeep: Option<&Upkeep>) {
    let mut since_pruned = 0;
    loop {
        let first = match queue.recv_timeout(PRUNE_EVERY) {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut work = Vec::new();
        let mut close = None;
        for job in first.into_iter().chain(queue.try_iter()).take(GROUP) {
            match job {
                Job::Work(job) => work.push(job),
                Job::Close(done) => close = Some(done),
            }
            if close.is_some() {
                break;
            }
        }
        since_pruned += work.len();
        let idle = work.is_empty();
        commit(&mut connection, kind, work);
        if let Some(upkeep) = upkeep.filter(|_| close.is_none() && (idle || since_pruned >= PRUNE_AFTER)) {
            since_pruned = 0;
            let upkeep = upkeep.clone();
            commit(
                &mut connection,
                kind,
                vec![Box::new(move |connection| {
                    let result = alone(connection, |connection| upkeep(connection));
                    Box::new(move |failed| {
                        if let Some(error) = failed.cloned().or(result.err().map(StorageError::from)) {
                            tracing::error!(%error, "old state is not removed");
                        }
                    })
                })],
            );
        }
        if let Some(done) = close {
            drop(connection);
            let _ = done.send(());
            return;
        }
    }
}

fn commit(connection: &mut Connection, kind: TransactionBehavior, work: Vec<Work>) {
    if work.is_empty() {
        return;
    }
    let mut finish: Vec<Finish> = Vec::with_capacity(work.len());
    let done = connection.transaction_with_behavior(kind).and_then(|group| {
        finish.extend(work.into_iter().map(|job| job(&group)));
        group.commit()
    });
    let failed = done.err().map(StorageError::from);
    for finish in finish {
        finish(failed.as_ref());
    }
}
