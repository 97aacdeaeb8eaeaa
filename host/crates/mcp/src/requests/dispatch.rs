//! A request that calls a plugin or an upstream, which may take several rounds: it begins a call or resumes a parked
//! one, and parks a call that asks something.

use crate::calls::live::{CallSetup, ClientLinks, LiveCall, RoundEnd};
use crate::calls::output::{CallOutcome, CallOutput};
use crate::calls::seal::RequestBinding;
use crate::client::chunk_record::ChunkRecord;
use crate::client::format::NotificationFormat;
use crate::client::pending::{ResumeToken, RoundRequests};
use crate::client::session::ClientSession;
use crate::client::view::RequestInput;
use crate::client_tools::{ReverseParams, retry};
use crate::request_context::{abilities, call_context, heavy, is_stateless};
use crate::server_context::ServerContext;
use plugins::calls::{CallRequest, FinishedCall};
use plugins::catalog::{Plugin, UpstreamTool};
use policy::{Overflow, PluginId, Principal};
use protocol::questions;
use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, InputResponses};
use rmcp::service::{RequestContext, RoleServer};
use runtime::engine::CallError;
use runtime::imports::{NoClient, Provenance};
use serde_json::Value;
use services::principal_store::Run;
use std::sync::Arc;

/// The interface that a plugin reads steering messages with, without its version.
const STEERING_INTERFACE: &str = "portcullis:plugin/steering@";

/// The answer to a request.
pub(crate) enum RoundResponse {
    Complete(CallOutput),
    InputRequired(InputRequiredResult),
}

/// What runs the call.
#[derive(Clone, Copy)]
pub(crate) enum CallTarget<'a> {
    Plugin(&'a Plugin),
    Upstream(&'a UpstreamTool),
}

impl<'a> CallTarget<'a> {
    fn id(self) -> &'a PluginId {
        match self {
            CallTarget::Plugin(plugin) => plugin.id(),
            CallTarget::Upstream(upstream) => &upstream.id,
        }
    }

    fn overflow(self) -> Overflow {
        match self {
            CallTarget::Plugin(plugin) => plugin.spec.limits.overflow,
            CallTarget::Upstream(_) => Overflow::Block,
        }
    }

    /// Part of what a parked call is bound to. The version of an upstream is unknown.
    fn version(self) -> &'a str {
        match self {
            CallTarget::Plugin(plugin) => plugin.digest.as_str(),
            CallTarget::Upstream(upstream) => &upstream.id.name,
        }
    }

    fn reads_steering(self) -> bool {
        match self {
            CallTarget::Plugin(plugin) => {
                plugin.inspection.imports.iter().any(|import| import.starts_with(STEERING_INTERFACE))
            }
            CallTarget::Upstream(_) => false,
        }
    }
}

/// A request whose call may take several rounds.
pub(crate) struct PluginRequest<'a> {
    pub(crate) method: &'static str,
    /// The name or URI that is called.
    pub(crate) name: &'a str,
    pub(crate) arguments: Value,
    pub(crate) target: CallTarget<'a>,
    /// `requestState`: the parked call that the request resumes.
    pub(crate) request_state: Option<String>,
    /// `inputResponses`: answers to what the last round asked.
    pub(crate) input_responses: Option<InputResponses>,
}

