//! Reverse calls of one open call: what they inherit, what they have spent, and their wire format.

use crate::offer::ToolOffer;
use platform::clock::Clock;
use platform::sync::Mutex;
use policy::{Budget, BudgetUsage, Lineage, Principal};
use runtime::engine::PausableDeadline;
use runtime::imports::ToolCaller;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Prefix of the notifications of lane `live`.
pub(super) const LIVE_PREFIX: &str = "notifications/dev.portcullis/reverse_";

/// What an open call passes on to its reverse calls.
#[derive(Clone)]
pub(super) struct ReverseCallScope {
    pub(super) lineage: Lineage,
    pub(super) budget: Budget,
    pub(super) pausable_deadline: PausableDeadline,
    pub(super) caller_memory: u64,
    pub(super) principal: Principal,
    /// Runs the tools, and what they call in turn.
    pub(super) agent: Arc<dyn ToolCaller>,
}

/// The reverse calls of one open call.
pub(super) struct ReverseCalls {
    pub(super) offer: ToolOffer,
    pub(super) scope: ReverseCallScope,
    spent: Mutex<BudgetUsage>,
    pub(super) parallel: Semaphore,
    /// Cancelled when the open call ends.
    pub(super) ended: CancellationToken,
    pub(super) clock: Arc<dyn Clock>,
}

/// A reverse call as a server sends it.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ReverseCallParams {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) plugin: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) purpose: Option<String>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) chain: Option<String>,
}

/// How a reverse call ended, in the extension's format.
pub(super) enum ReverseCallOutcome {
    /// A `CallToolResult`.
    Result(Value),
    /// An error code of the extension, and a message.
    Error(&'static str, String),
}

impl ReverseCallOutcome {
    /// The format of lanes `retry` and `live`.
    pub(super) fn into_value(self) -> Value {
        match self {
            ReverseCallOutcome::Result(result) => result,
            ReverseCallOutcome::Error(code, message) => json!({ "error": { "code": code, "message": message } }),
        }
    }
}

impl ReverseCalls {
    pub(super) fn new(offer: ToolOffer, scope: ReverseCallScope, clock: Arc<dyn Clock>) -> Self {
        let parallel = Semaphore::new(offer.limits.parallel as usize);
        Self { offer, scope, spent: Mutex::default(), parallel, ended: CancellationToken::new(), clock }
    }

    /// Cancels all reverse calls, since the open call has ended.
    pub(super) fn close(&self) {
        self.ended.cancel();
    }

    pub(super) fn remaining_budget(&self) -> Budget {
        let spent = *self.spent.lock();
        let mut left = self.scope.budget;
        left.fuel = left.fuel.map(|fuel| fuel.saturating_sub(spent.as_fuel()));
        left.cpu = left.cpu.map(|cpu| cpu.saturating_sub(spent.cpu));
        left
    }

    pub(super) fn charge(&self, more: BudgetUsage) {
        let mut spent = self.spent.lock();
        spent.fuel = Some(spent.fuel.unwrap_or_default().saturating_add(more.as_fuel()));
        spent.cpu = spent.cpu.saturating_add(more.cpu);
    }
}
