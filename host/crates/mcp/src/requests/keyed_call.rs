//! Calls with idempotency keys: the first request of a key runs the call, and its end is stored before the response is sent.
//! Every later request gets the same response.

use super::call_result::{CallResult, Remedies, error_to_json};
use super::repeated::Repetition;
use super::round::{self, KeyedCall, RoundOutcome, RoundRequest};
use super::round_response::{Answering, RoundResponse};
use super::task_call::to_object;
use crate::idempotency::{self, CallKey, Claim, ClaimedKey, NoClaim};
use crate::server_context::ServerContext;
use crate::tasks::TaskError;
use plugins::calls::FinishedCall;
use protocol::names::{CLIENT_TOOLS, ERROR_META};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use runtime::engine::{BusyResource, CallError, work_in_pool_if_large};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

pub(super) struct KeyedRequest {
    pub(super) key: CallKey,
    pub(super) request: RoundRequest,
    pub(super) answering: Answering,
    pub(super) stateless: bool,
    /// Whether its client runs tools of its own.
    pub(super) calls_tools: bool,
    /// Whether the call goes on when the request is cancelled, which may only mean that the connection was lost.
    pub(super) outlives_request: bool,
}

/// Runs the call, or repeats the response to its first request.
pub(super) async fn serve(server: &Arc<ServerContext>, keyed: KeyedRequest) -> Result<RoundResponse, ErrorData> {
    let keys = server.keys.clone();
    // This runs in its own task, so that the end of the call is stored even if the request is dropped.
    let served = keys.spawn(run(server.clone(), keyed));
    let failed = || ErrorData::internal_error(CallError::Internal.to_string(), None);
    served.await.unwrap_or_else(|_| Err(failed()))
}

async fn run(server: Arc<ServerContext>, keyed: KeyedRequest) -> Result<RoundResponse, ErrorData> {
    let KeyedRequest { key, mut request, answering, stateless, calls_tools, outlives_request } = keyed;
    let resumes = request.resumes.as_ref().map(|(token, _)| token.as_str());
    let claimed = match claim(&server, &key, resumes, &request).await {
        Ok(Claim::Run(claimed)) => claimed,
        Ok(claim) => {
            let binding = round::binding(request.method, &request.name, &request.target, &request.context);
            let repetition = Repetition {
                server: &server,
                principal: &request.context.principal,
                correlation: request.context.correlation_id.as_deref(),
                follower: request.follower,
                remedies: answering.remedies,
                stateless,
                calls_tools,
                binding,
            };
            return repetition.answer(claim).await;
        }
        Err(error) => return refuse(&server, &request, error),
    };
    request.task = Some(KeyedCall { task: claimed.task().to_owned(), guard: claimed.effect_guard() });
    if outlives_request {
        request.served = request.served.outlived(server.keys.stop_token());
    }
    let round = match round::begin(&server, request) {
        Ok(round) => round,
        Err(reason) => {
            // A token that does not open now will not open later either.
            match claimed.is_resumed() {
                true => claimed.end(idempotency::given_up("nobody answered in time, or too many calls waited")).await,
                false => claimed.not_started().await,
            }
            return Err(ErrorData::invalid_params(reason, None));
        }
    };
    match round.await {
        Ok(outcome) => settle(&server, claimed, outcome, &answering).await,
        Err(error) => {
            claimed.fail(to_json(&error)).await;
            Err(error)
        }
    }
}

/// Claims the key. If the process of its call was killed before the call had done anything, the key is set free and claimed
/// again.
async fn claim(
    server: &ServerContext,
    key: &CallKey,
    resumes: Option<&str>,
    request: &RoundRequest,
) -> Result<Claim, NoClaim> {
    loop {
        match server.keys.claim(key, resumes, &request.served.cancel).await? {
            Claim::Lost { task, untouched: Some(untouched) }
                if matches!(server.tasks.get(&request.context.principal, &task).await, Err(TaskError::Unknown)) =>
            {
                server.keys.set_free(untouched).await?;
            }
            claim => return Ok(claim),
        }
    }
}

