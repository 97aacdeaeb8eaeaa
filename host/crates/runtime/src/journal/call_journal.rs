//! One call's access to its journal.

use super::entry::{ArgumentsDigest, StepPath};
use super::first_effect::EffectGuard;
use super::inquiry::OutcomeInquiry;
use super::instance_start::InstanceStart;
use super::limits::JournalLimits;
use super::log::JournalLog;
use super::problem::JournalProblem;
use super::records::Records;
use super::step::Step;
use platform::audit::Silence;
use platform::clock::Clock;
use platform::durable::DurableError;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One call's access to its journal; none by default. Clones share it.
#[derive(Clone, Default)]
pub struct CallJournal(pub(super) Option<Arc<Handle>>);

pub(super) struct Handle {
    pub(super) records: Arc<Records>,
    /// The step that made this call; empty for a root call.
    pub(super) call: StepPath,
    pub(super) next: AtomicU32,
    pub(super) replaying: Arc<AtomicBool>,
    /// The number of the step at which the guest asked for its last checkpoint.
    pub(super) restored: OnceLock<u32>,
    pub(super) start: InstanceStart,
    inquiry: OnceLock<Arc<dyn OutcomeInquiry>>,
}

impl CallJournal {
    /// For a call that may be parked.
    pub fn in_memory(clock: Arc<dyn Clock>) -> Self {
        Self::root(Records::new(clock, JournalLimits::IN_MEMORY, None, Vec::new(), Duration::ZERO).ok())
    }

    /// For a call that is never continued elsewhere, but whose first effect somebody wants to know of in advance.
    pub fn unrecorded(clock: Arc<dyn Clock>) -> Self {
        let journal = Self::in_memory(clock);
        journal.cannot_replay("nobody goes on with it");
        journal
    }

    /// Sets what is called before the first effect of the call, and can forbid it.
    pub fn guard_effects(&self, guard: EffectGuard) {
        if let Some(handle) = &self.0 {
            handle.records.first_effect.guard(guard);
        }
    }

    /// To be called before an effect that is no step. False if the effect must not be made because the call has to end.
    pub async fn note_effect(&self) -> bool {
        let Some(handle) = &self.0 else { return true };
        let Some(noted) = handle.records.first_effect.note() else { return true };
        let noted = noted.await;
        if let Err(error) = &noted {
            handle.records.stop(JournalProblem::store(error.clone()));
        }
        noted.is_ok()
    }

    /// For a call that continues after an earlier run, which has left these records and has taken `worked`.
    pub fn resumed(clock: Arc<dyn Clock>, records: Vec<Vec<u8>>, worked: Duration) -> Result<Self, JournalProblem> {
        Records::new(clock, JournalLimits::IN_MEMORY, None, records, worked).map(|records| Self::root(Some(records)))
    }

    /// For a durable call that is continued. `records` are those in the log; the runs that left them have taken `worked`.
    pub fn stored(
        clock: Arc<dyn Clock>,
        log: JournalLog,
        records: Vec<Vec<u8>>,
        worked: Duration,
    ) -> Result<Self, JournalProblem> {
        Records::new(clock, JournalLimits::STORED, Some(log), records, worked).map(|records| Self::root(Some(records)))
    }

    /// From now on the records are stored, including those so far. Returns when those are stored; false if the call cannot be
    /// replayed. Only for the journal of a root call that is in memory.
    pub async fn store_in(&self, log: JournalLog) -> Result<bool, DurableError> {
        let Some(handle) = &self.0 else { return Ok(false) };
        match handle.records.store_in(log, JournalLimits::STORED) {
            Some(stored) => stored.await.map(|()| true),
            None => Ok(false),
        }
    }

    fn root(records: Option<Records>) -> Self {
        Self(records.map(|records| Self::handle(Arc::new(records), StepPath(Vec::new()))))
    }

    fn handle(records: Arc<Records>, call: StepPath) -> Arc<Handle> {
        let replaying = Arc::new(AtomicBool::new(records.has_earlier_of(&call)));
        let (next, restored, start, inquiry) = Default::default();
        Arc::new(Handle { records, call, next, replaying, restored, start, inquiry })
    }

