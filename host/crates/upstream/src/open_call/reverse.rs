//! Serves one reverse call: a server calls one of the agent's tools.

use crate::api::handler::{Requester, ReverseCallDecision, ReverseCallRequest};
use crate::api::offer::MAX_ARGUMENTS;
use crate::open_call::chain::ChainedTools;
use crate::open_call::open_calls::OpenCall;
use crate::open_call::reverse_calls::{ReverseCallOutcome, ReverseCallParams, ReverseCalls, ServedIn};
use platform::audit::CallAudit;
use platform::telemetry::printable;
use platform::text::truncate;
use policy::{Lineage, Origin, PluginId, Recipient, Side, TreeBudget, first_blocked};
use rmcp::model::ContentBlock;
use runtime::imports::{
    AgentError, AgentResult, Arguments, CallContext, LaneCell, NoSink, ReverseCall, ReverseOutcome, Schema, ToolCaller,
    ToolResult,
};
use runtime::journal::CallJournal;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Length of the server's stated purpose of a call, in bytes.
const MAX_PURPOSE: usize = 1 << 10;

/// Makes one reverse call for an open call.
pub(crate) async fn serve_reverse_call(
    open: &Arc<OpenCall>,
    params: ReverseCallParams,
    served_in: ServedIn,
) -> ReverseCallOutcome {
    let reverse_calls = &open.reverse_calls;
    // The server may shorten the time limit.
    let limit = reverse_calls.offer.limits.answer_timeout;
    let timeout = params.timeout_ms.map_or(limit, |timeout| limit.min(Duration::from_millis(timeout)));
    let name = params.name.clone();
    let serving = async {
        let _answering = open.answering();
        let Ok(_permit) = reverse_calls.parallel.acquire().await else { return Err(AgentError::Cancelled) };
        run(open, params, served_in).await
    };
    let served = tokio::select! {
        biased;
        () = reverse_calls.ended.cancelled() => Err(AgentError::Cancelled),
        served = tokio::time::timeout(timeout, serving) => match served {
            Ok(served) => served,
            Err(_) => Err(AgentError::Timeout(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))),
        },
    };
    let (server, task) = (&open.requester.server, &open.requester.task);
    match served {
        Ok(value) => ReverseCallOutcome::Result(value),
        Err(error) => {
            let (code, message) = error_code(error);
            if reverse_calls.scope.lineage.take(TreeBudget::Refusals, 1).is_ok() {
                tracing::info!(server, task, tool = %printable(&name), code, "reverse call: {}", printable(&message));
            }
            ReverseCallOutcome::Error(code, message)
        }
    }
}

async fn run(open: &Arc<OpenCall>, params: ReverseCallParams, served_in: ServedIn) -> Result<Value, AgentError> {
    let ReverseCalls { offer, scope, serving, ended, .. } = &open.reverse_calls;
    let requester = &open.requester;
    let tools = offer.tools(&*scope.agent, &requester.server);
    let Some(found) = tools.into_iter().find(|found| found.tool.name == params.name) else {
        return Err(AgentError::UnknownTool(params.name));
    };
    let schema = match Schema::compile(&found.tool.input_schema) {
        Ok(schema) => Some(schema),
        // The tool's own server checks the arguments.
        Err(_) if matches!(found.origin, Origin::Upstream(_)) => None,
        Err(error) => return Err(AgentError::Failed(error.to_string())),
    };
    let checked = |arguments: &Map<String, Value>| {
        let arguments = Arguments::from(arguments.clone());
        let size = arguments.text().len();
        if size > MAX_ARGUMENTS {
            let reason = format!("they are {size} bytes, more than {MAX_ARGUMENTS}");
            return Err(AgentError::InvalidArguments(reason));
        }
        let check = schema.as_ref().map_or(Ok(()), |schema| schema.check(arguments.value()));
        check.map_err(AgentError::InvalidArguments).map(|()| arguments)
    };
    let mut arguments = checked(&params.arguments)?;
    let lineage = scope.lineage.descend(params.name.as_str(), arguments.text().len() as u64)?;
    // The number of calls at once is split, because each reverse call may run beside all the others.
    let lineage = lineage.split(scope.lineage.parallel() as usize);
    let short = |text: String| printable(truncate(&text, MAX_PURPOSE)).into_owned();
    let plugin = params.plugin.map(short);
    let origin = scope.agent.find(&params.name)?;
    check_flow(&scope.lineage, &requester.server, &origin)?;
    let request = ReverseCallRequest {
        requester: Requester { plugin: plugin.clone(), ..requester.clone() },
        name: params.name,
        arguments: params.arguments,
        purpose: params.purpose.map(short),
        read_only: found.tool.annotations.read_only == Some(true),
        origin,
    };
    let mut edited = None;
    match open.responder.approve(&request).await {
        ReverseCallDecision::Allow => {}
        ReverseCallDecision::Edit(changed) => {
            arguments = checked(&changed)?;
            edited = Some(Value::Object(changed));
        }
        ReverseCallDecision::Deny(reason) => return Err(AgentError::Declined(reason)),
    }
    let mut context = CallContext::new(scope.principal.clone());
    context.correlation_id = open.correlation.clone();
    let (budget, share) = open.reverse_calls.reserve().map_err(AgentError::Exhausted)?;
    let agent: Arc<dyn ToolCaller> = match params.chain.filter(|chain| chain.len() <= 4_096) {
        Some(chain) => Arc::new(ChainedTools { inner: scope.agent.clone(), server: requester.server.clone(), chain }),
        None => scope.agent.clone(),
    };
    let call = ReverseCall {
        name: request.name,
        arguments,
        purpose: request.purpose,
        plugin: PluginId { side: Side::Server, name: requester.server.as_str().into() },
        parent: requester.task.clone(),
        context,
        sink: Arc::new(NoSink),
        agent,
        lineage,
        budget,
        cancel: ended.child_token(),
        client: open.responder.as_client(requester, scope.pausable_clock.clone()),
        pausable_clock: scope.pausable_clock.clone(),
        // The upstream server's own budget pays.
        tree_fuel: None,
        held: scope.held.clone(),
        timeout: None,
        answer_timeout: offer.limits.answer_timeout,
        lane: LaneCell::default(),
        reconciler: None,
        audit: CallAudit::default(),
        span: None,
        journal: CallJournal::default(),
        step: None,
        again: None,
    };
    open.begin_effect(params.key);
    let ReverseOutcome { answer, private, spent, .. } = {
        let _serving = serving.start();
        call.make().await
    };
    open.reverse_calls.settle(share, spent, served_in);
    to_tool_result(answer, private.is_some(), edited)
}

