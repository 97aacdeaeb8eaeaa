//! The records of a call and the calls below it.

use super::entry::{ArgumentsDigest, Entry, Phase, Repeat, StepPath};
use super::first_effect::FirstEffect;
use super::forgotten::Forgotten;
use super::limits::JournalLimits;
use super::log::{JournalLog, RoomChange};
use super::log_writer::LogWriter;
use super::polls::Polls;
use super::problem::JournalProblem;
use super::remark::Remark;
use super::snapshot::Snapshot;
use futures::TryFutureExt as _;
use platform::clock::Clock;
use platform::durable::StoreAnswer;
use platform::sync::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Why a call cannot be replayed: its owner has stored as much as it may.
pub(super) const NO_ROOM: &str = "there was no room for its journal";
pub(super) const TOO_LONG: &str = "its journal is too long";

/// What an earlier run has recorded of a step.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) import: String,
    pub(super) arguments: ArgumentsDigest,
    /// None if the step had only begun.
    pub(super) outcome: Option<Vec<u8>>,
    /// Whether it may be made again, if it had only begun.
    pub(super) again: Repeat,
    /// When it was recorded, in milliseconds since 1970; zero if that is not known.
    pub(super) at: u64,
}

/// Shared by the journals of all calls of a tree.
pub(super) struct Records {
    pub(super) clock: Arc<dyn Clock>,
    /// How long earlier runs have taken, waiting not included.
    worked: Duration,
    /// The clock of the call's chain, which stands still while the chain waits, and the time on it when this run began.
    run: OnceLock<(Arc<dyn Clock>, Instant)>,
    pub(super) is_resumed: bool,
    /// The call is no longer served here, but it has not ended.
    pub(super) suspended: AtomicBool,
    /// This run must do and record nothing more.
    left: AtomicBool,
    /// Effects under way that must not be made again.
    pub(super) in_doubt: AtomicUsize,
    /// Steps that wait for the store.
    pub(super) storing: AtomicUsize,
    pub(super) first_effect: FirstEffect,
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    pub(super) limits: JournalLimits,
    /// What earlier runs have recorded of each step that this run has not reached yet.
    pub(super) earlier: HashMap<StepPath, Recorded>,
    /// Steps that a checkpoint of this run stands for: nothing more is recorded of them.
    pub(super) forgotten: Forgotten,
    pub(super) polls: Polls,
    /// All records in their order, if they are not stored elsewhere.
    pub(super) kept: Option<Vec<Vec<u8>>>,
    pub(super) log: Option<LogWriter>,
    pub(super) snapshot: Snapshot,
    pub(super) entries: u64,
    pub(super) bytes: u64,
    pub(super) has_warned: bool,
    /// Why the call cannot be replayed.
    unreplayable: Option<&'static str>,
    problem: Option<JournalProblem>,
    /// The token that ends the call.
    cancel: Option<CancellationToken>,
}

impl Records {
    pub(super) fn begin_run(&self, clock: Arc<dyn Clock>) {
        let began = clock.now();
        // Only a root call begins a run, and only once.
        let _ = self.run.set((clock, began));
    }

    /// How long all runs have taken up to now, waiting not included.
    pub(super) fn worked(&self) -> Duration {
        let this =
            self.run.get().map_or(Duration::ZERO, |(clock, began)| clock.now().saturating_duration_since(*began));
        self.worked + this
    }

