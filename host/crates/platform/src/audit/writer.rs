//! The thread that writes records. Calls put records into a bounded queue and continue. Records that arrive within a short time
//! are written and synced together, because a sync takes as long for one record as for many.
//!
//! No record is lost silently. A batch that cannot be written is retried. Records that find no place in the queue are counted,
//! and the count is recorded once there is space again.

use super::chain::Chain;
use super::event::{AuditEvent, AuditLogEvent};
use super::event_kind::RecordClass;
use super::line::Head;
use super::log::AuditLog;
use super::queue_shares::QueueShares;
use super::record::AuditRecord;
use super::settings::{AuditSettings, KeepArguments};
use crate::clock::Clock;
use crate::sync::Mutex;
use policy::Principal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

/// Records that may wait to be written. Bounds the memory that a slow disk costs. It is enough for the time that the removal of
/// a file takes.
const QUEUE: usize = 16 << 10;
/// Records that are written together. Bounds how long the first of them waits for the last one.
const MAX_BATCH: usize = 1 << 10;
/// How long the first record of a batch waits for others. A crash of the machine loses these records, unless somebody requested
/// a flush.
const BATCH_DELAY: Duration = Duration::from_millis(20);
/// How long a flush may take. Bounds how long a disk that hangs blocks a caller.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);
/// How long until a failed write is retried.
const RETRY: Duration = Duration::from_millis(250);

/// The log cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "the audit log in {path} cannot be kept: {problem}; set server.audit.folder to a folder of your own, or server.audit.off = true to go without"
)]
pub struct AuditLogError {
    path: PathBuf,
    problem: String,
}

/// A log in files. Dropping it waits until everything is written.
pub struct FileAuditLog {
    jobs: Option<SyncSender<Job>>,
    state: Arc<WriterState>,
    clock: Arc<dyn Clock>,
    arguments: KeepArguments,
    required: bool,
    /// The writer thread, so that it can be woken early.
    writer: Thread,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct WriterState {
    queue: QueueShares,
    /// Records that found no place in the queue and are not yet reported by a record.
    unreported: AtomicU64,
    /// How many of these are decisions.
    unreported_decisions: AtomicU64,
    lost: AtomicU64,
    failing: AtomicBool,
    /// The log is being dropped: records that cannot be written are discarded.
    closing: AtomicBool,
}

impl WriterState {
    fn new() -> Self {
        let (unreported, unreported_decisions, lost, failing, closing) = Default::default();
        Self { queue: QueueShares::new(QUEUE), unreported, unreported_decisions, lost, failing, closing }
    }

    /// Counts a record that found no place.
    fn lose(&self, class: RecordClass) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        if class == RecordClass::Decision {
            self.unreported_decisions.fetch_add(1, Ordering::Relaxed);
        }
        if self.unreported.fetch_add(1, Ordering::Release) == 0 {
            tracing::error!("audit records are lost: they come faster than they can be kept");
        }
    }

    /// The lost records that are not yet reported.
    fn take_gap(&self) -> Option<AuditLogEvent> {
        // The counters are read in the opposite order to that in which they are incremented. So a decision is never taken from
        // its counter without a record that reports it.
        let records = self.unreported.swap(0, Ordering::AcqRel);
        (records > 0)
            .then(|| AuditLogEvent::Gap { records, decisions: self.unreported_decisions.swap(0, Ordering::Relaxed) })
    }
}

enum Job {
    Keep(Duration, Box<AuditRecord>),
    Flush(SyncSender<bool>),
}

impl FileAuditLog {
    /// Opens the log of a folder, creating it if it is missing; returns the end of the chain. Blocks.
    pub fn open(folder: &Path, settings: &AuditSettings, clock: Arc<dyn Clock>) -> Result<(Self, Head), AuditLogError> {
        let fail = |error: std::io::Error| AuditLogError { path: folder.to_owned(), problem: error.to_string() };
        let mut chain = Chain::open(folder, settings).map_err(fail)?;
        let head = chain.recover(clock.unix()).map_err(fail)?;
        let (jobs, queue) = sync_channel(QUEUE);
        let state = Arc::new(WriterState::new());
        let (shared, time) = (state.clone(), clock.clone());
        let thread = std::thread::Builder::new()
            .name("audit".into())
            .spawn(move || run(&mut chain, &queue, &shared, time.as_ref()))
            .map_err(fail)?;
        let (arguments, required) = (settings.arguments, settings.required);
        let (writer, thread) = (thread.thread().clone(), Mutex::new(Some(thread)));
        Ok((Self { jobs: Some(jobs), state, clock, arguments, required, writer, thread }, head))
    }
}

