//! Reverse calls of one open call: what they inherit, what they have spent, and their wire format.

use crate::api::offer::ToolOffer;
use crate::open_call::serving_time::ServingTime;
use policy::{Budget, BudgetShare, BudgetUsage, Lineage, Principal, SharedBudget};
use runtime::engine::{HeldResources, PausableClock};
use runtime::imports::{BudgetKind, Exhaustion, ToolCaller};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Prefix of the notifications of lane `live`.
pub(crate) const LIVE_PREFIX: &str = "notifications/dev.portcullis/reverse_";

/// What an open call passes on to its reverse calls.
#[derive(Clone)]
pub(crate) struct ReverseCallScope {
    pub(crate) lineage: Lineage,
    pub(crate) budget: Budget,
    /// When the call that made the open call ends; none if the agent itself made it.
    pub(crate) caller_ends: Option<Instant>,
    pub(crate) pausable_clock: PausableClock,
    pub(crate) held: HeldResources,
    pub(crate) principal: Principal,
    /// Runs the tools, and what they call in turn.
    pub(crate) agent: Arc<dyn ToolCaller>,
}

/// The reverse calls of one open call.
pub(crate) struct ReverseCalls {
    pub(crate) offer: ToolOffer,
    pub(crate) scope: ReverseCallScope,
    budget: SharedBudget,
    pub(crate) serving: ServingTime,
    pub(crate) parallel: Semaphore,
    /// Cancelled when the open call ends.
    pub(crate) ended: CancellationToken,
}

/// A reverse call as a server sends it.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReverseCallParams {
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) plugin: Option<String>,
    pub(crate) parent: Option<String>,
    pub(crate) purpose: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) chain: Option<String>,
    /// The key by which a task names it. Never read from what a server sends.
    #[serde(skip)]
    pub(crate) key: Option<String>,
}

/// Where a reverse call is served, which decides who counts its CPU time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ServedIn {
    /// In the open call itself, while the caller of that call waits.
    Caller,
    /// In a task of the connection.
    Task,
}

/// How a reverse call ended, in the extension's format.
pub(crate) enum ReverseCallOutcome {
    /// A `CallToolResult`.
    Result(Value),
    /// An error code of the extension, and a message.
    Error(&'static str, String),
}

impl ReverseCallOutcome {
    /// The format of lanes `retry` and `live`.
    pub(crate) fn into_value(self) -> Value {
        match self {
            ReverseCallOutcome::Result(result) => result,
            ReverseCallOutcome::Error(code, message) => json!({ "error": { "code": code, "message": message } }),
        }
    }
}

impl ReverseCalls {
    pub(crate) fn new(offer: ToolOffer, scope: ReverseCallScope) -> Self {
        let parallel = Semaphore::new(scope.lineage.parallel() as usize);
        let serving = ServingTime::new(scope.pausable_clock.clone());
        let budget = SharedBudget::new(&scope.budget);
        Self { offer, scope, budget, serving, parallel, ended: CancellationToken::new() }
    }

    /// Cancels all reverse calls, since the open call has ended.
    pub(crate) fn close(&self) {
        self.ended.cancel();
    }

    /// How much time the call that made the open call has left.
    pub(crate) fn caller_left(&self) -> Duration {
        let now = self.scope.pausable_clock.now();
        self.scope.caller_ends.map_or(Duration::MAX, |ends| ends.saturating_duration_since(now))
    }

    /// Waits until that call has no time left.
    pub(crate) async fn caller_ended(&self) {
        match self.scope.caller_ends {
            Some(ends) => self.scope.pausable_clock.reached(ends).await,
            None => std::future::pending().await,
        }
    }

    /// What a reverse call that begins now may use. Nothing is renewed for a further call, not even the time.
    pub(crate) fn reserve(&self) -> Result<(Budget, BudgetShare), Exhaustion> {
        let (now, limit) = (self.scope.pausable_clock.now(), self.offer.limits.deadline());
        let own = now + limit.saturating_sub(self.serving.elapsed());
        let deadline = self.scope.caller_ends.map_or(own, |ends| own.min(ends));
        let time = deadline.saturating_duration_since(now);
        if time.is_zero() {
            let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            return Err(Exhaustion { budget: BudgetKind::Deadline, limit });
        }
        let share = self.budget.reserve();
        Ok((Budget { fuel: share.fuel, cpu: share.cpu, deadline, time }, share))
    }

    /// Ends a reverse call that had this share.
    pub(crate) fn settle(&self, share: BudgetShare, used: BudgetUsage, served_in: ServedIn) {
        let elsewhere = match served_in {
            ServedIn::Caller => used.elsewhere,
            ServedIn::Task => used.cpu,
        };
        self.budget.settle(share, BudgetUsage { elsewhere, ..used });
    }

    /// What all reverse calls used. One that was cancelled counts with its whole share.
    pub(crate) fn used(&self) -> BudgetUsage {
        self.budget.used()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::{Clock as _, ManualClock};
    use plugins::calls::NoTools;
    use policy::Limits;

    fn opened(clock: &Arc<ManualClock>, caller_ends: Option<Instant>) -> ReverseCalls {
        let (offer, limits) = (ToolOffer::none(), Limits::default());
        let scope = ReverseCallScope {
            lineage: Lineage::root("far.run", &limits),
            budget: Budget::root(&limits, clock.now()),
            caller_ends,
            pausable_clock: PausableClock::new(clock.clone()),
            held: HeldResources::default(),
            principal: Principal::local(),
            agent: Arc::new(NoTools),
        };
        ReverseCalls::new(offer, scope)
    }

    fn left(calls: &ReverseCalls) -> Option<u64> {
        calls.reserve().ok().map(|(budget, _)| budget.time.as_secs())
    }

    /// A server that calls back again and again must not keep its call alive by that.
    #[test]
    fn the_time_of_reverse_calls_is_not_renewed() {
        let clock = ManualClock::new();
        let calls = opened(&clock, None);
        clock.pass(Duration::from_secs(3_600));
        assert_eq!(left(&calls), Some(30), "the server's own time is another limit");
        for spent in [10, 20] {
            let _serving = calls.serving.start();
            clock.pass(Duration::from_secs(10));
            assert_eq!(left(&calls), Some(30 - spent));
        }
        let serving = calls.serving.start();
        clock.pass(Duration::from_secs(10));
        drop(serving);
        let refused = calls.reserve().map(|_| ()).unwrap_err();
        assert_eq!((refused.budget, refused.limit), (BudgetKind::Deadline, 30_000));
    }

    #[test]
    fn reverse_calls_end_with_the_call_that_made_the_open_call() {
        let clock = ManualClock::new();
        let calls = opened(&clock, Some(clock.now() + Duration::from_secs(5)));
        assert_eq!(left(&calls), Some(5));
        clock.pass(Duration::from_secs(4));
        assert_eq!(left(&calls), Some(1));
        let pause = calls.scope.pausable_clock.pause();
        clock.pass(Duration::from_secs(60));
        drop(pause);
        assert_eq!(left(&calls), Some(1), "the caller waited for a person");
        clock.pass(Duration::from_secs(1));
        assert_eq!(left(&calls), None);
    }
}
