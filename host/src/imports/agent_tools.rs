//! `agent-tools`: reverse calls. Authority and lineage are checked here, before anything leaves the call.

use super::{CallContext, ClientCalls, Exhaustion, GuestDenial, Tool, ToolResult};
use crate::engine::Standstill;
use crate::policy::{Authority, Budget, Denial, Lineage, LineageError, Spent};
use crate::telemetry::printable;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Why a reverse call gave no result.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentError {
    /// No such tool.
    UnknownTool(String),
    /// Not granted.
    Denied(GuestDenial),
    /// The tool is already running further up.
    Cycle(String),
    /// Milliseconds.
    Timeout(u64),
    /// A budget of the chain is used up.
    Exhausted(Exhaustion),
    /// The whole chain was cancelled.
    Cancelled,
    /// They do not match the tool's schema.
    InvalidArguments(String),
    /// The tool ran and reports a failure.
    ToolError(ToolResult),
    /// The tool broke.
    Failed(String),
}

/// What the caller wishes.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// Gives up after this long.
    pub timeout: Option<Duration>,
    /// Why, for the log.
    pub purpose: Option<String>,
}

/// A reverse call that has passed all checks.
pub struct ReverseCall {
    /// `<agent plugin>.<tool>`.
    pub name: String,
    /// JSON text.
    pub arguments: String,
    /// The call it is made for.
    pub context: CallContext,
    /// The chain down to and including this call.
    pub lineage: Lineage,
    /// What is left to it.
    pub budget: Budget,
    /// Cancelled with the root call.
    pub cancel: CancellationToken,
    /// Who answers its questions: the root call's client.
    pub client: Arc<dyn ClientCalls>,
    /// Shared by the chain.
    pub standstill: Standstill,
    /// Memory that the callers hold, in bytes.
    pub held: u64,
}

/// Reaches tools of the agent's side. Implemented by `agent`.
#[async_trait]
pub trait ToolCaller: Send + Sync {
    /// All of them, by full name.
    fn tools(&self) -> Vec<Tool>;
    /// Calls one; what it spent is reported however it ends.
    async fn call(&self, call: ReverseCall) -> (Result<ToolResult, AgentError>, Spent);
}

/// One call's way to the agent's tools.
pub struct AgentTools {
    authority: Arc<Authority>,
    lineage: Lineage,
    caller: Arc<dyn ToolCaller>,
}

/// What a reverse call needs of the call that makes it.
pub struct Caller<'a> {
    /// Its context.
    pub context: &'a CallContext,
    /// What is left to it.
    pub budget: Budget,
    /// Now.
    pub now: Instant,
    /// Cancelled with it.
    pub cancel: CancellationToken,
    /// Its client.
    pub client: Arc<dyn ClientCalls>,
    /// Its chain's.
    pub standstill: Standstill,
    /// Memory that it and those above it hold.
    pub held: u64,
}

impl AgentTools {
    /// For a call at the end of `lineage`.
    pub fn new(authority: Arc<Authority>, lineage: Lineage, caller: Arc<dyn ToolCaller>) -> Self {
        Self { authority, lineage, caller }
    }

    pub(super) fn authority(&self) -> Arc<Authority> {
        self.authority.clone()
    }

    /// What may be called.
    pub fn list(&self) -> Vec<Tool> {
        let mut tools = self.caller.tools();
        tools.retain(|tool| self.authority.agent_tool(&tool.name).is_ok());
        tools
    }

    /// Reverse calls made under the root of this chain.
    pub fn calls(&self) -> u32 {
        self.lineage.calls()
    }

    /// Checks a call; what comes back may be made.
    pub fn check(
        &self,
        name: String,
        arguments: String,
        options: &CallOptions,
        caller: Caller<'_>,
    ) -> Result<ReverseCall, AgentError> {
        if let Err(denial) = self.authority.agent_tool(&name) {
            tracing::warn!(plugin = %self.authority.plugin(), "{}", printable(&denial.to_string()));
            return Err(AgentError::Denied((&denial).into()));
        }
        let lineage = self.lineage.descend(&name)?;
        let purpose = options.purpose.as_deref().map(printable).unwrap_or_default();
        tracing::debug!(plugin = %self.authority.plugin(), chain = lineage.path(), %purpose, "reverse call");
        let mut budget = caller.budget;
        if let Some(timeout) = options.timeout {
            budget.deadline = budget.deadline.min(caller.now + timeout.min(Duration::from_secs(86_400)));
        }
        let Caller { context, cancel, client, standstill, held, .. } = caller;
        let context = context.nested();
        Ok(ReverseCall { name, arguments, context, lineage, budget, cancel, client, standstill, held })
    }

    /// Who makes the call.
    pub fn caller(&self) -> Arc<dyn ToolCaller> {
        self.caller.clone()
    }
}

impl From<LineageError> for AgentError {
    fn from(error: LineageError) -> Self {
        use super::Budgeted;
        match error {
            LineageError::Cycle(..) => AgentError::Cycle(error.to_string()),
            LineageError::Depth(limit) => {
                AgentError::Exhausted(Exhaustion { budget: Budgeted::Depth, limit: limit.into() })
            }
            LineageError::Calls(limit) => {
                AgentError::Exhausted(Exhaustion { budget: Budgeted::Calls, limit: limit.into() })
            }
        }
    }
}

impl From<&Denial> for GuestDenial {
    fn from(denial: &Denial) -> Self {
        Self {
            capability: denial.capability.key().to_owned(),
            target: denial.capability.target().to_owned(),
            remedy: denial.remedy.clone(),
        }
    }
}
