//! A request that calls something, which may take several rounds: it begins a call or resumes a parked one, and parks a
//! call that asks something.

use super::call_result::{self, check_capabilities};
use super::plain_call::PlainCall;
use crate::calls::live::{ClientEnd, LiveCall, RoundEnd};
use crate::calls::output::{CallOutcome, CallOutput, CallResult};
use crate::calls::seal::RequestBinding;
use crate::calls::steering::RunningCallGuard;
use crate::client::chunk_record::ChunkRecord;
use crate::client::format::NotificationFormat;
use crate::client::pending::{ResumeToken, RoundRequests};
use crate::client::session::ClientSession;
use crate::client::view::RequestInput;
use crate::client_tools::{ReverseParams, retry};
use crate::request_context::{LargeAnswer, abilities, call_context, is_stateless};
use crate::server_context::ServerContext;
use plugins::calls::{CallRequest, CallTarget};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, InputResponses};
use rmcp::service::{RequestContext, RoleServer};
use runtime::engine::{is_large, work_in_pool_if_large};
use std::sync::Arc;

/// The answer to a request.
pub(crate) enum RoundResponse {
    Complete(CallResult),
    InputRequired(InputRequiredResult),
}

/// A request whose call may take several rounds.
pub(crate) struct TargetRequest<'a> {
    pub(crate) method: &'static str,
    /// The name or URI that is called.
    pub(crate) name: &'a str,
    pub(crate) target: CallTarget,
    /// `requestState`: the parked call that the request resumes.
    pub(crate) request_state: Option<String>,
    /// `inputResponses`: answers to what the last round asked.
    pub(crate) input_responses: Option<InputResponses>,
}

/// Begins a call or resumes it, and serves one round.
pub(crate) async fn dispatch(
    server: &Arc<ServerContext>,
    request: TargetRequest<'_>,
    context: &RequestContext<RoleServer>,
) -> Result<RoundResponse, ErrorData> {
    let TargetRequest { method, name, target, request_state, input_responses } = request;
    let (principal, stateless) = (server.principal(context), is_stateless(context));
    let (owner, called) = ((principal.clone(), target.id().clone()), Arc::<str>::from(name));
    let session = context.extensions.get::<Arc<ClientSession>>();
    let reverse = ReverseParams::from_context(context, session.map(|session| session.declaration()), stateless)?;
    let token = resume_token(request_state, &reverse, stateless)?;
    let parent = server.lanes.chains.parent(context, &principal)?;
    let call = call_context(&principal, context)?;
    let correlation = call.correlation_id.clone();
    let abilities = abilities(context);
    let binding =
        |target: &CallTarget| RequestBinding::new(&principal, method, name, &target.arguments(), target.version());
    let (response, bytes) = match token {
        Some((token, kind)) => {
            let binding = binding(&target);
            let parked = server.parked_calls.take(&token, kind, &binding);
            let (live, pending) = parked.map_err(|reason| ErrorData::invalid_params(reason, None))?;
            let live = live.resume(pending, RequestInput::new(abilities, input_responses, reverse));
            serve_round(server, live, &principal, &binding, correlation.as_deref(), context).await?
        }
        // The client reads nothing before the result and answers nothing: no queue, no rounds.
        None if reverse.declaration.is_none()
            && !abilities.any()
            && !NotificationFormat::from_context(context).is_read() =>
        {
            let plain = PlainCall { context: call, called, parent, cancel: context.ct.clone() };
            let (running, request, record) = plain.begin(server, &target);
            let output = Box::pin(run(server.clone(), running, target, request, stateless)).await?;
            let output = output.with_chunk_summary(&record);
            (RoundResponse::Complete(output.result), output.bytes)
        }
        None => {
            let (binding, input) = (binding(&target), RequestInput::new(abilities, input_responses, reverse));
            let record = ChunkRecord::new(server.principal_store.clone(), &call, target.id().clone(), called.clone());
            let overflow = target.overflow();
            let (mut link, end) = ClientEnd::link(&server.lanes, &principal, stateless, overflow, record, input);
            let (running, steering) = server.running_calls.register(&call, &called, target.reads_steering());
            link.steering = steering;
            let request = CallRequest { context: call, link, parent };
            // Boxed, because an async block would hold what it awaits twice for as long as the call is parked.
            let live = LiveCall::new(Box::pin(run(server.clone(), running, target, request, stateless)), end);
            serve_round(server, live, &principal, &binding, correlation.as_deref(), context).await?
        }
    };
    if is_large(bytes)
        && let Some(answer) = LargeAnswer::from_message(&context.extensions)
    {
        answer.set(owner);
    }
    Ok(response)
}

/// The call itself, which may span several requests. It owns everything it needs.
async fn run(
    server: Arc<ServerContext>,
    _running: RunningCallGuard,
    target: CallTarget,
    request: CallRequest,
    stateless: bool,
) -> CallOutcome {
    let (meta, is_tool) = (server.call_meta(&request.context), target.is_tool());
    let owner = (request.context.principal.clone(), target.id().clone());
    let finished = server.runner.run(target, request).await;
    check_capabilities(stateless, &finished)?;
    let bytes = finished.usage.output_bytes;
    let result =
        work_in_pool_if_large(bytes, || owner, move || call_result::to_result(finished, is_tool, meta)).await?;
    Ok(CallOutput { result, bytes })
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
) -> Result<(RoundResponse, u64), ErrorData> {
    match live.serve(server.parked_calls.wait_permits(), principal, correlation, context).await {
        RoundEnd::Done(outcome) => outcome.map(|output| (RoundResponse::Complete(output.result), output.bytes)),
        RoundEnd::Waiting(live, pending) => {
            debug_assert!(is_stateless(context));
            let requests = pending.to_round_requests(correlation)?;
            let meta = live.extend_meta(server.meta(correlation));
            let token = server.parked_calls.park(*live, pending, principal, binding).map_err(|error| {
                tracing::error!(%error, "cannot park a call");
                ErrorData::internal_error("the host cannot park the call; its log has the details", None)
            })?;
            let result = match requests {
                RoundRequests::Questions(requests) => {
                    InputRequiredResult::new(Some(requests), Some(token)).with_meta(meta)
                }
                RoundRequests::ReverseCalls(calls) => retry::input_required(calls, token, meta)?,
            };
            Ok((RoundResponse::InputRequired(result), 0))
        }
    }
}