/// Stores how the round ended, and returns the response to its request.
async fn settle(
    server: &ServerContext,
    claimed: ClaimedKey,
    outcome: RoundOutcome,
    answering: &Answering,
) -> Result<RoundResponse, ErrorData> {
    let (mut begun, mut cancelled, mut bytes, mut owner) = (true, false, 0, None);
    match &outcome {
        RoundOutcome::NotBegun(_) => begun = false,
        RoundOutcome::Finished(FinishedCall { result, usage, has_begun, .. }, record) => {
            begun = *has_begun;
            cancelled = matches!(result, Err(CallError::Cancelled));
            (bytes, owner) = (usage.output_bytes, Some(record.owner()));
        }
        RoundOutcome::Task(_) => {
            claimed.became_task(server.tasks.limits().run).await;
            return answering.respond(server, outcome).await;
        }
        RoundOutcome::GivenUp(..) | RoundOutcome::InputRequired(_) => {}
    }
    let response = answering.respond(server, outcome).await;
    match &response {
        _ if !begun => claimed.not_started().await,
        _ if cancelled => claimed.end(idempotency::cancelled()).await,
        Ok(RoundResponse::Complete(CallResult::Tool(result))) => {
            let kept = match owner {
                Some(owner) => {
                    let (result, most) = (result.clone(), server.keys.limits().result.as_u64());
                    work_in_pool_if_large(bytes, || owner, move || to_kept(&result, most)).await
                }
                None => to_kept(result, server.keys.limits().result.as_u64()),
            };
            claimed.end(kept).await;
        }
        Ok(RoundResponse::InputRequired(result)) => {
            let result = to_json(result);
            claimed.park(token_of(&result), result).await;
        }
        // Tools have no other results.
        Ok(RoundResponse::Complete(_) | RoundResponse::Task(_)) => {}
        Err(error) => claimed.fail(to_json(error)).await,
    }
    response
}

/// The part of a result that is stored.
fn to_kept(result: &CallToolResult, most: u64) -> JsonObject {
    let Ok(object) = to_object(result) else { return idempotency::not_kept(0, None) };
    let bytes = Value::Object(object.clone()).to_string().len() as u64;
    if bytes <= most { object } else { idempotency::not_kept(bytes, object.get("_meta")) }
}

/// The token that resumes a call which asks something.
fn token_of(asked: &JsonObject) -> String {
    let state = asked.get("requestState");
    let continuation = || asked.get("_meta")?.get(CLIENT_TOOLS)?.get("continuation");
    state.or_else(continuation).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn to_json(value: &impl Serialize) -> JsonObject {
    // The protocol's types can always be written.
    serde_json::to_value(value).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

/// The error for a request that neither runs its call nor repeats a response.
fn refuse(server: &ServerContext, request: &RoundRequest, error: NoClaim) -> Result<RoundResponse, ErrorData> {
    let limits = server.keys.limits();
    let busy = match error {
        NoClaim::Other => return Err(ErrorData::invalid_params(error.to_string(), None)),
        NoClaim::Full => CallError::Busy { resource: BusyResource::Keys, limit: limits.per_principal },
        NoClaim::TooManyWait => {
            CallError::Busy { resource: BusyResource::Repetitions, limit: idempotency::MOST_WAITING }
        }
        NoClaim::Gone => CallError::Cancelled,
        NoClaim::Store(_) | NoClaim::Random(_) => {
            tracing::error!(%error, "a call with an idempotency key cannot be served");
            let text = "the host cannot store the idempotency key; nothing was run, and its log has the details";
            return Err(ErrorData::internal_error(text, None));
        }
    };
    let mut result = CallToolResult::error(vec![ContentBlock::text(busy.to_string())]);
    let mut meta = server.meta(request.context.correlation_id.as_deref());
    meta.insert(ERROR_META.to_owned(), error_to_json(&busy, Remedies::Withheld));
    result.meta = Some(meta);
    Ok(RoundResponse::Complete(CallResult::Tool(result)))
}
