//! A tool that keeps failing is left alone for a while, then tried with one call; each time that fails too, for twice as
//! long.
//!
//! Failures are counted for each tool and, of it, for each principal and each tool that called it: who makes a tool fail,
//! by what it is given or how often, shuts it for itself and not for others. A tool that fails for everybody is shut for
//! each after that one's own failures.

use policy::{BreakerLimits, Limits, Principal};
use runtime::engine::CallError;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Circuits of one plugin that have trouble. Bounds what is remembered; the one that failed the longest ago goes first.
const MAX_TROUBLED: usize = 1_024;
/// Failures of one of them that are remembered.
const MAX_FAILURES: usize = 1_000;

/// Whose calls of what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Circuit {
    /// The tool, or what else is called.
    pub(super) called: String,
    pub(super) principal: Principal,
    /// The tool that called it; none: a client.
    pub(super) by: Option<String>,
}

/// How a call ended, as far as it says something of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It answered, if only that it could not.
    Well,
    /// It broke, for this reason.
    Broke(&'static str),
    /// It was not the tool that ended it.
    Unknown,
}

/// Why a tool is not called now.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeftAlone {
    failures: u32,
    cause: &'static str,
    retry_after: Duration,
}

impl From<LeftAlone> for CallError {
    fn from(LeftAlone { failures, cause, retry_after }: LeftAlone) -> Self {
        Self::PluginFailing { failures, cause, retry_after }
    }
}

/// May be called; says whether it is the one call that tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pass {
    tries: bool,
}

/// What is known of one circuit that has had trouble.
#[derive(Debug)]
struct Trouble {
    /// When, and how many calls went well after it and before the next.
    failures: VecDeque<(Instant, u32)>,
    cause: &'static str,
    state: State,
    /// How long it is left alone the next time.
    length: Duration,
}

#[derive(Debug)]
enum State {
    Closed,
    Open { until: Instant },
    Trying,
}

/// The circuits of one plugin.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// Whether there is any trouble; without, a call looks at nothing else.
    troubled: AtomicBool,
    circuits: Mutex<HashMap<Circuit, Trouble>>,
}

impl Breaker {
    fn circuits(&self) -> MutexGuard<'_, HashMap<Circuit, Trouble>> {
        self.circuits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call would be let through, before it waits for anything.
    pub(super) fn look(&self, circuit: &Circuit, now: Instant) -> Result<(), LeftAlone> {
        if !self.troubled.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.circuits().get(circuit).map_or(Ok(()), |trouble| trouble.look(now))
    }

    /// Lets a call through. Whatever comes of it must be told to [`Self::end`].
    pub(super) fn enter(&self, circuit: &Circuit, now: Instant) -> Result<Pass, LeftAlone> {
        if !self.troubled.load(Ordering::Relaxed) {
            return Ok(Pass { tries: false });
        }
        match self.circuits().get_mut(circuit) {
            Some(trouble) => trouble.enter(now),
            None => Ok(Pass { tries: false }),
        }
    }

    /// A call has ended. Says for how long the tool is left alone from now on, if it is because of that.
    pub(super) fn end(
        &self,
        circuit: &Circuit,
        pass: Pass,
        outcome: Outcome,
        limits: &BreakerLimits,
        now: Instant,
    ) -> Option<Duration> {
        let calm = !self.troubled.load(Ordering::Relaxed);
        let broke = matches!(outcome, Outcome::Broke(_));
        if limits.failures == 0 || (calm && !broke) {
            return None;
        }
        let mut circuits = self.circuits();
        if broke && !circuits.contains_key(circuit) {
            make_room(&mut circuits);
            circuits.insert(circuit.clone(), Trouble::new(limits));
        }
        let trouble = circuits.get_mut(circuit)?;
        let opened = trouble.end(pass, outcome, limits, now);
        if trouble.is_over(limits, now) {
            circuits.remove(circuit);
        }
        self.troubled.store(!circuits.is_empty(), Ordering::Relaxed);
        opened
    }

    /// What is left alone now, and until when: for measuring.
    pub(super) fn open(&self, now: Instant) -> Vec<(Circuit, Duration)> {
        let left = |trouble: &Trouble| trouble.look(now).err().map(|left| left.retry_after);
        self.circuits().iter().filter_map(|(circuit, trouble)| Some((circuit.clone(), left(trouble)?))).collect()
    }
}

fn make_room(circuits: &mut HashMap<Circuit, Trouble>) {
    if circuits.len() >= MAX_TROUBLED {
        let oldest = circuits.iter().min_by_key(|(_, trouble)| trouble.failures.back().map(|(at, _)| *at));
        if let Some(oldest) = oldest.map(|(circuit, _)| circuit.clone()) {
            circuits.remove(&oldest);
        }
    }
}