    /// The journal of a call that a step makes.
    pub fn of_nested(&self, step: &Step) -> Self {
        Self(step.place().map(|(records, path)| Self::handle(records.clone(), path.clone())))
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether there was an earlier run. What the guest learnt in that run may not be true yet in this one.
    pub fn is_resumed(&self) -> bool {
        self.0.as_ref().is_some_and(|handle| handle.records.is_resumed)
    }

    /// Whether the guest has not yet reached the point that an earlier run had reached. That run has already written what the
    /// host writes about these steps: log lines, audit records, spans.
    pub fn is_replaying(&self) -> bool {
        self.0.as_ref().is_some_and(|handle| handle.replaying.load(Ordering::Relaxed))
    }

    /// Returns a function that says whether another run, an earlier or a later one, writes what this run would write.
    pub fn silence(&self) -> Option<Silence> {
        let handle = self.0.clone()?;
        Some(Arc::new(move || {
            handle.replaying.load(Ordering::Relaxed) || handle.records.suspended.load(Ordering::Relaxed)
        }))
    }

    /// If `suspended`, the call is dropped here and goes on in another instance, so it has not ended. Otherwise it goes on here
    /// after all.
    pub fn set_suspended(&self, suspended: bool) {
        if let Some(handle) = &self.0 {
            handle.records.suspended.store(suspended, Ordering::Relaxed);
        }
    }

    /// The call goes on in another instance, and this one is about to be dropped: it must do and record nothing more. What it
    /// learns while it ends, for example that nobody answers it any more, must not become part of the call.
    pub fn leave(&self) {
        if let Some(handle) = &self.0 {
            handle.records.leave();
        }
    }

    pub fn is_suspended(&self) -> bool {
        self.0.as_ref().is_some_and(|handle| handle.records.suspended.load(Ordering::Relaxed))
    }

    /// Whether something is under way which must not be made again: another instance would not know what has come of it.
    pub fn has_effect_under_way(&self) -> bool {
        self.0.as_ref().is_some_and(|handle| handle.records.has_unrepeatable())
    }

    /// Whether a step of the call waits for the store. It goes on by itself when the store has answered.
    pub fn is_storing(&self) -> bool {
        self.0.as_ref().is_some_and(|handle| handle.records.is_storing())
    }

    /// This run of a root call begins, and is timed by the clock of its chain.
    pub fn begin_run(&self, clock: Arc<dyn Clock>) {
        if let Some(handle) = &self.0 {
            handle.records.begin_run(clock);
        }
    }

    /// How long all runs of the call have taken up to now, including earlier ones, without the time in which they waited.
    pub fn worked(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |handle| handle.records.worked())
    }

    /// The number of the step that made this call, the same in every run; none for a root call.
    pub fn name(&self) -> Option<String> {
        let handle = self.0.as_ref()?;
        (!handle.call.0.is_empty()).then(|| handle.call.to_string())
    }

    /// Begins the guest's next step. To be called in the order of the guest's calls.
    pub fn begin(&self, import: &'static str, arguments: &impl Serialize) -> Step {
        let Some(handle) = &self.0 else { return Step::none() };
        let number = handle.next.fetch_add(1, Ordering::Relaxed);
        let (mut path, mut replaying) = (handle.call.below(number), handle.replaying.clone());
        if let Some(asked) = handle.start.asks(import, || handle.records.has_earlier(&path, import))
            && let Some(restored) = handle.restored.get()
        {
            handle.next.store(number, Ordering::Relaxed);
            path = handle.call.below(*restored).below(asked);
            // This question does not show whether the guest still replays; its next numbered step does.
            replaying = Arc::new(AtomicBool::new(true));
        }
        let arguments = ArgumentsDigest::new(arguments);
        let inquiry = handle.inquiry.get().cloned();
        Step::begin(handle.records.clone(), replaying, path, import, arguments, inquiry)
    }

    /// Sets who is asked about effects whose outcome is unknown.
    pub(crate) fn set_inquiry(&self, inquiry: Arc<dyn OutcomeInquiry>) {
        if let Some(handle) = &self.0 {
            // It is set once, before the first step.
            let _ = handle.inquiry.set(inquiry);
        }
    }

    /// The call does something that cannot be replayed; `why` completes "the call cannot be replayed, because".
    pub fn cannot_replay(&self, why: &'static str) {
        if let Some(handle) = &self.0 {
            handle.records.give_up(why);
        }
    }

    /// Why no other instance can take the place of this one; none if one can.
    pub fn unreplayable(&self) -> Option<&'static str> {
        match &self.0 {
            Some(handle) => handle.records.unreplayable(),
            None => Some("it has no journal"),
        }
    }

    /// All records, if they are in memory and the call can be replayed from them.
    pub fn export(&self) -> Option<Vec<Vec<u8>>> {
        self.0.as_ref()?.records.export()
    }

    /// Hands all records to `keep`, which stores them elsewhere while the call waits. False if the call cannot be replayed from
    /// them. `keep` stores them before anything that is stored later. The next record makes them outdated: `outdated` then
    /// removes them, and nothing that depends on that record happens before they are removed.
    pub fn keep_elsewhere(&self, keep: impl FnOnce(Vec<Vec<u8>>), outdated: EffectGuard) -> bool {
        let Some(handle) = &self.0 else { return false };
        // Under the lock, so that no record comes between.
        let mut state = handle.records.state.lock();
        let can_go_on = !handle.records.has_left() && !handle.records.has_unrepeatable();
        let Some(records) = state.export().filter(|_| can_go_on) else { return false };
        keep(records);
        state.snapshot.keep(outdated);
        true
    }

    /// The records with which the call was resumed are kept elsewhere, as after [`Self::keep_elsewhere`].
    pub fn is_kept_elsewhere(&self, outdated: EffectGuard) {
        if let Some(handle) = &self.0 {
            handle.records.state.lock().snapshot.keep(outdated);
        }
    }

    /// Bytes of the records in memory. Zero for a nested call, since the root call counts those of the whole tree.
    pub fn kept_bytes(&self) -> u64 {
        self.0.as_ref().filter(|handle| handle.call.0.is_empty()).map_or(0, |handle| handle.records.kept_bytes())
    }

    /// Why the call has to end. Whatever else it ended with is ignored then.
    pub fn problem(&self) -> Option<JournalProblem> {
        self.0.as_ref()?.records.problem()
    }

    /// Sets the token that ends the call when it has to end.
    pub fn end_with(&self, cancel: &CancellationToken) {
        if let Some(handle) = &self.0 {
            handle.records.end_with(cancel.clone());
        }
    }
}
