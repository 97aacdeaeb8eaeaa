//! One step of a call.

use super::entry::{ArgumentsDigest, Phase, Repeat, StepPath, decode, encode};
use super::inquiry::OutcomeInquiry;
use super::problem::JournalProblem;
use super::records::{Recorded, Records};
use super::remark::Remark;
use super::under_way::EffectUnderWay;
use platform::durable::StoreAnswer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A step that the guest has come to. Without a journal it does nothing.
pub struct Step(pub(super) Option<JournaledStep>);

/// An effect that has begun. Its record may not be stored yet.
pub(crate) struct StartedEffect {
    may_have_happened: bool,
    stored: Option<StoreAnswer<()>>,
}

pub(super) struct JournaledStep {
    pub(super) records: Arc<Records>,
    /// Whether the guest has not yet reached the point that an earlier run had reached.
    replaying: Arc<AtomicBool>,
    path: StepPath,
    import: &'static str,
    arguments: ArgumentsDigest,
    pub(super) earlier: Option<Recorded>,
    inquiry: Option<Arc<dyn OutcomeInquiry>>,
    poll: Option<Poll>,
    /// Held while an effect is under way that must not be made twice, until its outcome has been recorded.
    under_way: Option<EffectUnderWay>,
    begun: Instant,
    name: Option<String>,
}

/// For a step that looks for something and mostly finds nothing.
struct Poll {
    /// The encoded answer that means that nothing was found.
    nothing: Vec<u8>,
}

impl Step {
    /// The step of a call without a journal.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Compares the step with what an earlier run has recorded in its place. If they differ, the call ends.
    pub(super) fn begin(
        records: Arc<Records>,
        replaying: Arc<AtomicBool>,
        path: StepPath,
        import: &'static str,
        arguments: ArgumentsDigest,
        inquiry: Option<Arc<dyn OutcomeInquiry>>,
    ) -> Self {
        let earlier = records.take_earlier(&path);
        if let Some(recorded) = &earlier
            && (recorded.import != import || recorded.arguments != arguments)
        {
            let (step, recorded) = (path.to_string(), recorded.import.clone());
            records.stop(JournalProblem::Diverged { step, recorded, now: import.to_owned() });
        }
        let (poll, under_way, name, begun) = (None, None, None, records.now());
        let step = Self(Some(JournaledStep {
            records,
            replaying,
            path,
            import,
            arguments,
            earlier,
            inquiry,
            poll,
            under_way,
            begun,
            name,
        }));
        step.set_replaying();
        step
    }

    /// For an import that looks for something and mostly finds `nothing`, which is recorded only if it matters.
    pub fn or_nothing(mut self, nothing: &impl Serialize) -> Self {
        if let Some(step) = &mut self.0 {
            let nothing = encode(nothing);
            if step.is_missing() {
                let (import, outcome) = (step.import.to_owned(), Some(nothing.clone()));
                let (arguments, again) = (step.arguments, Repeat::Safe);
                step.earlier = Some(Recorded { import, arguments, outcome, again, at: 0 });
            }
            step.poll = Some(Poll { nothing });
        }
        self.set_replaying();
        self
    }

    /// Names the thing that the effect is about, for people who look at the call: see [`Remark::name`].
    pub fn with(mut self, name: impl FnOnce() -> String) -> Self {
        if let Some(step) = &mut self.0 {
            step.name = Some(name());
        }
        self
    }

    fn set_replaying(&self) {
        if let Some(step) = &self.0 {
            step.replaying.store(self.is_recorded(), Ordering::Relaxed);
        }
    }

    /// Whether an earlier run has got past this step.
    pub(crate) fn is_recorded(&self) -> bool {
        self.0.as_ref().is_some_and(|step| step.earlier.as_ref().is_some_and(|earlier| earlier.outcome.is_some()))
    }

    /// The step's number, preceded by those of the steps above it; none without a journal.
    pub fn name(&self) -> Option<String> {
        self.0.as_ref().map(|step| step.path.to_string())
    }

    /// Whether the call ends at this step, and must do nothing more. An import that cannot wait asks this before an effect.
    pub fn has_to_end(&self) -> bool {
        self.0.as_ref().is_some_and(|step| {
            step.must_not_be_missing();
            step.records.has_stopped()
        })
    }

    /// Whether an earlier run has begun this step, and nothing is known of its outcome.
    pub(crate) fn has_only_begun(&self) -> bool {
        self.begun().is_some()
    }

    /// How an earlier run has begun this step, if nothing is known of its outcome.
    pub(crate) fn begun(&self) -> Option<Repeat> {
        let earlier = self.0.as_ref()?.earlier.as_ref()?;
        earlier.outcome.is_none().then_some(earlier.again)
    }

    /// Whether an earlier run may have made this effect, although `again` says that it must not be made twice.
    pub(crate) fn is_in_doubt(&self, again: Repeat) -> bool {
        again == Repeat::Unsafe && self.has_only_begun() && !self.has_to_end()
    }

