//! Calls of upstream tools for a client, through the same trait as reverse calls; and what else a client asks such a server for.

use super::answer::{Answer, CallAnswer, CallUsage, FinishedCall, StructuredContent};
use super::payload_size::PayloadSize;
use super::recorder::{CallRecorder, Observers, RecordedTarget, audit_scope};
use super::request::{CallParent, CallRequest, Inherited};
use super::runner::Runner;
use crate::catalog::{ItemRequest, ServerAnswer, ServerOutcome, UpstreamServer, UpstreamTool};
use platform::telemetry::printable;
use policy::{Budget, BudgetUsage, Limits, Lineage, PluginId, TreeBudget};
use runtime::engine::{CallError, PausableDeadline, work_in_pool_if_large};
use runtime::imports::{
    AgentError, AgentResult, Arguments, BudgetKind, ClientLink, LaneCell, ReverseCall, ReverseOutcome, ToolResult,
};
use runtime::journal::CallJournal;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// The upstream server's own settings bound how long a call may take; this is the bound for a server without such settings.
const MAX_DEADLINE: Duration = Duration::from_secs(86_400);

/// What a server is asked for.
pub(super) enum Asked<'a> {
    Tool(&'a UpstreamTool, Arguments),
    Item(&'a UpstreamServer, ItemRequest),
}

/// What came of it.
struct Outcome {
    answer: Result<CallAnswer, CallError>,
    has_begun: bool,
    spent: BudgetUsage,
    output_bytes: u64,
    meta: Map<String, Value>,
}

impl Asked<'_> {
    fn id(&self) -> &PluginId {
        match self {
            Self::Tool(tool, _) => &tool.id,
            Self::Item(server, _) => &server.id,
        }
    }

    /// What its chain of calls calls it.
    fn full_name(&self) -> Arc<str> {
        match self {
            Self::Tool(tool, _) => tool.tool.full_name.clone(),
            Self::Item(server, item) => server.id.full_name(item.name()).into(),
        }
    }

    fn recorded(&self) -> RecordedTarget<'_> {
        match self {
            Self::Tool(tool, arguments) => RecordedTarget {
                method: "execute_tool",
                name: tool.tool.name.clone(),
                arguments: Some(arguments.text()),
            },
            Self::Item(_, item) => RecordedTarget { method: item.method(), name: item.name().into(), arguments: None },
        }
    }

    fn check_arguments(&self) -> Result<(), String> {
        match self {
            Self::Tool(tool, arguments) => tool.tool.check_arguments(arguments.value()),
            Self::Item(..) => Ok(()),
        }
    }

    fn argument_bytes(&self) -> u64 {
        match self {
            Self::Tool(_, arguments) => arguments.text().len() as u64,
            Self::Item(..) => 0,
        }
    }

    async fn ask(self, mut call: ReverseCall) -> Outcome {
        let owner = (call.context.principal.clone(), self.id().clone());
        match self {
            Self::Tool(tool, arguments) => {
                call.arguments = arguments;
                let ReverseOutcome { answer, spent, meta, .. } = tool.caller.call(call).await;
                let (output_bytes, has_begun) = (answer.payload_bytes(), may_have_begun(&answer));
                let answer = work_in_pool_if_large(output_bytes, || owner, move || to_answer(answer, meta)).await;
                let (answer, meta) = (answer.map(CallAnswer::Tool), Map::new());
                Outcome { answer, has_begun, spent, output_bytes, meta }
            }
            Self::Item(server, item) => {
                let ServerOutcome { answer, spent, meta } = server.requests.request(item, call).await;
                let (output_bytes, has_begun) = (answer.payload_bytes(), may_have_begun(&answer));
                let answer = answer.map(to_call_answer).map_err(to_call_error);
                Outcome { answer, has_begun, spent, output_bytes, meta }
            }
        }
    }
}