/// Refuses a call that would show a third party private results that the tree of calls has seen.
fn check_flow(lineage: &Lineage, server: &str, to: &Origin) -> Result<(), AgentError> {
    let secrets = lineage.private_origins();
    let is_itself = matches!(to, Origin::Upstream(name) if name == server);
    match first_blocked(&secrets, &Recipient::Origin(to.clone()), &[]) {
        Some(from) if !is_itself => Err(AgentError::Declined(format!(
            "the call has seen private results of {from}, which {to} must not learn; call {to} first, or in another call"
        ))),
        _ => Ok(()),
    }
}

/// The answer as a `CallToolResult`. A failure that the tool reports is a result too.
fn to_tool_result(
    answer: Result<AgentResult, AgentError>,
    private: bool,
    edited: Option<Value>,
) -> Result<Value, AgentError> {
    let (content, structured, is_error) = match answer {
        Ok(AgentResult { content, structured, .. }) => (content, structured, false),
        Err(AgentError::ToolError(ToolResult { content, structured, .. })) => (content, structured, true),
        Err(error) => return Err(error),
    };
    let blocks: Vec<ContentBlock> = protocol::content::to_blocks(content);
    let mut result = json!({ "content": blocks, "isError": is_error });
    if let Some(structured) = structured.and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
        result["structuredContent"] = structured;
    }
    let mut meta = Map::new();
    if private {
        meta.insert(protocol::names::PRIVATE_META.into(), true.into());
    }
    if let Some(edited) = edited {
        meta.insert(protocol::names::EDITED_META.into(), edited);
    }
    if !meta.is_empty() {
        result["_meta"] = meta.into();
    }
    Ok(result)
}

/// An error as a code of the extension and a message.
fn error_code(error: AgentError) -> (&'static str, String) {
    match error {
        AgentError::UnknownTool(name) => ("unknown-tool", format!("there is no tool `{name}` for this server")),
        AgentError::InvalidArguments(reason) => ("invalid-arguments", reason),
        AgentError::Declined(reason) => ("declined", reason),
        AgentError::Timeout(limit) => ("timeout", format!("it took longer than {limit} ms")),
        AgentError::Cancelled => ("cancelled", "the call that it belonged to is over".into()),
        AgentError::Exhausted(exhaustion) => ("exhausted", exhaustion.to_string()),
        AgentError::NotSupported(reason) | AgentError::Cycle(reason) | AgentError::Failed(reason) => ("failed", reason),
        AgentError::Denied(denial) => {
            ("failed", format!("it needs {} {}, which it was not granted", denial.capability, denial.target))
        }
        AgentError::ToolError(_) => ("failed", "the tool reported a failure".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::Limits;

    #[test]
    fn private_results_reach_no_third_party_through_a_server() {
        let lineage = Lineage::root("far.run", &Limits::default());
        let upstream = |name: &str| Origin::Upstream(name.into());
        assert!(check_flow(&lineage, "far", &upstream("third")).is_ok());
        lineage.mark_private(Origin::Client);
        for allowed in [Origin::Client, Origin::User, upstream("far")] {
            assert!(check_flow(&lineage, "far", &allowed).is_ok(), "{allowed}");
        }
        for refused in [upstream("third"), Origin::Component("far".into())] {
            let why = check_flow(&lineage, "far", &refused).unwrap_err();
            assert!(matches!(&why, AgentError::Declined(text) if text.contains("results of client")), "{why:?}");
        }
    }
}
