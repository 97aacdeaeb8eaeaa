//! A request through rmcp that calls something: what it says is read from rmcp's context, and the end of its round becomes
//! the result of its method.

use super::call_result::{self, CallResult, Remedies};
use super::round::{self, RoundOutcome, RoundRequest};
use super::task_call::{TaskAnswer, TaskFollower};
use crate::client::pending::ResumeToken;
use crate::client::served_request::ServedRequest;
use crate::client::session::ClientSession;
use crate::client::view::RequestInput;
use crate::client_tools::ReverseParams;
use crate::request_context::{LargeAnswer, abilities, call_context, declares};
use crate::server_context::ServerContext;
use plugins::calls::CallTarget;
use rmcp::ErrorData;
use rmcp::model::{CreateTaskResult, InputRequiredResult, InputResponses, TASKS_EXTENSION_ID};
use rmcp::service::{RequestContext, RoleServer};
use runtime::engine::{is_large, work_in_pool_if_large};
use std::sync::Arc;

/// The answer to a request.
pub(crate) enum RoundResponse {
    Complete(CallResult),
    InputRequired(InputRequiredResult),
    /// Only `tools/call` has it.
    Task(CreateTaskResult),
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
    let (principal, served) = (server.principal(context), ServedRequest::from_context(context));
    let (stateless, is_tool) = (served.is_stateless(), target.is_tool());
    let session = context.extensions.get::<Arc<ClientSession>>();
    let reverse = ReverseParams::from_context(context, session.map(|session| session.declaration()), stateless)?;
    let resumes = resume_token(request_state, &reverse, stateless)?;
    let parent = server.lanes.chains.parent(context, &principal)?;
    let call = call_context(&principal, context)?;
    let input = RequestInput::new(abilities(context), input_responses, reverse);
    let remedies = Remedies::from_context(context);
    let declares_tasks = stateless && declares(context, TASKS_EXTENSION_ID);
    let follower = TaskFollower::new(declares_tasks, server.fallback_tools, remedies);
    let request = RoundRequest { method, name, target, context: call, parent, resumes, input, served, follower };
    let round = round::begin(server, request).map_err(|reason| ErrorData::invalid_params(reason, None))?;
    let (finished, record) = match round.await? {
        RoundOutcome::InputRequired(result) => return Ok(RoundResponse::InputRequired(result)),
        RoundOutcome::Task(TaskAnswer::Created(task)) => return Ok(RoundResponse::Task(task)),
        RoundOutcome::Task(TaskAnswer::Link(result)) => return Ok(RoundResponse::Complete(CallResult::Tool(result))),
        RoundOutcome::Finished(finished, record) => (finished, record),
    };
    let (bytes, owner) = (finished.usage.output_bytes, record.owner());
    let meta = server.call_meta(record.call_id(), record.correlation());
    let convert = move || call_result::to_result(finished, is_tool, meta, &record, remedies);
    let result = work_in_pool_if_large(bytes, || owner.clone(), convert).await?;
    if is_large(bytes)
        && let Some(answer) = LargeAnswer::from_message(&context.extensions)
    {
        answer.set(owner);
    }
    Ok(RoundResponse::Complete(result))
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
