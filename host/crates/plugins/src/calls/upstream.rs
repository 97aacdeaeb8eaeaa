//! Calls of upstream tools for a client, through the same trait as reverse calls.

use super::answer::{Answer, CallAnswer, CallUsage, FinishedCall, StructuredContent};
use super::payload_size::PayloadSize;
use super::recorder::{CallRecorder, Observers, RecordedTarget, audit_scope};
use super::request::{CallParent, CallRequest, Inherited};
use super::runner::Runner;
use crate::catalog::UpstreamTool;
use platform::telemetry::printable;
use policy::{Budget, Limits, Lineage, TreeBudget};
use runtime::engine::{CallError, PausableDeadline, work_in_pool_if_large};
use runtime::imports::{
    AgentError, AgentResult, Arguments, BudgetKind, ClientLink, LaneCell, ReverseCall, ReverseOutcome, ToolResult,
};
use runtime::journal::CallJournal;
use serde_json::{Map, Value};
use std::time::Duration;

/// The upstream server's own settings bound how long a call may take; this is the bound for a server without such settings.
const MAX_DEADLINE: Duration = Duration::from_secs(86_400);

impl Runner {
    pub(super) async fn run_upstream(
        &self,
        upstream_tool: &UpstreamTool,
        arguments: Arguments,
        request: CallRequest,
    ) -> FinishedCall {
        let scope = audit_scope(&request.context, &upstream_tool.id, None);
        let traceparent = request.context.traceparent.as_deref();
        let observers = Observers {
            metrics: None,
            tracer: self.tracer(),
            traceparent,
            unrecorded: self.unrecorded(),
            journal: CallJournal::default(),
        };
        let (name, text) = (upstream_tool.tool.name.clone(), Some(arguments.text()));
        let target = RecordedTarget { method: "execute_tool", name, arguments: text };
        let limits = Limits { deadline: MAX_DEADLINE, ..Limits::default() };
        let full_name = upstream_tool.tool.full_name.clone();
        let lineage = match &request.parent {
            Some(CallParent::Host(Inherited { lineage, .. }) | CallParent::External { lineage, .. }) => lineage.clone(),
            None => Lineage::root(full_name.clone(), &limits),
        };
        let recorder = CallRecorder::new(self.audit(), scope, &lineage, target, observers);
        if let Err(reason) = upstream_tool.tool.check_arguments(arguments.value()) {
            return recorder.refuse(CallError::InvalidArguments { reason });
        }
        if self.audit().refuses_calls(&request.context.principal) {
            return recorder.refuse(CallError::AuditUnavailable);
        }
        if let Err(error) = self.count_against_rate(&request.context.principal) {
            return recorder.refuse(error);
        }
        let clock = self.clock();
        let began = clock.now();
        let CallRequest { mut context, link: ClientLink { sink, client, agent, cancel, held, .. }, parent, journal } =
            request;
        journal.cannot_replay("its tool is that of another server");
        if !journal.note_effect().await {
            return recorder.refuse(CallError::Internal);
        }
        let (lineage, budget, budget_source) = match parent {
            Some(CallParent::External { budget_source, .. }) => {
                let lineage = match lineage.descend(full_name.clone(), arguments.text().len() as u64) {
                    Ok(lineage) => lineage,
                    Err(error) => return recorder.refuse(CallError::Lineage(error)),
                };
                (lineage, budget_source.reserve(began).nested(&limits, began), Some(budget_source))
            }
            Some(CallParent::Host(Inherited { budget, .. })) => (lineage, budget.nested(&limits, began), None),
            None => (lineage, Budget::root(&limits, began), None),
        };
        if let Some(traceparent) = recorder.traceparent() {
            context.traceparent = Some(traceparent);
        }
        let call = ReverseCall {
            reconciler: None,
            lineage,
            name: full_name.to_string(),
            arguments,
            purpose: None,
            plugin: upstream_tool.id.clone(),
            parent: context.id.to_string(),
            context,
            sink,
            agent,
            budget,
            cancel,
            client,
            pausable_deadline: PausableDeadline::new(clock.clone()),
            tree_fuel: None,
            held,
            timeout: None,
            answer_timeout: limits.answer_timeout,
            lane: LaneCell::default(),
            audit: recorder.call_audit().clone(),
            span: None,
            journal: CallJournal::default(),
            step: None,
            again: None,
        };
        let (parent, lineage, principal) = (call.parent.clone(), call.lineage.clone(), call.context.principal.clone());
        let ReverseOutcome { answer: result, spent, meta, .. } = upstream_tool.caller.call(call).await;
        let wall = clock.now().saturating_duration_since(began);
        if let Some(budget_source) = budget_source {
            budget_source.settle(spent, wall);
        }
        let (output_bytes, has_begun) = (result.payload_bytes(), may_have_begun(&result));
        let owner = || (principal, upstream_tool.id.clone());
        let result = work_in_pool_if_large(output_bytes, owner, move || to_answer(result, meta)).await;
        if let Err(error) = &result {
            let tool = printable(&upstream_tool.tool.tool.name).into_owned();
            let (code, text) = (error.code(), error.to_string());
            tracing::warn!(upstream = &*upstream_tool.id.name, tool, call = parent, code, "{}", printable(&text));
        }
        let usage = CallUsage {
            spent,
            wall,
            output_bytes,
            calls: lineage.calls(),
            questions: u32::try_from(lineage.used(TreeBudget::Questions)).unwrap_or(u32::MAX),
            ..CallUsage::default()
        };
        let result = result.map(CallAnswer::Tool);
        recorder.finish(FinishedCall { has_begun, ..FinishedCall::new(result, usage) })
    }
}

