//! A request to an upstream server, and its outcome.

use crate::calls::answers::answer::{Answer, CallAnswer, StructuredContent};
use crate::calls::answers::payload_size::PayloadSize;
use crate::calls::recorder::RecordedTarget;
use crate::catalog::{ItemRequest, ServerAnswer, ServerOutcome, UpstreamServer, UpstreamTool};
use policy::{BudgetUsage, PluginId};
use runtime::engine::{CallError, work_in_pool_if_large};
use runtime::imports::{AgentError, AgentResult, Arguments, BudgetKind, ReverseCall, ReverseOutcome, ToolResult};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// What a server is asked for.
pub(super) enum UpstreamRequest<'a> {
    Tool(&'a UpstreamTool, Arguments),
    Item(&'a UpstreamServer, ItemRequest),
}

/// How the request ended, and what it used.
pub(super) struct UpstreamOutcome {
    pub(super) answer: Result<CallAnswer, CallError>,
    pub(super) has_begun: bool,
    pub(super) spent: BudgetUsage,
    pub(super) output_bytes: u64,
    pub(super) meta: Map<String, Value>,
}

impl UpstreamRequest<'_> {
    pub(super) fn id(&self) -> &PluginId {
        match self {
            Self::Tool(tool, _) => &tool.id,
            Self::Item(server, _) => &server.id,
        }
    }

    /// Its name in a chain of calls.
    pub(super) fn full_name(&self) -> Arc<str> {
        match self {
            Self::Tool(tool, _) => tool.tool.full_name.clone(),
            Self::Item(server, item) => server.id.full_name(item.name()).into(),
        }
    }

    pub(super) fn recorded(&self) -> RecordedTarget<'_> {
        match self {
            Self::Tool(tool, arguments) => RecordedTarget {
                method: "execute_tool",
                name: tool.tool.name.clone(),
                arguments: Some(arguments.text()),
            },
            Self::Item(_, item) => RecordedTarget { method: item.method(), name: item.name().into(), arguments: None },
        }
    }

    pub(super) fn accept_arguments(&mut self) -> Result<(), String> {
        match self {
            Self::Tool(tool, arguments) => arguments.change(|value| tool.tool.accept(value)),
            Self::Item(..) => Ok(()),
        }
    }

    pub(super) fn argument_bytes(&self) -> u64 {
        match self {
            Self::Tool(_, arguments) => arguments.text().len() as u64,
            Self::Item(..) => 0,
        }
    }

    pub(super) async fn ask(self, mut call: ReverseCall) -> UpstreamOutcome {
        let owner = (call.context.principal.clone(), self.id().clone());
        match self {
            Self::Tool(tool, arguments) => {
                call.arguments = arguments;
                let ReverseOutcome { answer, spent, meta, .. } = tool.caller.call(call).await;
                let (output_bytes, has_begun) = (answer.payload_bytes(), may_have_begun(&answer));
                let answer = work_in_pool_if_large(output_bytes, || owner, move || to_answer(answer, meta)).await;
                let (answer, meta) = (answer.map(CallAnswer::Tool), Map::new());
                UpstreamOutcome { answer, has_begun, spent, output_bytes, meta }
            }
            Self::Item(server, item) => {
                let ServerOutcome { answer, spent, meta } = server.requests.request(item, call).await;
                let (output_bytes, has_begun) = (answer.payload_bytes(), may_have_begun(&answer));
                let answer = answer.map(to_call_answer).map_err(to_call_error);
                UpstreamOutcome { answer, has_begun, spent, output_bytes, meta }
            }
        }
    }
}

/// Whether the server may have received the call. If it did not, nothing is in doubt, and the call can be made again.
fn may_have_begun<A>(result: &Result<A, AgentError>) -> bool {
    match result {
        // This host refused the call: it has no connection, knows no such tool, or the arguments have another shape.
        Err(AgentError::NotSupported(_) | AgentError::UnknownTool(_) | AgentError::InvalidArguments(_)) => false,
        // The call was not sent, because too many calls are open at the server.
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
