//! Admission of calls: the circuit breaker, rate limits, and slots among the running calls.

use crate::calls::slots::idle::CallNumber;
use crate::calls::slots::root_slot::RootSlot;
use crate::catalog::Plugin;
use crate::circuit_breaker::{self, BreakerOutcome, BreakerPermit, Circuit};
use platform::clock::Clock;
use platform::sync::Mutex;
use platform::telemetry::printable;
use policy::{Limits, Lineage, Principal, PrincipalLimits, TokenBucket};
use runtime::engine::{BusyResource, CallError, FairSemaphore, QueueFull, RateSubject, Slot, SlotLimits, SlotRequest};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// From this many principals on, those whose token bucket is full are forgotten. Bounds memory against many principals.
const MAX_IDLE_PRINCIPALS: usize = 1_024;

/// Admits calls to all plugins.
pub(in crate::calls) struct Admission {
    pub(in crate::calls) slots: FairSemaphore,
    clock: Arc<dyn Clock>,
    limits: PrincipalLimits,
    rates: Mutex<HashMap<Principal, TokenBucket>>,
}

/// An admitted call, whose end is reported to the circuit breaker.
pub(in crate::calls) struct AdmittedCall {
    plugin: Arc<Plugin>,
    circuit: Circuit,
    /// Taken when the end is reported.
    permit: Option<BreakerPermit>,
    clock: Arc<dyn Clock>,
    /// Set only for a root call.
    pub(in crate::calls) root: Option<(Arc<RootSlot>, CallNumber)>,
}

impl Admission {
    pub(in crate::calls) fn new(clock: Arc<dyn Clock>, limits: PrincipalLimits) -> Self {
        let total = PrincipalLimits::ALL;
        let slots = SlotLimits { total, per_principal: limits.concurrent, queue: limits.queue };
        Self { slots: FairSemaphore::new(slots), clock, limits, rates: Mutex::default() }
    }

    /// Checks the circuit and counts the call against the rates. Takes no slot.
    pub(in crate::calls) fn check(&self, plugin: &Plugin, circuit: &Circuit, root: bool) -> Result<(), CallError> {
        plugin.traffic.breaker.check(circuit, self.clock.now())?;
        if root {
            self.count_against_rate(&circuit.principal)?;
        }
        let Some(rate) = plugin.spec.limits.rate else { return Ok(()) };
        let now = self.clock.now();
        let mut bucket = plugin.traffic.rate.lock();
        let taken = bucket.get_or_insert_with(|| TokenBucket::new(rate, now)).take(rate, now);
        taken.map_err(|retry_after| CallError::RateLimited { subject: RateSubject::Plugin, rate, retry_after })
    }

    /// Counts a call against the rate of its principal.
    pub(in crate::calls) fn count_against_rate(&self, principal: &Principal) -> Result<(), CallError> {
        let Some(rate) = self.limits.rate else { return Ok(()) };
        let now = self.clock.now();
        let mut rates = self.rates.lock();
        if rates.len() >= MAX_IDLE_PRINCIPALS && !rates.contains_key(principal) {
            rates.retain(|_, bucket| !bucket.is_full(rate, now));
        }
        let bucket = rates.entry(principal.clone()).or_insert_with(|| TokenBucket::new(rate, now));
        let taken = bucket.take(rate, now);
        taken.map_err(|retry_after| CallError::RateLimited { subject: RateSubject::Principal, rate, retry_after })
    }

    /// Waits for a slot among the running calls, within the call's own deadline.
    pub(in crate::calls) async fn acquire_slot(
        &self,
        slot_request: &SlotRequest,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Result<Slot, CallError> {
        tokio::select! {
            biased;
            acquired = self.slots.acquire(slot_request) => acquired.map_err(busy),
            () = cancel.cancelled() => Err(CallError::Cancelled),
            () = tokio::time::sleep(deadline) => Err(CallError::Busy { resource: BusyResource::Slots, limit: PrincipalLimits::ALL }),
        }
    }

    /// The request of a root call for a slot, under the limits of its plugin.
    pub(in crate::calls) fn slot_request(plugin: &Plugin, principal: &Principal) -> SlotRequest {
        let Limits { concurrent, queue, .. } = *plugin.spec.limits;
        SlotRequest { principal: principal.clone(), plugin: plugin.id().clone(), concurrent, queue }
    }

    /// Asks the circuit breaker for permission.
    pub(in crate::calls) fn admit(&self, plugin: &Arc<Plugin>, circuit: Circuit) -> Result<AdmittedCall, CallError> {
        let permit = Some(plugin.traffic.breaker.acquire(&circuit, self.clock.now())?);
        Ok(AdmittedCall { plugin: plugin.clone(), circuit, permit, clock: self.clock.clone(), root: None })
    }
}

fn busy(full: QueueFull) -> CallError {
    match full {
        QueueFull::Plugin(limit) => CallError::Busy { resource: BusyResource::PluginQueue, limit },
        QueueFull::Principal(limit) => CallError::Busy { resource: BusyResource::PrincipalQueue, limit },
    }
}

impl AdmittedCall {
    /// Reports how the call ended. If a nested call has seen more private origins since it began, the report goes to the
    /// circuit that only calls with the same knowledge notice.
    pub(in crate::calls) fn finish<T>(&mut self, result: &Result<T, CallError>, lineage: Option<&Lineage>) {
        let Circuit { target, principal, knows, .. } = &self.circuit;
        if let Some(lineage) =
            lineage.filter(|lineage| lineage.caller().is_some() && lineage.private_origins() != *knows)
        {
            let circuit = Circuit::new(target.clone(), principal.clone(), lineage);
            self.report(BreakerOutcome::Unknown);
            (self.circuit, self.permit) = (circuit, Some(BreakerPermit::ORDINARY));
        }
        self.report(circuit_breaker::judge(result, &self.plugin.spec.limits));
    }

    fn report(&mut self, outcome: BreakerOutcome) {
        let Some(permit) = self.permit.take() else { return };
        let limits = &self.plugin.spec.limits.breaker;
        let opened = self.plugin.traffic.breaker.record(&self.circuit, permit, outcome, limits, self.clock.now());
        if let (Some(duration), BreakerOutcome::Failure(cause)) = (opened, outcome) {
            let Circuit { target, principal, .. } = &self.circuit;
            let (tool, duration) = (printable(target), humantime::format_duration(duration));
            tracing::warn!(plugin = %self.plugin.id(), %tool, %principal, cause, "keeps failing: not called for {duration}");
        }
    }
}

/// A dropped call shows nothing about the tool.
impl Drop for AdmittedCall {
    fn drop(&mut self) {
        self.report(BreakerOutcome::Unknown);
    }
}
