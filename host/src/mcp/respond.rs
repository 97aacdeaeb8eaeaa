//! A request that may take several rounds: beginning, going on, parking.

use super::CORRELATION;
use super::form::Form;
use super::record::Record;
use super::round::{Live, Outcome, Output, Reach, Round, is_stateless};
use super::seal::Binding;
use super::server::Shared;
use super::wire;
use crate::engine::CallError;
use crate::imports::{CallContext, NoClient, Provenance};
use crate::policy::{Overflow, PluginId, Principal};
use crate::registry::{Beyond, CallRequest, Finished, Plugin};
use crate::shelf::Run;
use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, InputResponses};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::sync::Arc;

/// The longest correlation id, in bytes; a longer one is refused, since it would be echoed everywhere.
const MAX_CORRELATION: usize = 256;

/// What a round answers its request with.
pub(super) enum Response {
    Complete(Output),
    InputRequired(InputRequiredResult),
}

/// Who answers a request.
#[derive(Clone, Copy)]
pub(super) enum By<'a> {
    Plugin(&'a Plugin),
    /// A server behind this host.
    Beyond(&'a Beyond),
}

impl<'a> By<'a> {
    fn id(self) -> &'a PluginId {
        match self {
            By::Plugin(plugin) => plugin.id(),
            By::Beyond(beyond) => &beyond.id,
        }
    }

    fn overflow(self) -> Overflow {
        match self {
            By::Plugin(plugin) => plugin.spec.limits.overflow,
            By::Beyond(_) => Overflow::Block,
        }
    }

    /// What a parked call is bound to. A server behind this host has no version that we could know.
    fn version(self) -> &'a str {
        match self {
            By::Plugin(plugin) => plugin.digest.as_str(),
            By::Beyond(beyond) => &beyond.id.name,
        }
    }
}

/// A request whose call may take several rounds.
pub(super) struct Request<'a> {
    pub(super) method: &'static str,
    /// What is called.
    pub(super) target: &'a str,
    pub(super) arguments: Value,
    /// Who answers.
    pub(super) plugin: By<'a>,
    /// The parked call that it goes on with.
    pub(super) state: Option<String>,
    /// Answers that it brought along.
    pub(super) given: Option<InputResponses>,
}

/// Begins the call that a request asks for, or goes on with it, and serves one round. `make` makes the call; it borrows
/// nothing, because it may go on after the request is answered.
pub(super) async fn call<F, C>(
    server: &Arc<Shared>,
    request: Request<'_>,
    context: &RequestContext<RoleServer>,
    make: F,
) -> Result<Response, ErrorData>
where
    F: FnOnce(Value, CallRequest) -> C,
    C: Future<Output = Outcome> + Send + 'static,
{
    let Request { method, target, arguments, plugin, state, given } = request;
    let principal = server.principal(context);
    let about = about(&principal, context)?;
    let correlation = about.correlation_id.clone();
    let source = Provenance::of(plugin.id(), &about);
    let record = Record::logged(server.shelf.clone(), principal.clone(), Run { source, tool: target.to_owned() });
    let agent = server.agent.clone();
    let make = |arguments, Reach { sink, client, cancel }| {
        let (running, steering) = server.running.begin(plugin, target, &about);
        let call = make(arguments, CallRequest { context: about, sink, agent, client, cancel, steering, parent: None });
        async move {
            let _running = running;
            call.await
        }
    };
    if state.is_none() && !wire::abilities(context).any() && !Form::of(context).is_read() {
        // Nobody reads or answers anything before the result: no queue, no rounds.
        let reach = Reach { sink: Arc::new(record.clone()), client: Arc::new(NoClient), cancel: context.ct.clone() };
        let output = make(arguments, reach).await?;
        return Ok(Response::Complete(output.with(&record)));
    }
    let overflow = plugin.overflow();
    let binding = Binding::new(&principal, method, target, &arguments, plugin.version());
    let given = given.unwrap_or_default();
    let live = match state.filter(|_| is_stateless(context)) {
        Some(state) => resume(server, &state, &binding, given, context)?,
        None => Live::begin(context, given, overflow, record, |reach| Box::pin(make(arguments, reach))),
    };
    serve(server, live, &principal, &binding, correlation.as_deref(), context).await
}

/// Refuses a request of which the call cannot go on without something that the client did not declare on it.
pub(super) fn lacking<A>(stateless: bool, finished: &Finished<A>) -> Result<(), ErrorData> {
    match &finished.result {
        Err(CallError::Unsupported { .. }) if stateless && finished.lacked.any() => {
            Err(ErrorData::missing_required_client_capability(wire::required(finished.lacked)))
        }
        _ => Ok(()),
    }
}

/// The result of another method than was asked for; a state is bound to its method, so there is none.
pub(super) fn mistaken<R>() -> Result<R, ErrorData> {
    Err(ErrorData::internal_error("the result of another method", None))
}

/// What a guest is told about its call.
pub(super) fn about(principal: &Principal, context: &RequestContext<RoleServer>) -> Result<CallContext, ErrorData> {
    let mut about = CallContext::new(principal.clone());
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
fn resume(
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
async fn serve(
    server: &Shared,
    live: Live,
    principal: &Principal,
    binding: &Binding,
    correlation: Option<&str>,
    context: &RequestContext<RoleServer>,
) -> Result<Response, ErrorData> {
    match live.serve(&server.lot, principal, correlation, context).await {
        Round::Done(outcome) => outcome.map(Response::Complete),
        Round::Asks(live, pending) => {
            debug_assert!(is_stateless(context));
            let requests = pending.requests(correlation)?;
            let meta = live.meta(server.meta(correlation));
            let state = server.lot.park(*live, pending, principal, binding).map_err(|error| {
                tracing::error!(%error, "cannot park a call");
                ErrorData::internal_error("the host cannot park the call; its log has the details", None)
            })?;
            let result = InputRequiredResult::new(Some(requests), Some(state)).with_meta(meta);
            Ok(Response::InputRequired(result))
        }
    }
}