impl Trouble {
    fn new(limits: &BreakerLimits) -> Self {
        Self { failures: VecDeque::new(), cause: "", state: State::Closed, length: limits.open }
    }

    fn left_alone(&self, retry_after: Duration) -> LeftAlone {
        let failures = u32::try_from(self.failures.len()).unwrap_or(u32::MAX);
        LeftAlone { failures, cause: self.cause, retry_after }
    }

    fn look(&self, now: Instant) -> Result<(), LeftAlone> {
        match self.state {
            State::Closed => Ok(()),
            State::Open { until } if now >= until => Ok(()),
            State::Open { until } => Err(self.left_alone(until - now)),
            // When that call fails it will be as long, or longer.
            State::Trying => Err(self.left_alone(self.length)),
        }
    }

    fn enter(&mut self, now: Instant) -> Result<Pass, LeftAlone> {
        self.look(now)?;
        let tries = matches!(self.state, State::Open { .. });
        if tries {
            self.state = State::Trying;
        }
        Ok(Pass { tries })
    }

    fn end(&mut self, pass: Pass, outcome: Outcome, limits: &BreakerLimits, now: Instant) -> Option<Duration> {
        match (&self.state, outcome) {
            (State::Trying, Outcome::Well) if pass.tries => {
                self.state = State::Closed;
                self.failures.clear();
            }
            (State::Trying, Outcome::Broke(cause)) if pass.tries => {
                self.note(cause, now);
                self.length = (self.length * 2).min(limits.at_most);
                return Some(self.leave_alone(now));
            }
            // One call in each period, even if it came to nothing.
            (State::Trying, Outcome::Unknown) if pass.tries => return Some(self.leave_alone(now)),
            (State::Closed, Outcome::Well) => {
                if let Some((_, well)) = self.failures.back_mut() {
                    *well = well.saturating_add(1);
                }
            }
            (State::Closed, Outcome::Broke(cause)) => {
                self.prune(limits, now);
                self.note(cause, now);
                let well = self.failures.iter().fold(0u32, |sum, (_, well)| sum.saturating_add(*well));
                let failures = u32::try_from(self.failures.len()).unwrap_or(u32::MAX);
                if failures >= limits.failures && failures >= well {
                    return Some(self.leave_alone(now));
                }
            }
            (State::Closed, Outcome::Unknown) => {}
            // These began before it was left alone; what they say is known.
            (State::Open { .. } | State::Trying, _) => {}
        }
        None
    }

    fn note(&mut self, cause: &'static str, now: Instant) {
        if self.failures.len() >= MAX_FAILURES {
            self.failures.pop_front();
        }
        self.failures.push_back((now, 0));
        self.cause = cause;
    }

    fn leave_alone(&mut self, now: Instant) -> Duration {
        self.state = State::Open { until: now + self.length };
        self.length
    }

    fn prune(&mut self, limits: &BreakerLimits, now: Instant) {
        let old = |failure: &mut (Instant, u32)| now.saturating_duration_since(failure.0) > limits.within;
        while self.failures.pop_front_if(old).is_some() {}
    }

    /// Whether there is nothing left to remember.
    fn is_over(&mut self, limits: &BreakerLimits, now: Instant) -> bool {
        if matches!(self.state, State::Closed) {
            self.prune(limits, now);
        }
        matches!(self.state, State::Closed) && self.failures.is_empty()
    }
}

/// Whether a failure is the tool's own, under its own limits, and not that of whoever called it or had little left.
pub(super) fn outcome<T>(result: &Result<T, CallError>, limits: &Limits) -> Outcome {
    let Err(error) = result else { return Outcome::Well };
    let own = match error {
        CallError::FuelExhausted { limit, .. } => *limit >= limits.fuel,
        CallError::CpuExhausted { limit, .. } => *limit >= limits.cpu,
        CallError::DeadlineExceeded { limit } => *limit >= limits.deadline,
        CallError::MemoryExceeded { .. }
        | CallError::TableExceeded { .. }
        | CallError::InstancesExceeded { .. }
        | CallError::HandlesExceeded { .. }
        | CallError::HostcallExceeded { .. }
        | CallError::OutputExceeded { .. }
        | CallError::StackOverflow
        | CallError::Trap { .. }
        | CallError::Exited { .. }
        | CallError::InvalidOutput { .. } => true,
        CallError::InvalidArguments { .. }
        | CallError::Failed { .. }
        | CallError::Upstream { .. }
        | CallError::Denied(_)
        | CallError::Lineage(_)
        | CallError::Unsupported { .. }
        | CallError::Cancelled
        | CallError::Busy { .. }
        | CallError::TooOften { .. }
        | CallError::PluginFailing { .. }
        | CallError::ScratchExceeded { .. }
        | CallError::Unrecorded
        | CallError::Internal => false,
    };
    if own { Outcome::Broke(error.code()) } else { Outcome::Unknown }
}

#[cfg(test)]
mod tests;
