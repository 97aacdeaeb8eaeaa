//! Calls of upstream tools for a client, through the same trait as reverse calls.

use super::answer::{Answer, CallUsage, FinishedCall, StructuredContent};
use super::payload_size::PayloadSize;
use super::recorder::{CallRecorder, Observers, audit_scope};
use super::request::CallRequest;
use super::runner::Runner;
use crate::catalog::UpstreamTool;
use platform::telemetry::printable;
use policy::{Budget, Limits, Lineage};
use runtime::engine::{CallError, PausableDeadline, heavy_if_large};
use runtime::imports::{
    Abilities, AgentError, AgentResult, Exhaustion, LaneCell, QuestionCounter, ReverseCall, ToolResult,
};
use serde_json::Value;
use std::time::Duration;

/// The upstream server's own settings bound how long a call may take; this is the bound for a server without such settings.
const MAX_DEADLINE: Duration = Duration::from_secs(86_400);

impl Runner {
    /// Calls a tool of an upstream server. `arguments` and `text` are the same JSON object.
    pub async fn call_upstream_tool(
        &self,
        upstream_tool: &UpstreamTool,
        arguments: &Value,
        text: String,
        request: CallRequest,
    ) -> FinishedCall {
        let scope = audit_scope(&request.context, &upstream_tool.id, None);
        let observers =
            Observers { metrics: None, tracer: self.tracer(), traceparent: request.context.traceparent.as_deref() };
        let recorder = CallRecorder::new(self.audit(), scope, &upstream_tool.tool.tool.name, Some(&text), observers);
        if let Err(reason) = upstream_tool.tool.input.check(arguments) {
            return recorder.refuse(CallError::InvalidArguments { reason });
        }
        if self.audit().refuses_calls() {
            return recorder.refuse(CallError::AuditUnavailable);
        }
        if let Err(error) = self.count_against_rate(&request.context.principal) {
            return FinishedCall::not_started(Err(error));
        }
        let clock = self.clock();
        let (limits, began) = (Limits { deadline: MAX_DEADLINE, ..Limits::default() }, clock.now());
        let CallRequest { mut context, sink, agent, client, cancel, .. } = request;
        if let Some(traceparent) = recorder.traceparent() {
            context.traceparent = Some(traceparent);
        }
        let (name, questions) = (upstream_tool.full_name(), QuestionCounter::new(limits.questions));
        let call = ReverseCall {
            lineage: Lineage::root(name.clone(), &limits),
            name,
            arguments: text,
            purpose: None,
            plugin: upstream_tool.id.clone(),
            parent: context.id.clone(),
            context,
            sink,
            agent,
            budget: Budget::root(&limits, began),
            cancel,
            client,
            questions: questions.clone(),
            pausable_deadline: PausableDeadline::new(clock.clone()),
            held: 0,
            timeout: None,
            answer: limits.answer,
            lane: LaneCell::default(),
            audit: recorder.call_audit().clone(),
            span: None,
        };
        let (parent, lineage, principal) = (call.parent.clone(), call.lineage.clone(), call.context.principal.clone());
        let (result, spent) = upstream_tool.caller.call(call).await;
        let output_bytes = result.payload_bytes();
        heavy_if_large(output_bytes, || (principal, upstream_tool.id.clone())).await;
        let result = to_answer(result);
        if let Err(error) = &result {
            let tool = printable(&upstream_tool.tool.tool.name).into_owned();
            let (code, text) = (error.code(), error.to_string());
            tracing::warn!(upstream = upstream_tool.id.name, tool, call = parent, code, "{}", printable(&text));
        }
        let usage = CallUsage {
            spent,
            wall: clock.now().saturating_duration_since(began),
            output_bytes,
            calls: lineage.calls(),
            questions: questions.count(),
            ..CallUsage::default()
        };
        let finished = FinishedCall { result, usage, missing_abilities: Abilities::default(), missing_tools: false };
        recorder.finish(finished, |answer| answer.is_error)
    }
}

fn to_answer(result: Result<AgentResult, AgentError>) -> Result<Answer, CallError> {
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
            Ok(Answer { content, structured: structured(text)?, is_error: false })
        }
        Err(AgentError::ToolError(ToolResult { content, structured: text, .. })) => {
            Ok(Answer { content, structured: structured(text)?, is_error: true })
        }
        Err(AgentError::InvalidArguments(reason)) => Err(CallError::InvalidArguments { reason }),
        Err(AgentError::Timeout(limit)) => Err(CallError::DeadlineExceeded { limit: Duration::from_millis(limit) }),
        Err(AgentError::Cancelled) => Err(CallError::Cancelled),
        Err(AgentError::Exhausted(Exhaustion { budget, limit })) => {
            failed(format!("the limit of {limit} {} is reached", budget.name()))
        }
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
