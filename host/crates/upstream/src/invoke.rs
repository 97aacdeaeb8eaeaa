//! Starts one call of a server's tool.

use crate::call::{CallSource, CallerScope, UpstreamCall, UpstreamResult};
use crate::error::UpstreamError;
use crate::exchange::Exchange;
use crate::handler::Requester;
use crate::listed_tool::given_name;
use crate::queued_chunks::QueuedChunk;
use crate::responder::{ClientResponder, Responder};
use crate::resume_point::ResumePoint;
use crate::reverse_calls::{ReverseCallScope, ReverseCalls};
use crate::rounds::CallRounds;
use crate::shared::UpstreamShared;
use policy::{Budget, BudgetUsage, Lineage, Principal};
use runtime::engine::{HeldResources, PausableDeadline};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A call that is open and has not begun.
struct OpenedCall<'a> {
    rounds: CallRounds<'a>,
    arguments: Map<String, Value>,
    resumes: Option<ResumePoint>,
    /// Who passes on its chunks, and where they come from.
    forwarded: Option<(Arc<ClientResponder>, mpsc::Receiver<QueuedChunk>)>,
}

/// Calls a tool, and tells what it made this host run. Dropping the future cancels the call.
pub(super) async fn call_tool(
    shared: &Arc<UpstreamShared>,
    call: UpstreamCall,
    source: CallSource,
) -> (Result<UpstreamResult, UpstreamError>, BudgetUsage) {
    let OpenedCall { rounds, arguments, resumes, forwarded } = match open(shared, call, source) {
        Ok(opened) => opened,
        Err(error) => return (Err(error), BudgetUsage::default()),
    };
    let call = rounds.exchange.call().clone();
    let result = match forwarded {
        Some((client, chunks)) => client.forward_chunks(chunks, rounds.run(arguments, resumes)).await,
        None => rounds.run(arguments, resumes).await,
    };
    (result, call.reverse_calls.used())
}

fn open(shared: &Arc<UpstreamShared>, call: UpstreamCall, source: CallSource) -> Result<OpenedCall<'_>, UpstreamError> {
    let connection = shared.connection()?;
    let server = shared.name();
    let tool = shared.tool(&call.tool);
    let given = tool.as_ref().map_or(call.tool.as_str(), |tool| given_name(tool)).to_owned();
    let arguments = match call.resumes {
        // The server has them already.
        Some(_) => call.arguments,
        None => {
            let tool = tool?;
            let arguments = Value::Object(call.arguments);
            tool.check_arguments(&arguments).map_err(UpstreamError::InvalidArguments)?;
            let Value::Object(arguments) = arguments else { return Err(UpstreamError::Cancelled) };
            arguments
        }
    };
    let limits = &shared.offer.limits;
    let now = shared.clock.now();
    let mut forwarded = None;
    let (responder, scope, chain) = match source {
        CallSource::Caller(caller_scope) => {
            let (client, chunks) = ClientResponder::new(&caller_scope, &shared.chunk_room);
            let CallerScope { lineage, budget, pausable_deadline, held, principal, chain, .. } = *caller_scope;
            // The offer is this host's own, whoever calls the server.
            let agent = shared.offer.agent.clone();
            let lineage = lineage.with_limits(limits);
            let (budget, caller_ends) = (budget.nested(limits, now), Some(budget.deadline));
            forwarded = Some((client.clone(), chunks));
            (
                Responder::Client(client),
                ReverseCallScope { lineage, budget, caller_ends, pausable_deadline, held, principal, agent },
                chain,
            )
        }
        CallSource::Agent => {
            let handler = call.handler.unwrap_or_else(|| shared.handler.clone());
            let lineage = Lineage::root(format!("{server}.{}", call.tool), limits);
            let scope = ReverseCallScope {
                lineage: lineage.clone(),
                budget: Budget::root(limits, now),
                caller_ends: None,
                pausable_deadline: PausableDeadline::new(shared.clock.clone()),
                held: HeldResources::default(),
                principal: Principal::local(),
                agent: shared.offer.agent.clone(),
            };
            (Responder::Agent(handler, lineage), scope, None)
        }
    };
    let requester = Requester { server: server.to_owned(), plugin: None, task: call.task };
    let reverse_calls = ReverseCalls::new(shared.offer.clone(), scope, shared.clock.clone());
    let open_call = shared.open_calls.open(requester, responder, reverse_calls, call.correlation.clone());
    let open_call = open_call.map_err(|limit| UpstreamError::Busy { server: server.to_owned(), limit })?;
    let rounds = CallRounds {
        exchange: Exchange { shared, open_call, may_become_task: call.may_become_task.into() },
        connection,
        tool: given,
        timeout: call.timeout.unwrap_or(shared.settings.request_timeout()),
        traceparent: call.traceparent,
        chain,
        cancel: call.cancel,
        leaves_task: call.may_become_task,
    };
    Ok(OpenedCall { rounds, arguments, resumes: call.resumes, forwarded })
}
