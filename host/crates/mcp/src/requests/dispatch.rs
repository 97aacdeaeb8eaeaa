//! Handles a request through rmcp that calls something: reads its data from rmcp's context, and makes the result of its method
//! from the end of the round.

use super::call_result::{self, Remedies, asks_usage};
use super::keyed_call::{self, KeyedRequest};
use super::repeated;
use super::request_key;
use super::round::{self, RoundRequest};
use super::round_response::{Answering, RoundResponse};
use super::task_call::TaskFollower;
use crate::client::pending::ResumeToken;
use crate::client::served_request::ServedRequest;
use crate::client::session::ClientSession;
use crate::client::view::RequestInput;
use crate::client_tools::ReverseParams;
use crate::request_context::{Interrupted, LargeAnswer, abilities, call_context, declares, is_http};
use crate::server_context::ServerContext;
use plugins::calls::CallTarget;
use rmcp::ErrorData;
use rmcp::model::{InputResponses, TASKS_EXTENSION_ID};
use rmcp::service::{RequestContext, RoleServer};
use std::sync::Arc;

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
    let response = serve(server, request, context).await;
    if asks_usage(context) {
        return response;
    }
    match response {
        Ok(RoundResponse::Complete(result)) => Ok(RoundResponse::Complete(result.without_usage())),
        Err(error) => Err(call_result::error_without_usage(error)),
        response => response,
    }
}

async fn serve(
    server: &Arc<ServerContext>,
    request: TargetRequest<'_>,
    context: &RequestContext<RoleServer>,
) -> Result<RoundResponse, ErrorData> {
    let TargetRequest { method, name, target, request_state, input_responses } = request;
    let (principal, served) = (server.principal(context), ServedRequest::from_context(context)?);
    let stateless = served.is_stateless();
    let session = context.extensions.get::<Arc<ClientSession>>();
    let reverse = ReverseParams::from_context(context, session.map(|session| session.declaration()), stateless)?;
    let resumes = resume_token(request_state, &reverse, stateless)?;
    let parent = server.lanes.chains.parent(context, &principal)?;
    let mut call = call_context(&principal, context)?;
    let key = request_key::read(&principal, name, &target, &context.meta)?;
    call.idempotency_key = key.as_ref().map(|key| key.text.clone());
    let calls_tools = reverse.declaration.is_some();
    let input = RequestInput::new(abilities(context), input_responses, reverse);
    let remedies = Remedies::from_context(context);
    let declares_tasks = stateless && declares(context, TASKS_EXTENSION_ID);
    let follower = TaskFollower::new(declares_tasks, server.fallback_tools, remedies);
    let answering =
        Answering { is_tool: target.is_tool(), remedies, large: LargeAnswer::from_message(&context.extensions) };
    let (name, task) = (Arc::from(name), None);
    let request = RoundRequest { method, name, target, context: call, parent, resumes, input, served, follower, task };
    if let Some(key) = key {
        // Over HTTP, a client of this protocol version cancels a request by closing the connection, and a lost connection looks
        // the same.
        let outlives_request = stateless && is_http(&context.extensions);
        let keyed = KeyedRequest { key, request, answering, stateless, calls_tools, outlives_request };
        return keyed_call::serve(server, keyed).await;
    }
    // Without a key, nobody knows what the call has done, except for a parked call, which has recorded it.
    if Interrupted::is_in(&context.extensions) && answering.is_tool && request.resumes.is_none() {
        return repeated::interrupted(server);
    }
    let round = round::begin(server, request).map_err(|reason| ErrorData::invalid_params(reason, None))?;
    answering.respond(server, round.await?).await
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
