//! Tools of servers behind this host: exposed beside the plugins', called through the trait that reverse calls use.

use super::answer::{Answer, Finished, Measured, Structured, Usage};
use super::plugin::PluginTool;
use super::runner::{CallRequest, Runner};
use super::witness::{Eyes, Witness, scope};
use platform::telemetry::printable;
use policy::{Budget, Limits, Lineage, PluginId, Side};
use runtime::engine::{CallError, PausableDeadline, heavy_if_large};
use runtime::imports::{Abilities, AgentError, AgentResult, Lane, Questions, ReverseCall, ToolCaller, ToolResult};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// The server's own settings say how long a call may take; this only bounds those who say nothing.
const LONGEST: Duration = Duration::from_secs(86_400);

/// A tool of a server behind this host.
#[derive(Clone)]
pub struct Beyond {
    /// The server, as the operator named it, where plugins have their name.
    pub id: PluginId,
    /// The tool, by its own name.
    pub tool: Arc<PluginTool>,
    /// Who reaches it.
    pub caller: Arc<dyn ToolCaller>,
}

impl Beyond {
    /// Of the server of this name.
    pub fn new(server: &str, tool: Arc<PluginTool>, caller: Arc<dyn ToolCaller>) -> Self {
        Self { id: PluginId { side: Side::Server, name: server.to_owned() }, tool, caller }
    }

    /// As plugins call it.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.id.name, self.tool.tool.name)
    }

    /// As clients call it: what MCP does not have in names is replaced.
    pub fn exposed_name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
        format!("{}__{}", self.id.name, self.tool.tool.name.chars().map(plain).collect::<String>())
    }
}

impl Runner {
    /// Calls a tool of a server behind this host, for a client. `arguments` and `text` are the same JSON object.
    pub async fn call_beyond(
        &self,
        beyond: &Beyond,
        arguments: &Value,
        text: String,
        request: CallRequest,
    ) -> Finished {
        let scope = scope(&request.context, &beyond.id, None);
        let eyes = Eyes { meter: None, tracer: self.tracer(), above: request.context.traceparent.as_deref() };
        let witness = Witness::of(self.audit(), scope, &beyond.tool.tool.name, Some(&text), eyes);
        if let Err(reason) = beyond.tool.input.check(arguments) {
            return witness.refused(CallError::InvalidArguments { reason });
        }
        if self.audit().refuses_calls() {
            return witness.refused(CallError::Unrecorded);
        }
        if let Err(error) = self.rated(&request.context.principal) {
            return Finished::not_begun(Err(error));
        }
        let clock = self.clock();
        let (limits, began) = (Limits { deadline: LONGEST, ..Limits::default() }, clock.now());
        let CallRequest { mut context, sink, agent, client, cancel, .. } = request;
        if let Some(inside) = witness.traceparent() {
            context.traceparent = Some(inside);
        }
        let (name, questions) = (beyond.full_name(), Questions::new(limits.questions));
        let call = ReverseCall {
            lineage: Lineage::root(name.clone(), &limits),
            name,
            arguments: text,
            purpose: None,
            plugin: beyond.id.clone(),
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
            lane: Lane::default(),
            trail: witness.trail().clone(),
            span: None,
        };
        let (parent, lineage, principal) = (call.parent.clone(), call.lineage.clone(), call.context.principal.clone());
        let (answered, spent) = beyond.caller.call(call).await;
        let output_bytes = answered.bytes();
        heavy_if_large(output_bytes, || (principal, beyond.id.clone())).await;
        let result = answer(answered);
        if let Err(error) = &result {
            let tool = printable(&beyond.tool.tool.name).into_owned();
            let (code, text) = (error.code(), error.to_string());
            tracing::warn!(upstream = beyond.id.name, tool, call = parent, code, "{}", printable(&text));
        }
        let usage = Usage {
            spent,
            wall: clock.now().saturating_duration_since(began),
            output_bytes,
            calls: lineage.calls(),
            questions: questions.asked(),
            ..Usage::default()
        };
        let finished = Finished { result, usage, lacked: Abilities::default(), lacked_tools: false };
        witness.saw(finished, |answer| answer.is_error)
    }
}

fn answer(answered: Result<AgentResult, AgentError>) -> Result<Answer, CallError> {
    let structured = |text: Option<String>| {
        text.map(|text| match serde_json::from_str(&text) {
            Ok(value) => Ok(Structured { text, value }),
            Err(error) => Err(CallError::InvalidOutput { reason: error.to_string() }),
        })
        .transpose()
    };
    let failed = |reason: String| Err(CallError::Upstream { reason });
    match answered {
        Ok(AgentResult { content, structured: text, .. }) => {
            Ok(Answer { content, structured: structured(text)?, is_error: false })
        }
        Err(AgentError::ToolError(ToolResult { content, structured: text, .. })) => {
            Ok(Answer { content, structured: structured(text)?, is_error: true })
        }
        Err(AgentError::InvalidArguments(reason)) => Err(CallError::InvalidArguments { reason }),
        Err(AgentError::Timeout(limit)) => Err(CallError::DeadlineExceeded { limit: Duration::from_millis(limit) }),
        Err(AgentError::Cancelled) => Err(CallError::Cancelled),
        Err(AgentError::Exhausted(it)) => failed(format!("the limit of {} {} is reached", it.limit, it.budget.name())),
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
