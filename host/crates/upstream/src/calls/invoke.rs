//! Starts one call of a server's tool.

use crate::api::call::{CallSource, CallerScope, UpstreamCall, UpstreamResult};
use crate::api::error::UpstreamError;
use crate::api::handler::{AgentHandler, Requester};
use crate::api::resume_point::ResumePoint;
use crate::calls::exchange::Exchange;
use crate::calls::rounds::CallRounds;
use crate::connection::shared::UpstreamShared;
use crate::listed::listed_tool::given_name;
use crate::open_call::queued_chunks::QueuedChunk;
use crate::open_call::responder::{ClientResponder, Responder};
use crate::open_call::reverse_calls::{ReverseCallScope, ReverseCalls};
use policy::{Budget, BudgetUsage, Lineage, Principal};
use runtime::engine::{HeldResources, PausableClock};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;

/// What a call inherits, and who answers the server meanwhile.
pub(crate) struct CallSide {
    pub(crate) responder: Responder,
    pub(crate) scope: ReverseCallScope,
    /// The name of the chain, if the caller is a reverse call of this same server.
    pub(crate) chain: Option<String>,
    /// The responder that passes chunks on, and the queue that they come from.
    pub(crate) forwarded: Option<(Arc<ClientResponder>, mpsc::Receiver<QueuedChunk>)>,
}

impl CallSide {
    pub(crate) fn of_caller(shared: &UpstreamShared, caller_scope: CallerScope) -> Self {
        let limits = &shared.offer.limits;
        let (client, chunks) = ClientResponder::new(&caller_scope, &shared.chunk_room);
        let CallerScope { lineage, budget, pausable_clock, held, principal, chain, .. } = caller_scope;
        // The offer is this host's own and does not depend on who calls the server.
        let agent = shared.offer.agent.clone();
        let lineage = lineage.with_limits(limits);
        let (budget, caller_ends) = (budget.nested(limits, pausable_clock.now()), Some(budget.deadline));
        Self {
            responder: Responder::Client(client.clone()),
            scope: ReverseCallScope { lineage, budget, caller_ends, pausable_clock, held, principal, agent },
            chain,
            forwarded: Some((client, chunks)),
        }
    }

    fn of_agent(shared: &UpstreamShared, handler: Arc<dyn AgentHandler>, tool: &str) -> Self {
        let limits = &shared.offer.limits;
        let lineage = Lineage::root(format!("{}.{tool}", shared.name()), limits);
        let scope = ReverseCallScope {
            lineage: lineage.clone(),
            budget: Budget::root(limits, shared.clock.now()),
            caller_ends: None,
            pausable_clock: PausableClock::new(shared.clock.clone()),
            held: HeldResources::default(),
            principal: Principal::local(),
            agent: shared.offer.agent.clone(),
        };
        Self { responder: Responder::Agent(handler, lineage), scope, chain: None, forwarded: None }
    }
}

/// Opens a call, if its principal may have one more. The call may not become a task yet.
pub(crate) fn open_exchange(
    shared: &Arc<UpstreamShared>,
    responder: Responder,
    scope: ReverseCallScope,
    task: String,
    correlation: Option<String>,
) -> Result<Exchange<'_>, UpstreamError> {
    let server = shared.name().to_owned();
    let requester = Requester { server: server.clone(), plugin: None, task };
    let reverse_calls = ReverseCalls::new(shared.offer.clone(), scope);
    let opened = shared.open_calls.open(requester, responder, reverse_calls, correlation);
    let open_call = opened.map_err(|limit| UpstreamError::Busy { server, limit })?;
    Ok(Exchange { shared, open_call, may_become_task: false.into() })
}

/// A call that is open and has not begun.
struct OpenedCall<'a> {
    rounds: CallRounds<'a>,
    arguments: Map<String, Value>,
    resumes: Option<ResumePoint>,
    /// The responder that passes its chunks on, and the queue that they come from.
    forwarded: Option<(Arc<ClientResponder>, mpsc::Receiver<QueuedChunk>)>,
}

/// Calls a tool, and also returns the cost of what the server made this host run. Dropping the future cancels the call.
pub(crate) async fn call_tool(
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
    let tool = shared.tool(&call.tool);
    let given = tool.as_ref().map_or(call.tool.as_str(), |tool| given_name(tool)).to_owned();
    let arguments = match call.resumes {
        // The server already has the arguments of a resumed call.
        Some(_) => call.arguments,
        None => {
            let tool = tool?;
            let mut arguments = Value::Object(call.arguments);
            tool.accept(&mut arguments).map_err(UpstreamError::InvalidArguments)?;
            let Value::Object(arguments) = arguments else { return Err(UpstreamError::Cancelled) };
            arguments
        }
    };
    let CallSide { responder, scope, chain, forwarded } = match source {
        CallSource::Caller(caller_scope) => CallSide::of_caller(shared, *caller_scope),
        CallSource::Agent => {
            let handler = call.handler.unwrap_or_else(|| shared.handler.clone());
            CallSide::of_agent(shared, handler, &call.tool)
        }
    };
    let exchange = open_exchange(shared, responder, scope, call.task, call.correlation)?;
    exchange.may_become_task.store(call.may_become_task, Ordering::Relaxed);
    let rounds = CallRounds {
        exchange,
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
