//! The circuit breaker. A tool that keeps failing is not called for a while, then probed with one call; each failed probe
//! doubles the wait.
//!
//! Failures are counted per tool, principal and calling tool. A caller who makes a tool fail, by its arguments or by calling it
//! too often, therefore opens the circuit for itself and not for others. If a tool fails for everybody, its circuit opens for
//! each caller after that caller's own failures. What a nested call that has seen private results does to a circuit is noticed
//! only by calls that have seen the same.

use platform::sync::Mutex;
use policy::{BreakerLimits, Limits, Lineage, Principal, PrivateOrigins};
use runtime::engine::CallError;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// Circuits with failures that are remembered for one plugin; the one whose last failure is the oldest is evicted first.
const MAX_CIRCUITS: usize = 1_024;
/// Failures of one circuit that are remembered.
const MAX_FAILURES: usize = 1_000;

/// What a failure counts against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Circuit {
    /// The tool, or the other export that is called.
    pub(super) target: Arc<str>,
    pub(super) principal: Principal,
    /// The calling tool; none for a client.
    pub(super) caller: Option<Arc<str>>,
    /// The private origins that a nested call has seen. Empty for the call of a client, which may notice everything.
    pub(super) knows: PrivateOrigins,
}

impl Circuit {
    pub(super) fn new(target: Arc<str>, principal: Principal, lineage: &Lineage) -> Self {
        let caller = lineage.caller().cloned();
        let knows = caller.as_ref().map(|_| lineage.private_origins()).unwrap_or_default();
        Self { target, principal, caller, knows }
    }
}

/// What the end of a call says about the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BreakerOutcome {
    /// It answered, possibly with an error of its own.
    Success,
    /// It broke, with this error code.
    Failure(&'static str),
    /// Something else ended the call.
    Unknown,
}

/// The tool must not be called now.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CircuitOpen {
    failures: u32,
    cause: &'static str,
    retry_after: Duration,
}

impl BreakerPermit {
    /// For a call that is no probe.
    pub(super) const ORDINARY: Self = Self { is_probe: false };
}

impl From<CircuitOpen> for CallError {
    fn from(CircuitOpen { failures, cause, retry_after }: CircuitOpen) -> Self {
        Self::PluginFailing { failures, cause, retry_after }
    }
}

/// Permission to call the tool once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BreakerPermit {
    /// Whether this call probes an open circuit.
    is_probe: bool,
}

/// A circuit with recent failures.
#[derive(Debug)]
struct CircuitHistory {
    /// The time of each failure, and how many calls succeeded between it and the next one.
    failures: VecDeque<(Instant, u32)>,
    cause: &'static str,
    state: CircuitState,
    /// How long it opens the next time.
    open_for: Duration,
}

#[derive(Debug)]
enum CircuitState {
    Closed,
    Open { until: Instant },
    HalfOpen,
}

#[derive(Debug, Default)]
pub(super) struct CircuitBreaker {
    /// Whether there is any circuit; without one, a call needs no lock.
    has_circuits: AtomicBool,
    circuits: Mutex<HashMap<Circuit, CircuitHistory>>,
}

impl CircuitBreaker {
    fn circuits(&self) -> MutexGuard<'_, HashMap<Circuit, CircuitHistory>> {
        self.circuits.lock()
    }

    /// Whether a call would be permitted: asked before it waits for a slot.
    pub(super) fn check(&self, circuit: &Circuit, now: Instant) -> Result<(), CircuitOpen> {
        if !self.has_circuits.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.circuits().get(circuit).map_or(Ok(()), |history| history.check(now))
    }

    /// Permits a call, whose end must be reported to [`Self::record`].
    pub(super) fn acquire(&self, circuit: &Circuit, now: Instant) -> Result<BreakerPermit, CircuitOpen> {
        if !self.has_circuits.load(Ordering::Relaxed) {
            return Ok(BreakerPermit::ORDINARY);
        }
        match self.circuits().get_mut(circuit) {
            Some(history) => history.acquire(now),
            None => Ok(BreakerPermit::ORDINARY),
        }
    }

    /// Records the end of a call. When that opens the circuit, returns for how long.
    pub(super) fn record(
        &self,
        circuit: &Circuit,
        permit: BreakerPermit,
        outcome: BreakerOutcome,
        limits: &BreakerLimits,
        now: Instant,
    ) -> Option<Duration> {
        let is_clean = !self.has_circuits.load(Ordering::Relaxed);
        let failed = matches!(outcome, BreakerOutcome::Failure(_));
        if limits.failures == 0 || (is_clean && !failed) {
            return None;
        }
        let mut circuits = self.circuits();
        if failed && !circuits.contains_key(circuit) {
            evict_oldest_if_full(&mut circuits);
            circuits.insert(circuit.clone(), CircuitHistory::new(limits));
        }
        let history = circuits.get_mut(circuit)?;
        let opened = history.record(permit, outcome, limits, now);
        if history.has_recovered(limits, now) {
            circuits.remove(circuit);
        }
        self.has_circuits.store(!circuits.is_empty(), Ordering::Relaxed);
        opened
    }

    /// The open circuits, each with the time until it is probed.
    pub(super) fn open_circuits(&self, now: Instant) -> Vec<(Circuit, Duration)> {
        let remaining = |history: &CircuitHistory| history.check(now).err().map(|open| open.retry_after);
        self.circuits().iter().filter_map(|(circuit, history)| Some((circuit.clone(), remaining(history)?))).collect()
    }
}

