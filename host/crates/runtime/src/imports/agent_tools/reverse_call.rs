//! One reverse call, and the trait that serves it.

use super::super::arguments::Arguments;
use super::super::call_sink::CallSink;
use super::super::client::ClientCalls;
use super::super::output::Output;
use super::super::reconcile::{Effect, EffectAnswer, EffectInDoubt, Reconciler, Verdict};
use super::super::types::{CallContext, Content, Tool, ToolResult};
use super::error::AgentError;
use super::lane::LaneCell;
use super::reverse_call_span::ReverseCallSpan;
use crate::engine::{HeldResources, PausableClock, TreeFuel};
use crate::journal::{CallJournal, Repeat, Step};
use async_trait::async_trait;
use futures::future::BoxFuture;
use platform::audit::CallAudit;
use platform::telemetry::ActiveSpan;
use policy::{Budget, BudgetUsage, Lineage, Origin};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The answer of a tool that reported no failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentResult {
    pub content: Vec<Content>,
    /// JSON text.
    pub structured: Option<String>,
    pub origin: Origin,
    /// The arguments that the tool ran with, as JSON text, if the approver changed them.
    pub edited: Option<String>,
}

impl AgentResult {
    /// Bytes that the guest receives.
    pub fn size(&self) -> u64 {
        size(&self.content, self.structured.as_deref())
    }
}

fn size(content: &[Content], structured: Option<&str>) -> u64 {
    content.iter().map(Content::size).sum::<u64>() + structured.map_or(0, str::len) as u64
}

/// A tool that can be called; `tool.name` is its full name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentTool {
    pub tool: Tool,
    pub origin: Origin,
}

/// How a reverse call ended.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReverseOutcome {
    pub answer: Result<AgentResult, AgentError>,
    /// The origin to which the answer is private, also if it is an error: what the caller learns from it must not be passed on.
    pub private: Option<Origin>,
    pub spent: BudgetUsage,
    /// The `_meta` of another server's result, for a client that gets the result unchanged.
    #[serde(default)]
    pub meta: Map<String, Value>,
}

impl ReverseOutcome {
    /// Nobody was asked, so nothing private is in the error.
    pub fn unasked(error: AgentError) -> Self {
        Self::free(Err(error))
    }

    /// An answer that is private to nobody, and for which nothing ran here.
    pub fn free(answer: Result<AgentResult, AgentError>) -> Self {
        Self { answer, private: None, spent: BudgetUsage::default(), meta: Map::new() }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CallOptions {
    pub timeout: Option<Duration>,
    pub purpose: Option<String>,
    /// Whether the tool's chunks are passed on to the caller's client.
    pub chunks: bool,
}

/// A reverse call that has passed all checks.
pub struct ReverseCall {
    /// `<agent plugin>.<tool>`.
    pub name: String,
    pub arguments: Arguments,
    /// The guest's own text.
    pub purpose: Option<String>,
    pub plugin: policy::PluginId,
    /// The id of the calling call.
    pub parent: String,
    pub context: CallContext,
    /// The caller's client if the caller wants chunks, otherwise nowhere.
    pub sink: Arc<dyn CallSink>,
    /// Serves the reverse calls that this call makes in turn.
    pub agent: Arc<dyn ToolCaller>,
    /// Ends with this call.
    pub lineage: Lineage,
    pub budget: Budget,
    /// Cancelled with the root call.
    pub cancel: CancellationToken,
    /// The root call's client, which answers its questions.
    pub client: Arc<dyn ClientCalls>,
    pub pausable_clock: PausableClock,
    /// Its share in the fuel account of the tree, if there is one.
    pub tree_fuel: Option<TreeFuel>,
    /// What the tree of calls holds.
    pub held: HeldResources,
    /// The guest's own timeout; the deadline applies as well.
    pub timeout: Option<Duration>,
    /// The longest wait for somebody outside, while the deadline is paused.
    pub answer_timeout: Duration,
    /// The lane that served it, for the record.
    pub lane: LaneCell,
    pub audit: CallAudit,
    pub span: Option<ActiveSpan>,
    /// Asks the caller's plugin about a call in doubt.
    pub reconciler: Option<Arc<dyn Reconciler>>,
    /// The journal of the called tool's call, if that runs in this host.
    pub journal: CallJournal,
    /// The step in the caller's journal; none if the caller has no journal.
    pub step: Option<ReverseCallStep>,
    /// Whether the call may be made again; set only if the caller has a journal.
    pub again: Option<Repeat>,
}

/// Where a caller's journal records the call.
pub struct ReverseCallStep {
    pub(super) step: Step,
    /// The output of the caller.
    pub(super) output: Output,
}

/// What is recorded of a reverse call.
#[derive(Serialize, Deserialize)]
struct RecordedCall {
    outcome: ReverseOutcome,
    /// Chunks and bytes that the caller's client had been sent by then.
    sent: (u64, u64),
}

/// Calls tools of the agent's side. Implemented by `plugins` for local agent plugins and by `mcp` for the client's
/// tools.
#[async_trait]
pub trait ToolCaller: Send + Sync {
    fn tools(&self) -> Vec<AgentTool>;
    /// One of the tools, for the decision whether a call needs approval. It has only hints from those who are trusted in that.
    fn tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|found| found.tool.name == name).map(|found| found.tool)
    }
    /// The side that would answer; the error says why there is none.
    fn find(&self, name: &str) -> Result<Origin, AgentError>;
    /// Waits until it is known whether the tool is there, for example while its server is being connected. For a call that an
    /// earlier run has begun; a new call asks [`Self::find`] instead.
    async fn wait_for_tool(&self, _name: &str) {}
    /// Calls one tool.
    async fn call(&self, call: ReverseCall) -> ReverseOutcome;
    /// Whether a call whose outcome is unknown may be made again. `begun` is how an earlier run has begun it.
    fn again(&self, _name: &str, _begun: Option<Repeat>) -> Repeat {
        Repeat::Unsafe
    }
    /// Notes that an earlier run has made this call.
    fn replayed(&self, _name: &str) {}
    /// Runs the nested call `id`, which `parent` makes. An implementation that serves the client of both learns here that it
    /// computes.
    async fn accompany(&self, _parent: &str, _id: &str, call: BoxFuture<'_, ReverseOutcome>) -> ReverseOutcome {
        call.await
    }
    /// Whether the client declared no tools, so that there might be more.
    fn lacks_declaration(&self) -> bool {
        false
    }
}