impl AuditLog for FileAuditLog {
    fn keep(&self, record: AuditRecord) {
        let class = record.event.kind().class();
        let Some(queued) = self.state.queue.take(record.principal.as_ref()) else {
            return self.state.lose(class);
        };
        let job = Job::Keep(self.clock.unix(), Box::new(record));
        let sent = self.jobs.as_ref().map(|jobs| jobs.try_send(job));
        if queued.is_multiple_of(MAX_BATCH) {
            self.writer.unpark();
        }
        if let Some(Err(TrySendError::Full(Job::Keep(_, record)) | TrySendError::Disconnected(Job::Keep(_, record)))) =
            sent
        {
            self.state.queue.give_back(record.principal.as_ref());
            self.state.lose(class);
        }
    }

    fn arguments(&self) -> KeepArguments {
        self.arguments
    }

    fn refuses_calls(&self, principal: &Principal) -> bool {
        let WriterState { queue, failing, .. } = self.state.as_ref();
        self.required && (failing.load(Ordering::Relaxed) || !queue.has_place(Some(principal)))
    }

    fn is_required(&self) -> bool {
        self.required
    }

    fn flush(&self) -> bool {
        let (done, kept) = sync_channel(1);
        if self.state.failing.load(Ordering::Relaxed) {
            return false;
        }
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(Job::Flush(done)).is_ok());
        self.writer.unpark();
        sent && kept.recv_timeout(FLUSH_TIMEOUT).unwrap_or(false)
    }

    fn lost(&self) -> u64 {
        self.state.lost.load(Ordering::Relaxed)
    }
}

impl Drop for FileAuditLog {
    fn drop(&mut self) {
        self.state.closing.store(true, Ordering::Relaxed);
        drop(self.jobs.take());
        self.writer.unpark();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

fn run(chain: &mut Chain, queue: &Receiver<Job>, state: &WriterState, clock: &dyn Clock) {
    let (mut waiting, mut flushes, mut open) = (Vec::new(), Vec::new(), true);
    while open {
        // The records of a failed batch are still in `waiting`.
        let before = waiting.len();
        if state.failing.load(Ordering::Relaxed) {
            std::thread::park_timeout(RETRY);
        } else {
            match queue.recv() {
                Ok(job) => dispatch(job, &mut waiting, &mut flushes),
                Err(_) => open = false,
            }
            // Parks instead of waiting in `recv`, where each new record would wake this thread.
            let full = state.queue.taken() >= MAX_BATCH;
            if open && !full && flushes.is_empty() && !state.closing.load(Ordering::Relaxed) {
                std::thread::park_timeout(BATCH_DELAY);
            }
        }
        while open && waiting.len() < MAX_BATCH {
            match queue.try_recv() {
                Ok(job) => dispatch(job, &mut waiting, &mut flushes),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => open = false,
            }
        }
        waiting[before..].iter().for_each(|(_, record)| state.queue.give_back(record.principal.as_ref()));
        let unix = clock.unix();
        if let Some(gap) = state.take_gap() {
            waiting.push((unix, AuditRecord::for_operator(None, None, AuditEvent::Log(gap))));
        }
        if !waiting.is_empty() {
            write(chain, unix, &mut waiting, state);
        }
        for flush in flushes.drain(..) {
            // The caller may have stopped waiting.
            let _ = flush.try_send(waiting.is_empty());
        }
        open = open && !(state.closing.load(Ordering::Relaxed) && state.failing.load(Ordering::Relaxed));
    }
    let records = waiting.len() + queue.try_iter().count();
    if records > 0 {
        tracing::error!(records, "audit records are lost: the host ends and they cannot be kept");
    }
}

fn dispatch(job: Job, waiting: &mut Vec<(Duration, AuditRecord)>, flushes: &mut Vec<SyncSender<bool>>) {
    match job {
        Job::Keep(unix, record) => waiting.push((unix, *record)),
        Job::Flush(done) => flushes.push(done),
    }
}

fn write(chain: &mut Chain, unix: Duration, waiting: &mut Vec<(Duration, AuditRecord)>, state: &WriterState) {
    match chain.append(unix, waiting) {
        Ok(_) => {
            waiting.clear();
            if state.failing.swap(false, Ordering::Relaxed) {
                tracing::info!("audit records are kept again");
            }
        }
        Err(error) => {
            if !state.failing.swap(true, Ordering::Relaxed) {
                tracing::error!(%error, "audit records cannot be kept; they wait, and are tried again");
            }
        }
    }
}