/// Whether the server may have got the call. Where it did not, nothing is in doubt, and the call can be made again.
fn may_have_begun(result: &Result<AgentResult, AgentError>) -> bool {
    match result {
        // This host has found no connection, no such tool, or arguments of another shape.
        Err(AgentError::NotSupported(_) | AgentError::UnknownTool(_) | AgentError::InvalidArguments(_)) => false,
        // Too many calls are open there.
        Err(AgentError::Exhausted(exhaustion)) => exhaustion.budget != BudgetKind::Calls,
        Ok(_)
        | Err(
            AgentError::ToolError(_)
            | AgentError::Timeout(_)
            | AgentError::Cancelled
            | AgentError::Denied(_)
            | AgentError::Declined(_)
            | AgentError::Cycle(_)
            | AgentError::Failed(_),
        ) => true,
    }
}

fn to_answer(result: Result<AgentResult, AgentError>, meta: Map<String, Value>) -> Result<Answer, CallError> {
    let structured = |text: Option<String>| {
        text.map(|text| match serde_json::from_str(&text) {
            Ok(value) => Ok(StructuredContent { text, value }),
            Err(error) => Err(CallError::InvalidOutput { reason: error.to_string() }),
        })
        .transpose()
    };
    let failed = |reason: String| Err(CallError::Upstream { reason });
    match result {
        Ok(AgentResult { content, structured: text, .. }) => {
            Ok(Answer { content, structured: structured(text)?, is_error: false, meta })
        }
        Err(AgentError::ToolError(ToolResult { content, structured: text, .. })) => {
            Ok(Answer { content, structured: structured(text)?, is_error: true, meta })
        }
        Err(AgentError::InvalidArguments(reason)) => Err(CallError::InvalidArguments { reason }),
        Err(AgentError::Timeout(limit)) => Err(CallError::DeadlineExceeded { limit: Duration::from_millis(limit) }),
        Err(AgentError::Cancelled) => Err(CallError::Cancelled),
        Err(AgentError::Exhausted(exhaustion)) => failed(exhaustion.to_string()),
        Err(AgentError::UnknownTool(name)) => failed(format!("there is no tool `{name}` any more")),
        Err(AgentError::Denied(denial)) => failed(format!("it needs {} {}", denial.capability, denial.target)),
        Err(
            AgentError::NotSupported(reason)
            | AgentError::Declined(reason)
            | AgentError::Cycle(reason)
            | AgentError::Failed(reason),
        ) => failed(reason),
    }
}