impl Runner {
    pub(super) async fn run_upstream(&self, asked: Asked<'_>, request: CallRequest) -> FinishedCall {
        let id = asked.id().clone();
        let scope = audit_scope(&request.context, &id, None);
        let traceparent = request.context.traceparent.as_deref();
        let observers = Observers {
            metrics: None,
            tracer: self.tracer(),
            traceparent,
            unrecorded: self.unrecorded(),
            journal: CallJournal::default(),
        };
        let limits = Limits { deadline: MAX_DEADLINE, ..Limits::default() };
        let full_name = asked.full_name();
        let lineage = match &request.parent {
            Some(CallParent::Host(Inherited { lineage, .. }) | CallParent::External { lineage, .. }) => lineage.clone(),
            None => Lineage::root(full_name.clone(), &limits),
        };
        let recorder = CallRecorder::new(self.audit(), scope, &lineage, asked.recorded(), observers);
        if let Err(reason) = asked.check_arguments() {
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
                let lineage = match lineage.descend(full_name.clone(), asked.argument_bytes()) {
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
            arguments: Arguments::default(),
            purpose: None,
            plugin: id.clone(),
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
        let (parent, lineage, name) = (call.parent.clone(), call.lineage.clone(), asked.recorded().name);
        let Outcome { answer, has_begun, spent, output_bytes, meta } = asked.ask(call).await;
        let wall = clock.now().saturating_duration_since(began);
        if let Some(budget_source) = budget_source {
            budget_source.settle(spent, wall);
        }
        if let Err(error) = &answer {
            let tool = printable(&name).into_owned();
            let (code, text) = (error.code(), error.to_string());
            tracing::warn!(upstream = &*id.name, tool, call = parent, code, "{}", printable(&text));
        }
        let usage = CallUsage {
            spent,
            wall,
            output_bytes,
            calls: lineage.calls(),
            questions: u32::try_from(lineage.used(TreeBudget::Questions)).unwrap_or(u32::MAX),
            ..CallUsage::default()
        };
        recorder.finish(FinishedCall { has_begun, meta, ..FinishedCall::new(answer, usage) })
    }
}

/// Whether the server may have got the call. Where it did not, nothing is in doubt, and the call can be made again.
fn may_have_begun<A>(result: &Result<A, AgentError>) -> bool {
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
    match result {
        Ok(AgentResult { content, structured: text, .. }) => {
            Ok(Answer { content, structured: structured(text)?, is_error: false, meta })
        }
        Err(AgentError::ToolError(ToolResult { content, structured: text, .. })) => {
            Ok(Answer { content, structured: structured(text)?, is_error: true, meta })
        }
        Err(error) => Err(to_call_error(error)),
    }
}

fn to_call_answer(answer: ServerAnswer) -> CallAnswer {
    match answer {
        ServerAnswer::Resource(contents) => CallAnswer::Resource(contents),
        ServerAnswer::Prompt(prompt) => CallAnswer::Prompt(prompt),
        ServerAnswer::Completion(completion) => CallAnswer::Completion(completion),
    }
}

fn to_call_error(error: AgentError) -> CallError {
    let failed = |reason: String| CallError::Upstream { reason };
    match error {
        AgentError::InvalidArguments(reason) => CallError::InvalidArguments { reason },
        AgentError::Timeout(limit) => CallError::DeadlineExceeded { limit: Duration::from_millis(limit) },
        AgentError::Cancelled => CallError::Cancelled,
        AgentError::Exhausted(exhaustion) => failed(exhaustion.to_string()),
        AgentError::UnknownTool(name) => failed(format!("there is no tool `{name}` any more")),
        AgentError::Denied(denial) => failed(format!("it needs {} {}", denial.capability, denial.target)),
        AgentError::ToolError(_) => failed("it reports an error".into()),
        AgentError::NotSupported(reason)
        | AgentError::Declined(reason)
        | AgentError::Cycle(reason)
        | AgentError::Failed(reason) => failed(reason),
    }
}
