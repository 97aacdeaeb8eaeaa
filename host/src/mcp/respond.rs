//! A request that may take several rounds: beginning, going on, parking.

use super::CORRELATION;
use super::round::{Live, Output, Round, is_stateless};
use super::seal::Binding;
use super::server::Shared;
use crate::imports::CallContext;
use crate::policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, InputResponses};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

/// The longest correlation id, in bytes; a longer one is refused, since it would be echoed everywhere.
const MAX_CORRELATION: usize = 256;

/// What a round answers its request with.
pub(super) enum Response {
    Complete(Output),
    InputRequired(InputRequiredResult),
}

/// What a guest is told about its call.
pub(super) fn about(principal: &Principal, context: &RequestContext<RoleServer>) -> Result<CallContext, ErrorData> {
    let mut about = CallContext::new(principal.as_str());
    about.traceparent = context.meta.get_traceparent().map(str::to_owned);
    about.correlation_id = match context.meta.get(CORRELATION) {
        None => None,
        Some(Value::String(id)) if id.len() <= MAX_CORRELATION => Some(id.clone()),
        Some(_) => {
            let text = format!("_meta[\"{CORRELATION}\"] must be a string of at most {MAX_CORRELATION} bytes");
            return Err(ErrorData::invalid_params(text, None));
        }
    };
    Ok(about)
}

/// The parked call behind a state, with the answers that the retry brought along.
pub(super) fn resume(
    server: &Shared,
    state: &str,
    binding: &Binding,
    given: InputResponses,
    context: &RequestContext<RoleServer>,
) -> Result<Live, ErrorData> {
    let (live, pending) = server.lot.take(state, binding).map_err(|gone| ErrorData::invalid_params(gone.0, None))?;
    Ok(live.resume(pending, context, given))
}

/// Serves one round.
pub(super) async fn serve(
    server: &Shared,
    live: Live,
    principal: &Principal,
    binding: &Binding,
    correlation: Option<&str>,
    context: &RequestContext<RoleServer>,
) -> Result<Response, ErrorData> {
    match live.serve(correlation, context).await {
        Round::Done(outcome) => outcome.map(Response::Complete),
        Round::Asks(live, pending) => {
            debug_assert!(is_stateless(context));
            let requests = pending.requests(correlation)?;
            let state = server.lot.park(*live, pending, principal, binding).map_err(|error| {
                tracing::error!(%error, "cannot park a call");
                ErrorData::internal_error("the host cannot park the call; its log has the details", None)
            })?;
            let result = InputRequiredResult::new(Some(requests), Some(state)).with_meta(server.meta(correlation));
            Ok(Response::InputRequired(result))
        }
    }
}