    /// Whether there is somebody who may know whether the effect has happened.
    pub(crate) fn has_inquiry(&self) -> bool {
        self.0.as_ref().is_some_and(|step| step.inquiry.is_some())
    }

    async fn has_not_happened(&self) -> bool {
        let Some(step) = &self.0 else { return false };
        match &step.inquiry {
            Some(inquiry) => inquiry.has_not_happened(step.path.to_string(), step.import).await,
            None => false,
        }
    }

    /// Whether the call has a journal without a problem, and no earlier run has reached this step.
    pub(crate) fn is_new(&self) -> bool {
        self.0.as_ref().is_some_and(|step| step.earlier.is_none() && step.records.problem().is_none())
    }

    pub(crate) fn is_journaled(&self) -> bool {
        self.0.is_some()
    }

    /// The call needs something that an earlier run had and that no longer exists: it ends at this step.
    pub(crate) fn lost(&self, what: &str) {
        if let Some(step) = &self.0 {
            let (step_name, what) = (step.path.to_string(), what.to_owned());
            step.records.stop(JournalProblem::Lost { step: step_name, import: step.import.to_owned(), what });
        }
    }

    /// The records, and the path below which the steps of a nested call are numbered that this step makes.
    pub(super) fn place(&self) -> Option<(&Arc<Records>, &StepPath)> {
        self.0.as_ref().map(|step| (&step.records, &step.path))
    }

    /// The outcome, if an earlier run has recorded it. Never returns if the call has to end.
    pub async fn recorded<T: DeserializeOwned>(&mut self) -> Option<T> {
        let Some(step) = &mut self.0 else { return None };
        let outcome = step.take_outcome_or_go_on();
        step.wait_if_stopped().await;
        outcome
    }

    /// The outcome, if an earlier run has recorded it, for an import that does not wait.
    pub(crate) fn recorded_now<T: DeserializeOwned>(&mut self) -> Option<T> {
        self.0.as_mut().and_then(JournaledStep::take_outcome_or_go_on)
    }

    /// To be called before an effect. Returns when the beginning of the effect is stored, and never if the effect must not be
    /// made. The result says whether the effect may have happened already.
    pub async fn before_effect(&mut self, again: Repeat) -> bool {
        match self.begin_effect(again).await {
            Some(may_have_happened) => may_have_happened,
            None => std::future::pending().await,
        }
    }

    /// The same for work that is not dropped together with the call: returns none if the effect must not be made.
    pub(crate) async fn begin_effect(&mut self, again: Repeat) -> Option<bool> {
        let again = if self.is_in_doubt(again) && self.has_not_happened().await { Repeat::Safe } else { again };
        let started = self.start_effect(again);
        self.started(started).await
    }

    /// Begins an effect that is made concurrently with the guest. It is called while the guest has its turn, so that later
    /// steps of the call are recorded after it. The effect must not be made before [`Self::started`] allows it.
    pub(crate) fn start_effect(&mut self, again: Repeat) -> StartedEffect {
        let Some(step) = &mut self.0 else { return StartedEffect { may_have_happened: false, stored: None } };
        step.must_not_be_missing();
        let may_have_happened = step.earlier.take().is_some();
        if may_have_happened && again == Repeat::Unsafe {
            let (step_name, import) = (step.path.to_string(), step.import.to_owned());
            step.records.stop(JournalProblem::Unknown { step: step_name, import });
        }
        if again == Repeat::Unsafe {
            step.under_way = Some(step.records.begin_unrepeatable());
        }
        let phase = match again {
            Repeat::Safe => Phase::Began,
            Repeat::Unsafe => Phase::BeganOnce,
        };
        let stored = if may_have_happened { None } else { step.add(phase) };
        let stored = step.records.first_effect.note_before(stored);
        StartedEffect { may_have_happened, stored }
    }

    /// Whether the effect may have happened already; none if it must not be made.
    pub(crate) async fn started(&self, StartedEffect { may_have_happened, stored }: StartedEffect) -> Option<bool> {
        let Some(step) = &self.0 else { return Some(may_have_happened) };
        step.wait_until(stored).await;
        (!step.records.has_stopped()).then_some(may_have_happened)
    }

    /// Stores the outcome of work that is not dropped together with the call.
    pub(crate) async fn end_effect(self, outcome: &impl Serialize) {
        if let Some(step) = &self.0 {
            step.store(Phase::Ended(encode(outcome))).await;
        }
    }

    /// Stores the outcome. Returns when it is stored, since the guest may see it only then.
    pub async fn ended(self, outcome: &impl Serialize) {
        let Some(step) = &self.0 else { return };
        step.wait_until(step.add_outcome(outcome)).await;
        step.wait_if_stopped().await;
    }