    pub(super) fn new(
        clock: Arc<dyn Clock>,
        limits: JournalLimits,
        log: Option<JournalLog>,
        earlier: Vec<Vec<u8>>,
        worked: Duration,
    ) -> Result<Self, JournalProblem> {
        let (mut entries, mut bytes_of_all) = (0, 0);
        let mut steps = HashMap::<StepPath, Recorded>::new();
        let (mut polls, mut is_opened) = (Polls::default(), log.is_none());
        for (at, bytes) in earlier.iter().enumerate() {
            let entry = Entry::decode(bytes).ok_or_else(|| JournalProblem::Unreadable(format!("(record {at})")))?;
            let (outcome, again) = match entry.phase {
                Phase::Began => (None, Repeat::Safe),
                Phase::BeganOnce => (None, Repeat::Unsafe),
                Phase::Ended(outcome) => (Some(outcome), Repeat::Safe),
                Phase::GaveUp(why) => return Err(JournalProblem::GaveUp(why)),
                Phase::Opened => {
                    is_opened = true;
                    continue;
                }
            };
            entries += 1;
            bytes_of_all += bytes.len() as u64;
            let (import, arguments) = (entry.import.into_owned(), entry.arguments);
            let recorded = Recorded { import, arguments, outcome, again, at: entry.at };
            polls.add_earlier(&entry.path);
            steps.insert(entry.path, recorded);
        }
        if !is_opened {
            return Err(JournalProblem::GaveUp("its steps were not stored".into()));
        }
        let kept = log.is_none().then_some(earlier);
        let state = State {
            limits,
            earlier: steps,
            forgotten: Forgotten::default(),
            polls,
            kept,
            log: log.map(LogWriter::new),
            snapshot: Snapshot::default(),
            entries,
            bytes: bytes_of_all,
            has_warned: false,
            unreplayable: None,
            problem: None,
            cancel: None,
        };
        let is_resumed = !state.earlier.is_empty();
        let (suspended, left, in_doubt, storing, first_effect) = Default::default();
        Ok(Self {
            clock,
            worked,
            run: OnceLock::new(),
            is_resumed,
            suspended,
            left,
            in_doubt,
            storing,
            first_effect,
            state: Mutex::new(state),
        })
    }

    /// Whether an earlier run has recorded something of a step of this call.
    pub(super) fn has_earlier_of(&self, call: &StepPath) -> bool {
        self.state.lock().polls.has_earlier_of(call)
    }

    /// Whether an earlier run has got past a step.
    pub(super) fn has_passed(&self, path: &StepPath) -> bool {
        self.state.lock().polls.has_passed(path)
    }