fn evict_oldest_if_full(circuits: &mut HashMap<Circuit, CircuitHistory>) {
    if circuits.len() >= MAX_CIRCUITS {
        let oldest = circuits.iter().min_by_key(|(_, history)| history.failures.back().map(|(at, _)| *at));
        if let Some(oldest) = oldest.map(|(circuit, _)| circuit.clone()) {
            circuits.remove(&oldest);
        }
    }
}

impl CircuitHistory {
    fn new(limits: &BreakerLimits) -> Self {
        Self { failures: VecDeque::new(), cause: "", state: CircuitState::Closed, open_for: limits.open }
    }

    fn open_error(&self, retry_after: Duration) -> CircuitOpen {
        let failures = u32::try_from(self.failures.len()).unwrap_or(u32::MAX);
        CircuitOpen { failures, cause: self.cause, retry_after }
    }

    fn check(&self, now: Instant) -> Result<(), CircuitOpen> {
        match self.state {
            CircuitState::Closed => Ok(()),
            CircuitState::Open { until } if now >= until => Ok(()),
            CircuitState::Open { until } => Err(self.open_error(until - now)),
            // If the probe fails, the circuit opens at least as long.
            CircuitState::HalfOpen => Err(self.open_error(self.open_for)),
        }
    }

    fn acquire(&mut self, now: Instant) -> Result<BreakerPermit, CircuitOpen> {
        self.check(now)?;
        let is_probe = matches!(self.state, CircuitState::Open { .. });
        if is_probe {
            self.state = CircuitState::HalfOpen;
        }
        Ok(BreakerPermit { is_probe })
    }

    fn record(
        &mut self,
        permit: BreakerPermit,
        outcome: BreakerOutcome,
        limits: &BreakerLimits,
        now: Instant,
    ) -> Option<Duration> {
        match (&self.state, outcome) {
            (CircuitState::HalfOpen, BreakerOutcome::Success) if permit.is_probe => {
                self.state = CircuitState::Closed;
                self.failures.clear();
            }
            (CircuitState::HalfOpen, BreakerOutcome::Failure(cause)) if permit.is_probe => {
                self.add_failure(cause, now);
                self.open_for = (self.open_for * 2).min(limits.at_most);
                return Some(self.open(now));
            }
            // Opens again, so that there is one probe in each period even if this one showed nothing.
            (CircuitState::HalfOpen, BreakerOutcome::Unknown) if permit.is_probe => return Some(self.open(now)),
            (CircuitState::Closed, BreakerOutcome::Success) => {
                if let Some((_, successes)) = self.failures.back_mut() {
                    *successes = successes.saturating_add(1);
                }
            }
            (CircuitState::Closed, BreakerOutcome::Failure(cause)) => {
                self.prune(limits, now);
                self.add_failure(cause, now);
                let successes = self.failures.iter().fold(0u32, |sum, (_, count)| sum.saturating_add(*count));
                let failures = u32::try_from(self.failures.len()).unwrap_or(u32::MAX);
                if failures >= limits.failures && failures >= successes {
                    return Some(self.open(now));
                }
            }
            (CircuitState::Closed, BreakerOutcome::Unknown) => {}
            // These calls began before the circuit opened; they add nothing new.
            (CircuitState::Open { .. } | CircuitState::HalfOpen, _) => {}
        }
        None
    }

    fn add_failure(&mut self, cause: &'static str, now: Instant) {
        if self.failures.len() >= MAX_FAILURES {
            self.failures.pop_front();
        }
        self.failures.push_back((now, 0));
        self.cause = cause;
    }

    fn open(&mut self, now: Instant) -> Duration {
        self.state = CircuitState::Open { until: now + self.open_for };
        self.open_for
    }

    fn prune(&mut self, limits: &BreakerLimits, now: Instant) {
        let old = |failure: &mut (Instant, u32)| now.saturating_duration_since(failure.0) > limits.within;
        while self.failures.pop_front_if(old).is_some() {}
    }

    /// Whether it is closed without recent failures, and can be forgotten.
    fn has_recovered(&mut self, limits: &BreakerLimits, now: Instant) -> bool {
        if matches!(self.state, CircuitState::Closed) {
            self.prune(limits, now);
        }
        matches!(self.state, CircuitState::Closed) && self.failures.is_empty()
    }
}

/// Judges the end of a call. A failure counts only if the tool exceeded its own limits or broke by itself, not if its caller
/// had little budget left.
pub(super) fn judge<T>(result: &Result<T, CallError>, limits: &Limits) -> BreakerOutcome {
    let Err(error) = result else { return BreakerOutcome::Success };
    let is_own_failure = match error {
        CallError::FuelExhausted { limit, .. } => *limit >= limits.fuel,
        CallError::CpuExhausted { limit, .. } => *limit >= limits.cpu,
        CallError::DeadlineExceeded { limit } => *limit >= limits.deadline(),
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
        | CallError::RateLimited { .. }
        | CallError::DayUsedUp { .. }
        | CallError::PluginFailing { .. }
        | CallError::ScratchExceeded { .. }
        | CallError::AuditUnavailable
        | CallError::Journal(_)
        | CallError::Internal => false,
    };
    if is_own_failure { BreakerOutcome::Failure(error.code()) } else { BreakerOutcome::Unknown }
}

#[cfg(test)]
mod tests;
