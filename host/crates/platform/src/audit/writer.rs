//! The thread that keeps records: calls put them into a bounded queue and go on; what comes within a moment is written
//! together and seen to the disk once, since a disk takes as long for one record as for many.
//!
//! Nothing is lost in silence. A batch that cannot be written is tried again until it can; meanwhile the queue fills, and
//! what finds it full is counted, and the count becomes a record of its own when there is room again.

use super::chain::Chain;
use super::event::{Event, Upkeep};
use super::line::Head;
use super::settings::{AuditSettings, KeepArguments};
use super::{Journal, Record};
use crate::clock::Clock;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

/// Records that wait to be written. Bounds the memory that a slow disk takes.
const QUEUE: usize = 8 << 10;
/// Records that are written together. Bounds how long the first of them waits for the last.
const GROUP: usize = 1 << 10;
/// How long the first record of a batch waits for others. A crash of the machine loses what came within it; whoever must
/// know that a record is kept asks for it, and nobody waits.
const MOMENT: Duration = Duration::from_millis(20);
/// How long somebody waits who wants to know that all is kept. Bounds what a disk that hangs holds up.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long until what could not be written is tried again.
const RETRY: Duration = Duration::from_millis(250);

/// A journal that cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error(
    "the audit journal in {path} cannot be kept: {problem}; set server.audit.folder to a folder of your own, or server.audit.off = true to go without"
)]
pub struct JournalError {
    path: PathBuf,
    problem: String,
}

/// A journal in files. Dropping it waits until everything is kept.
pub struct FileJournal {
    jobs: Option<SyncSender<Job>>,
    state: Arc<State>,
    clock: Arc<dyn Clock>,
    arguments: KeepArguments,
    required: bool,
    /// To be woken before its moment is over.
    writer: Thread,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    /// Records that found the queue full and are not yet told of.
    untold: AtomicU64,
    /// All of them.
    lost: AtomicU64,
    /// How many wait in the queue.
    queued: AtomicUsize,
    failing: AtomicBool,
    /// Nobody waits any more for what cannot be written.
    closing: AtomicBool,
}

enum Job {
    Keep(Duration, Box<Record>),
    Flush(SyncSender<bool>),
}

impl FileJournal {
    /// Opens the journal of a folder, making it when it is missing; says where its chain ends. Blocks.
    pub fn open(folder: &Path, settings: &AuditSettings, clock: Arc<dyn Clock>) -> Result<(Self, Head), JournalError> {
        let fail = |error: std::io::Error| JournalError { path: folder.to_owned(), problem: error.to_string() };
        let mut chain = Chain::open(folder, settings).map_err(fail)?;
        let head = chain.settle(clock.unix()).map_err(fail)?;
        let (jobs, queue) = sync_channel(QUEUE);
        let state = Arc::new(State::default());
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

impl Journal for FileJournal {
    fn keep(&self, record: Record) {
        let job = Job::Keep(self.clock.unix(), Box::new(record));
        let queued = self.state.queued.fetch_add(1, Ordering::Relaxed) + 1;
        let kept = self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(job).is_ok());
        if queued.is_multiple_of(GROUP) {
            self.writer.unpark();
        }
        if !kept {
            self.state.queued.fetch_sub(1, Ordering::Relaxed);
            self.state.lost.fetch_add(1, Ordering::Relaxed);
            if self.state.untold.fetch_add(1, Ordering::Relaxed) == 0 {
                tracing::error!("audit records are lost: they come faster than they can be kept");
            }
        }
    }

    fn arguments(&self) -> KeepArguments {
        self.arguments
    }

    fn refuses_calls(&self) -> bool {
        let State { untold, failing, .. } = self.state.as_ref();
        self.required && (failing.load(Ordering::Relaxed) || untold.load(Ordering::Relaxed) > 0)
    }

    fn flush(&self) -> bool {
        let (done, kept) = sync_channel(1);
        if self.state.failing.load(Ordering::Relaxed) {
            return false;
        }
        let asked = self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(Job::Flush(done)).is_ok());
        self.writer.unpark();
        asked && kept.recv_timeout(PATIENCE).unwrap_or(false)
    }

    fn lost(&self) -> u64 {
        self.state.lost.load(Ordering::Relaxed)
    }
}

impl Drop for FileJournal {
    fn drop(&mut self) {
        self.state.closing.store(true, Ordering::Relaxed);
        drop(self.jobs.take());
        self.writer.unpark();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

fn run(chain: &mut Chain, queue: &Receiver<Job>, state: &State, clock: &dyn Clock) {
    let (mut waiting, mut flushes, mut open) = (Vec::new(), Vec::new(), true);
    while open {
        // Those of a batch that could not be written are still there.
        let before = waiting.len();
        if state.failing.load(Ordering::Relaxed) {
            std::thread::park_timeout(RETRY);
        } else {
            match queue.recv() {
                Ok(job) => sort(job, &mut waiting, &mut flushes),
                Err(_) => open = false,
            }
            // Not in the queue, where each that comes would wake this thread.
            let full = state.queued.load(Ordering::Relaxed) >= GROUP;
            if open && !full && flushes.is_empty() && !state.closing.load(Ordering::Relaxed) {
                std::thread::park_timeout(MOMENT);
            }
        }
        while open && waiting.len() < GROUP {
            match queue.try_recv() {
                Ok(job) => sort(job, &mut waiting, &mut flushes),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => open = false,
            }
        }
        state.queued.fetch_sub(waiting.len() - before, Ordering::Relaxed);
        let unix = clock.unix();
        match state.untold.swap(0, Ordering::Relaxed) {
            0 => {}
            records => {
                let gap = Event::Journal(Upkeep::Gap { records });
                waiting.push((unix, Record::of_operator(None, None, gap)));
            }
        }
        if !waiting.is_empty() {
            write(chain, unix, &mut waiting, state);
        }
        for flush in flushes.drain(..) {
            // Whoever asked may not wait for it any more.
            let _ = flush.try_send(waiting.is_empty());
        }
        open = open && !(state.closing.load(Ordering::Relaxed) && state.failing.load(Ordering::Relaxed));
    }
    let records = waiting.len() + queue.try_iter().count();
    if records > 0 {
        tracing::error!(records, "audit records are lost: the host ends and they cannot be kept");
    }
}

fn sort(job: Job, waiting: &mut Vec<(Duration, Record)>, flushes: &mut Vec<SyncSender<bool>>) {
    match job {
        Job::Keep(unix, record) => waiting.push((unix, *record)),
        Job::Flush(done) => flushes.push(done),
    }
}

fn write(chain: &mut Chain, unix: Duration, waiting: &mut Vec<(Duration, Record)>, state: &State) {
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