    /// Whether an earlier run has recorded this import at a step.
    pub(super) fn has_earlier(&self, path: &StepPath, import: &str) -> bool {
        self.state.lock().earlier.get(path).is_some_and(|recorded| recorded.import == import)
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(super) fn unix_millis(&self) -> u64 {
        u64::try_from(self.clock.unix().as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes what an earlier run has recorded of a step.
    pub(super) fn take_earlier(&self, path: &StepPath) -> Option<Recorded> {
        self.state.lock().earlier.remove(path)
    }

    /// Adds a record. The returned future is ready when it is stored; none if there is nothing to wait for.
    pub(super) fn add(
        &self,
        path: StepPath,
        import: &'static str,
        arguments: ArgumentsDigest,
        phase: Phase,
        remark: Remark,
    ) -> Option<StoreAnswer<()>> {
        let mut entry = self.entry(path, import, arguments, phase, remark);
        let mut state = self.state.lock();
        if self.has_left() {
            return None;
        }
        entry.remark.polled = state.polls.add_record(&entry.path);
        state.record(&entry)
    }

    /// The same for an answer that means "nothing", to a step that began at the time `begun`.
    pub(super) fn add_nothing(
        &self,
        path: StepPath,
        import: &'static str,
        arguments: ArgumentsDigest,
        answer: Vec<u8>,
        begun: Instant,
    ) -> Option<StoreAnswer<()>> {
        let now = self.clock.now();
        let remark = Remark::took(now.saturating_duration_since(begun));
        let entry = self.entry(path, import, arguments, Phase::Ended(answer), remark);
        let mut state = self.state.lock();
        if self.has_left() {
            return None;
        }
        let due = state.polls.add_nothing(entry, begun, now)?;
        state.polls.add_record(&due.path);
        state.record(&due)
    }

    /// Records the last answer that meant "nothing", because the call does something at this step that others may see before
    /// the step is recorded.
    pub(super) fn add_unrecorded(&self, path: &StepPath) {
        let mut state = self.state.lock();
        if let Some(entry) = state.polls.take_unrecorded(path).filter(|_| !self.has_left()) {
            // The record has its place in the log already, and a later record is refused if this one cannot be stored.
            drop(state.record(&entry));
        }
    }

    fn entry(
        &self,
        path: StepPath,
        import: &'static str,
        arguments: ArgumentsDigest,
        phase: Phase,
        remark: Remark,
    ) -> Entry {
        let at = self.unix_millis();
        Entry { path, import: import.into(), arguments, at, phase, remark }
    }

    /// Moves what is in memory to a log, which gets all further records. The returned future is ready when that is stored; none
    /// if the call cannot be replayed.
    pub(super) fn store_in(&self, log: JournalLog, limits: JournalLimits) -> Option<StoreAnswer<()>> {
        let mut state = self.state.lock();
        if let Some(why) = state.unreplayable {
            log.give_up(why);
            return None;
        }
        if !(log.room)(RoomChange::Take(state.bytes)) {
            log.give_up(NO_ROOM);
            state.give_up(NO_ROOM);
            return None;
        }
        let kept = state.kept.take()?;
        if kept.iter().any(|record| Entry::is_checkpoint(record)) {
            log.before_checkpoint();
        }
        let mut log = LogWriter::new(log);
        let stored = log.append([Entry::opened()].into_iter().chain(kept).collect());
        (state.log, state.limits) = (Some(log), limits);
        Some(stored)
    }

    pub(super) fn stop(&self, problem: JournalProblem) {
        self.state.lock().stop(problem);
    }

    pub(super) fn problem(&self) -> Option<JournalProblem> {
        self.state.lock().problem.clone()
    }

    pub(super) fn leave(&self) {
        // Under the lock, so that nothing is recorded afterwards, not even by a guest that has its turn at this moment.
        let _state = self.state.lock();
        self.suspended.store(true, Ordering::Relaxed);
        self.left.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    /// Whether the guest learns nothing more, and no effect is made any more.
    pub(super) fn has_stopped(&self) -> bool {
        self.has_left() || self.problem().is_some()
    }

    pub(super) fn end_with(&self, cancel: CancellationToken) {
        let mut state = self.state.lock();
        if state.problem.is_some() {
            cancel.cancel();
        }
        state.cancel = Some(cancel);
    }

    /// From now on no other instance can take the place of this one. The call itself goes on. A stored journal is replaced by
    /// the reason.
    pub(super) fn give_up(&self, why: &'static str) {
        self.state.lock().give_up(why);
    }

    pub(super) fn unreplayable(&self) -> Option<&'static str> {
        self.state.lock().unreplayable
    }

    /// Bytes of the records that are kept here.
    pub(super) fn kept_bytes(&self) -> u64 {
        let state = self.state.lock();
        if state.kept.is_some() { state.bytes } else { 0 }
    }

    /// Bytes of all records, wherever they are.
    pub(super) fn recorded_bytes(&self) -> u64 {
        self.state.lock().bytes
    }

    /// All records, if they are kept here and the call can be replayed.
    pub(super) fn export(&self) -> Option<Vec<Vec<u8>>> {
        self.state.lock().export()
    }
}

impl State {
    pub(super) fn export(&self) -> Option<Vec<Vec<u8>>> {
        self.kept.clone().filter(|_| self.unreplayable.is_none() && self.problem.is_none())
    }

    fn record(&mut self, entry: &Entry) -> Option<StoreAnswer<()>> {
        let outdated = self.snapshot.outdated();
        match (outdated, self.store(entry)) {
            (Some(outdated), Some(stored)) => Some(Box::pin(outdated.and_then(|()| stored))),
            (outdated, stored) => outdated.or(stored),
        }
    }

    fn store(&mut self, entry: &Entry) -> Option<StoreAnswer<()>> {
        if self.forgotten.has(&entry.path) {
            return None;
        }
        let entry = entry.encode();
        self.entries += 1;
        self.bytes += entry.len() as u64;
        let (entries, bytes) = (self.entries, self.bytes);
        if self.limits.is_over(entries, bytes) {
            self.give_up(TOO_LONG);
            return None;
        }
        if self.limits.is_near(entries, bytes) && self.log.is_some() && !self.has_warned {
            self.has_warned = true;
            let note = "the journal of a call is half full; from its limit on the call cannot go on in another process";
            tracing::warn!(entries, bytes, "{note}");
        }
        if self.log.as_ref().is_some_and(|log| !(log.room)(RoomChange::Take(entry.len() as u64))) {
            self.give_up(NO_ROOM);
            return None;
        }
        match &mut self.log {
            Some(log) => Some(log.append(vec![entry])),
            None => {
                if let Some(kept) = &mut self.kept {
                    kept.push(entry);
                }
                None
            }
        }
    }

    fn stop(&mut self, problem: JournalProblem) {
        self.problem.get_or_insert(problem);
        if let Some(cancel) = &self.cancel {
            cancel.cancel();
        }
    }

    pub(super) fn give_up(&mut self, why: &'static str) {
        self.unreplayable.get_or_insert(why);
        // Nobody will read them.
        self.kept = None;
        if let Some(log) = self.log.take() {
            log.give_up(why);
        }
    }
}
