//! What every call passes before it runs: is its tool left alone, is it called too often, is there a place.

use super::breaker::{self, Breaker, Circuit, Pass};
use super::plugin::Plugin;
use super::waiting::Place;
use platform::clock::Clock;
use platform::telemetry::printable;
use policy::{Bucket, Limits, Principal, PrincipalLimits};
use runtime::engine::{CallError, Caller, Crowd, FairSemaphore, QueueFull, Slot, SlotLimits, SlotRequest};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Principals whose rate is remembered at least; beyond, those are forgotten whose rate is as good as new.
const KEPT: usize = 1_024;

/// Of all calls.
pub(super) struct Gate {
    pub(super) places: FairSemaphore,
    clock: Arc<dyn Clock>,
    limits: PrincipalLimits,
    rates: Mutex<HashMap<Principal, Bucket>>,
}

/// Of one plugin. A new version of it begins anew.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    breaker: Breaker,
    rate: Mutex<Option<Bucket>>,
}

/// A call that has been let through, until it is told how it ended.
pub(super) struct Admitted {
    plugin: Arc<Plugin>,
    circuit: Circuit,
    pass: Option<Pass>,
    clock: Arc<dyn Clock>,
    /// A root call's.
    pub(super) place: Option<Arc<Place>>,
}

impl Gate {
    pub(super) fn new(clock: Arc<dyn Clock>, limits: PrincipalLimits) -> Self {
        let all = PrincipalLimits::ALL;
        let places = SlotLimits { all, per_principal: limits.concurrent, queue: limits.queue };
        Self { places: FairSemaphore::new(places), clock, limits, rates: Mutex::default() }
    }

    /// Whether nobody is called too often and the tool is not left alone. Takes no place and costs nobody anything.
    pub(super) fn look(&self, plugin: &Plugin, circuit: &Circuit, root: bool) -> Result<(), CallError> {
        plugin.traffic.breaker.look(circuit, self.clock.now())?;
        if root {
            self.rated(&circuit.principal)?;
        }
        let Some(rate) = plugin.spec.limits.rate else { return Ok(()) };
        let now = self.clock.now();
        let mut bucket = plugin.traffic.rate.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = bucket.get_or_insert_with(|| Bucket::full(rate, now)).take(rate, now);
        taken.map_err(|retry_after| CallError::TooOften { of: Caller::Plugin, rate, retry_after })
    }

    /// One call of this principal more.
    pub(super) fn rated(&self, principal: &Principal) -> Result<(), CallError> {
        let Some(rate) = self.limits.rate else { return Ok(()) };
        let now = self.clock.now();
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if rates.len() >= KEPT && !rates.contains_key(principal) {
            rates.retain(|_, bucket| !bucket.is_full(rate, now));
        }
        let bucket = rates.entry(principal.clone()).or_insert_with(|| Bucket::full(rate, now));
        let taken = bucket.take(rate, now);
        taken.map_err(|retry_after| CallError::TooOften { of: Caller::Principal, rate, retry_after })
    }

    /// A place among the running calls, within the call's own deadline.
    pub(super) async fn place(
        &self,
        slot_request: &SlotRequest,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Result<Slot, CallError> {
        tokio::select! {
            biased;
            placed = self.places.place(slot_request) => placed.map_err(busy),
            () = cancel.cancelled() => Err(CallError::Cancelled),
            () = tokio::time::sleep(deadline) => Err(CallError::Busy { of: Crowd::Slots, limit: PrincipalLimits::ALL }),
        }
    }

    /// Lets a call through.
    pub(super) fn admit(&self, plugin: &Arc<Plugin>, circuit: Circuit) -> Result<Admitted, CallError> {
        let pass = Some(plugin.traffic.breaker.enter(&circuit, self.clock.now())?);
        Ok(Admitted { plugin: plugin.clone(), circuit, pass, clock: self.clock.clone(), place: None })
    }
}

/// Who wants a place.
pub(super) fn slot_request(plugin: &Plugin, principal: &Principal) -> SlotRequest {
    let Limits { concurrent, queue, .. } = plugin.spec.limits;
    SlotRequest { principal: principal.clone(), plugin: plugin.id().clone(), concurrent, queue }
}

fn busy(full: QueueFull) -> CallError {
    match full {
        QueueFull::Plugin(limit) => CallError::Busy { of: Crowd::Plugin, limit },
        QueueFull::Principal(limit) => CallError::Busy { of: Crowd::Principal, limit },
    }
}

impl Plugin {
    /// Its tools that are left alone now because they kept failing, each with how long it still is: for measuring.
    pub fn left_alone(&self, clock: &dyn Clock) -> Vec<(String, Duration)> {
        let open = self.traffic.breaker.open(clock.now());
        open.into_iter().map(|(circuit, left)| (circuit.called, left)).collect()
    }
}

impl Admitted {
    /// How it ended.
    pub(super) fn ended<T>(&mut self, result: &Result<T, CallError>) {
        self.tell(breaker::outcome(result, &self.plugin.spec.limits));
    }

    fn tell(&mut self, outcome: breaker::Outcome) {
        let Some(pass) = self.pass.take() else { return };
        let limits = &self.plugin.spec.limits.breaker;
        let left_alone = self.plugin.traffic.breaker.end(&self.circuit, pass, outcome, limits, self.clock.now());
        if let (Some(length), breaker::Outcome::Broke(cause)) = (left_alone, outcome) {
            let Circuit { called, principal, .. } = &self.circuit;
            let (tool, length) = (printable(called), humantime::format_duration(length));
            tracing::warn!(plugin = %self.plugin.id(), %tool, %principal, cause, "keeps failing: left alone for {length}");
        }
    }
}

/// A call that nobody waited for has not shown anything.
impl Drop for Admitted {
    fn drop(&mut self) {
        self.tell(breaker::Outcome::Unknown);
    }
}