/// Begins a call or resumes it, and serves one round. `make_call` creates the call, which owns everything it needs: it
/// may continue after the request is answered.
pub(crate) async fn dispatch<F, C>(
    server: &Arc<ServerContext>,
    request: PluginRequest<'_>,
    context: &RequestContext<RoleServer>,
    make_call: F,
) -> Result<RoundResponse, ErrorData>
where
    F: FnOnce(Value, CallRequest) -> C,
    C: Future<Output = CallOutcome> + Send + 'static,
{
    let PluginRequest { method, name, arguments, target, request_state, input_responses } = request;
    let (principal, stateless) = (server.principal(context), is_stateless(context));
    let session = context.extensions.get::<Arc<ClientSession>>();
    let reverse = ReverseParams::from_context(context, session.map(|session| session.declaration()), stateless)?;
    let parent = server.lanes.chains.parent(context, &principal)?;
    let call = call_context(&principal, context)?;
    let correlation = call.correlation_id.clone();
    let run = Run { source: Provenance::for_call(target.id(), &call), tool: name.to_owned() };
    let record = ChunkRecord::new(server.principal_store.clone(), principal.clone(), run);
    let make_call = |arguments, ClientLinks { sink, client, agent, cancel }| {
        let (running, steering) = server.running_calls.register(&call, name, target.reads_steering());
        // Boxed, because an async block would hold what it awaits twice for as long as the call is parked.
        let call = CallRequest { context: call, sink, agent, client, cancel, steering, parent };
        let call = Box::pin(make_call(arguments, call));
        async move {
            let _running = running;
            call.await
        }
    };
    let token = resume_token(request_state, &reverse, stateless)?;
    let abilities = abilities(context);
    if token.is_none()
        && reverse.declaration.is_none()
        && !abilities.any()
        && !NotificationFormat::from_context(context).is_read()
    {
        // The client reads nothing before the result and answers nothing: no queue, no rounds.
        let agent = server.host_tools.clone();
        let (client, cancel) = (Arc::new(NoClient), context.ct.clone());
        let links = ClientLinks { sink: Arc::new(record.clone()), client, agent, cancel };
        let output = heavy(&context.extensions).unwrap_or_default().run(Box::pin(make_call(arguments, links))).await?;
        return Ok(RoundResponse::Complete(output.with_chunk_summary(&record)));
    }
    let binding = RequestBinding::new(&principal, method, name, &arguments, target.version());
    let input = RequestInput::new(abilities, input_responses, reverse);
    let live = match token {
        Some((token, kind)) => {
            let parked = server.parked_calls.take(&token, kind, &binding);
            let (live, pending) = parked.map_err(|reason| ErrorData::invalid_params(reason, None))?;
            live.resume(pending, input)
        }
        None => {
            let setup = CallSetup { principal: principal.clone(), stateless, overflow: target.overflow(), record };
            LiveCall::begin(&server.lanes, setup, input, |links| Box::pin(make_call(arguments, links)))
        }
    };
    serve_round(server, live, &principal, &binding, correlation.as_deref(), context).await
}

/// Fails a request whose call needs a capability that the client did not declare on it.
pub(crate) fn check_capabilities<A>(stateless: bool, finished: &FinishedCall<A>) -> Result<(), ErrorData> {
    match &finished.result {
        Err(CallError::Unsupported { .. })
            if stateless && (finished.missing_abilities.any() || finished.missing_tools) =>
        {
            let required = questions::abilities_to_capabilities(finished.missing_abilities, finished.missing_tools);
            Err(ErrorData::missing_required_client_capability(required))
        }
        _ => Ok(()),
    }
}

/// A call returned the output of another method, which cannot happen: tokens are bound to their method.
pub(crate) fn unexpected_output<R>() -> Result<R, ErrorData> {
    Err(ErrorData::internal_error("the call returned the result of another method", None))
}

/// The token of the call that a request resumes. `requestState` exists only in the stateless protocol.
fn resume_token(
    request_state: Option<String>,
    reverse: &ReverseParams,
    stateless: bool,
) -> Result<Option<(String, ResumeToken)>, ErrorData> {
    match (request_state, &reverse.retry) {
        (Some(_), Some(_)) => {
            let text = "a request resumes a call with `requestState` or with a `continuation`, not with both";
            Err(ErrorData::invalid_params(text, None))
        }
        (Some(state), None) => Ok(stateless.then_some((state, ResumeToken::RequestState))),
        (None, Some(retry)) => Ok(Some((retry.continuation.clone(), ResumeToken::Continuation))),
        (None, None) => Ok(None),
    }
}

async fn serve_round(
    server: &ServerContext,
    live: LiveCall,
    principal: &Principal,
    binding: &RequestBinding,
    correlation: Option<&str>,
    context: &RequestContext<RoleServer>,
) -> Result<RoundResponse, ErrorData> {
    match live.serve(server.parked_calls.wait_permits(), principal, correlation, context).await {
        RoundEnd::Done(outcome) => outcome.map(RoundResponse::Complete),
        RoundEnd::Waiting(live, pending) => {
            debug_assert!(is_stateless(context));
            let requests = pending.to_round_requests(correlation)?;
            let meta = live.extend_meta(server.meta(correlation));
            let token = server.parked_calls.park(*live, pending, principal, binding).map_err(|error| {
                tracing::error!(%error, "cannot park a call");
                ErrorData::internal_error("the host cannot park the call; its log has the details", None)
            })?;
            Ok(RoundResponse::InputRequired(match requests {
                RoundRequests::Questions(requests) => {
                    InputRequiredResult::new(Some(requests), Some(token)).with_meta(meta)
                }
                RoundRequests::ReverseCalls(calls) => retry::input_required(calls, token, meta)?,
            }))
        }
    }
}