/// Converts an outcome that the caller's own plugin has reported. It comes from the plugin and not from the tool, so it is
/// private to nobody.
fn told(result: ToolResult) -> Result<AgentResult, AgentError> {
    if result.is_error {
        return Err(AgentError::ToolError(result));
    }
    let ToolResult { content, structured, is_error: _ } = result;
    Ok(AgentResult { content, structured, origin: Origin::Client, edited: None })
}

impl ReverseCall {
    /// How long it may still run, without the time in which it waits for somebody outside.
    pub fn time_left(&self) -> Duration {
        self.budget.deadline.saturating_duration_since(self.pausable_clock.now())
    }

    /// The outcome of the call that the caller's plugin reports. None if the call is to be made; never returns if it must not
    /// be made.
    async fn reconciled(&self, step: &mut Step, again: Repeat) -> Option<ReverseOutcome> {
        let Some(reconciler) = self.reconciler.as_ref().filter(|_| step.is_in_doubt(again)) else {
            step.before_effect(again).await;
            return None;
        };
        let effect = Effect::AgentTool { name: self.name.clone(), arguments: self.arguments.text().to_owned() };
        let in_doubt = EffectInDoubt { step: step.name().unwrap_or_default(), import: "agent-tools.call", effect };
        let again = match reconciler.reconcile(in_doubt).await {
            Verdict::Done(EffectAnswer::AgentTool(result)) => {
                return Some(ReverseOutcome::free(told(result)));
            }
            Verdict::NotDone => Repeat::Safe,
            Verdict::Done(EffectAnswer::Http { .. }) | Verdict::Unknown => Repeat::Unsafe,
        };
        let started = step.start_effect(again);
        match step.started(started).await {
            Some(_) => None,
            None => std::future::pending().await,
        }
    }

    /// Makes the call. The result counts against the lineage, and whatever comes from a private origin marks the chain.
    pub async fn make(mut self) -> ReverseOutcome {
        let (agent, lineage) = (self.agent.clone(), self.lineage.clone());
        let (audit, lane, tool) = (self.audit.clone(), self.lane.clone(), self.name.clone());
        let mut journaled = self.step.take();
        let recorded = match &mut journaled {
            Some(journaled) => journaled.step.recorded().await,
            None => None,
        };
        let mut span = ReverseCallSpan { audit, lane, tool, outcome: "cancelled", bytes: 0, span: self.span.take() };
        let ReverseOutcome { answer, private, spent, meta } = match (recorded, journaled) {
            (Some(RecordedCall { outcome, sent: (chunks, bytes) }), Some(ReverseCallStep { output, .. })) => {
                agent.replayed(&self.name);
                output.advance(chunks, bytes);
                outcome
            }
            (_, Some(ReverseCallStep { mut step, output })) => {
                if step.has_only_begun() {
                    agent.wait_for_tool(&self.name).await;
                }
                let again = agent.again(&self.name, step.begun());
                self.again = Some(again);
                let outcome = match self.reconciled(&mut step, again).await {
                    Some(outcome) => outcome,
                    None => agent.call(self).await,
                };
                let record = RecordedCall { outcome, sent: (output.chunks(), output.bytes()) };
                step.ended(&record).await;
                record.outcome
            }
            (_, None) => agent.call(self).await,
        };
        lineage.report_fuel(spent.as_fuel());
        if let Some(origin) = &private {
            lineage.mark_private(origin.clone());
        }
        let bytes = match &answer {
            Ok(result) => result.size(),
            Err(AgentError::ToolError(result)) => size(&result.content, result.structured.as_deref()),
            Err(_) => 0,
        };
        span.bytes = bytes;
        let answer = lineage.count_result(bytes).map_err(AgentError::from).and(answer);
        span.outcome = answer.as_ref().map_or_else(AgentError::name, |_| "ok");
        ReverseOutcome { answer, private, spent, meta }
    }
}