    /// For an import that asks for something and changes nothing.
    pub async fn ask<T: Serialize + DeserializeOwned>(mut self, work: impl Future<Output = T>) -> T {
        if let Some(outcome) = self.recorded().await {
            return outcome;
        }
        let outcome = work.await;
        self.ended(&outcome).await;
        outcome
    }

    /// For an import that changes something outside.
    pub async fn act<T: Serialize + DeserializeOwned>(mut self, again: Repeat, work: impl Future<Output = T>) -> T {
        if let Some(outcome) = self.recorded().await {
            return outcome;
        }
        self.before_effect(again).await;
        let outcome = work.await;
        self.ended(&outcome).await;
        outcome
    }

    /// As [`Self::ask`], for an import that may trap. A trap ends the call, and is not recorded.
    pub async fn try_ask<T, E>(mut self, work: impl Future<Output = Result<T, E>>) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
    {
        if let Some(outcome) = self.recorded().await {
            return Ok(outcome);
        }
        let outcome = work.await?;
        self.ended(&outcome).await;
        Ok(outcome)
    }

    /// As [`Self::see`], for an import that may trap.
    pub fn try_see<T, E>(mut self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
    {
        if let Some(outcome) = self.0.as_mut().and_then(JournaledStep::take_outcome_of_look) {
            return Ok(outcome);
        }
        let outcome = work()?;
        self.add_ended(&outcome);
        Ok(outcome)
    }

    fn add_ended(&self, outcome: &impl Serialize) {
        if let Some(step) = &self.0 {
            // The record has its place in the log already, and a later record is refused if this one cannot be stored.
            drop(step.add_outcome(outcome));
        }
    }

    /// For an import that waits for nothing, and changes nothing that outlives the process. What it sees is stored before
    /// any later effect.
    pub fn see<T: Serialize + DeserializeOwned>(mut self, work: impl FnOnce() -> T) -> T {
        if let Some(outcome) = self.0.as_mut().and_then(JournaledStep::take_outcome_of_look) {
            return outcome;
        }
        let outcome = work();
        self.add_ended(&outcome);
        outcome
    }
}

impl JournaledStep {
    /// Whether an earlier run has got past this step and recorded nothing of it.
    fn is_missing(&self) -> bool {
        self.earlier.is_none() && self.records.has_passed(&self.path)
    }

    /// Ends the call if this step is missing: the earlier run found nothing here, and this run does something else. Only for a
    /// step that is always recorded before those after it.
    fn must_not_be_missing(&self) {
        if self.poll.is_none() && self.is_missing() {
            let (step, recorded) = (self.path.to_string(), "an import that found nothing".to_owned());
            self.records.stop(JournalProblem::Diverged { step, recorded, now: self.import.to_owned() });
        }
    }

    /// For an import that waits for nothing, and is recorded before the guest goes on.
    fn take_outcome_of_look<T: DeserializeOwned>(&mut self) -> Option<T> {
        self.must_not_be_missing();
        self.take_outcome()
    }

    /// For an import that may do something that others can see before it is recorded.
    fn take_outcome_or_go_on<T: DeserializeOwned>(&mut self) -> Option<T> {
        if self.earlier.is_none() && self.poll.is_none() {
            self.records.add_unrecorded(&self.path);
        }
        self.take_outcome()
    }

    fn take_outcome<T: DeserializeOwned>(&mut self) -> Option<T> {
        let outcome = self.earlier.take_if(|earlier| earlier.outcome.is_some())?.outcome?;
        let decoded = decode(&outcome);
        if decoded.is_none() {
            self.records.stop(JournalProblem::Unreadable(self.path.to_string()));
        }
        decoded
    }

    fn add(&self, phase: Phase) -> Option<StoreAnswer<()>> {
        let remark = match &phase {
            Phase::Began | Phase::BeganOnce => Remark::named(self.name.as_deref()),
            _ => Remark::took(self.records.now().saturating_duration_since(self.begun)),
        };
        self.records.add(self.path.clone(), self.import, self.arguments, phase, remark)
    }

    fn add_outcome(&self, outcome: &impl Serialize) -> Option<StoreAnswer<()>> {
        let outcome = encode(outcome);
        match &self.poll {
            Some(poll) if poll.nothing == outcome => {
                self.records.add_nothing(self.path.clone(), self.import, self.arguments, outcome, self.begun)
            }
            _ => self.add(Phase::Ended(outcome)),
        }
    }

    async fn store(&self, phase: Phase) {
        self.wait_until(self.add(phase)).await;
    }

    async fn wait_until(&self, stored: Option<StoreAnswer<()>>) {
        let Some(stored) = stored else { return };
        let _waits = self.records.wait_for_store();
        if let Err(error) = stored.await {
            self.records.stop(JournalProblem::store(error));
        }
    }

    /// The guest of a call that has to end, or that goes on elsewhere, learns nothing more.
    async fn wait_if_stopped(&self) {
        if self.records.has_stopped() {
            std::future::pending::<()>().await;
        }
    }
}
