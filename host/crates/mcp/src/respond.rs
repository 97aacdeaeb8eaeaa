//! A request that may take several rounds: beginning, going on, parking.

use super::CORRELATION;
use super::form::Form;
use super::pending::{Return, Wanted};
use super::record::Record;
use super::reverse::{self, Brought};
use super::round::{Begin, Live, Outcome, Output, Reach, Round, is_stateless};
use super::seal::Binding;
use super::server::Shared;
use super::wire;
use plugins::registry::{Beyond, CallRequest, Finished, Plugin};
use policy::{Overflow, PluginId, Principal};
use rmcp::ErrorData;
use rmcp::model::{Extensions, InputRequiredResult, InputResponses};
use rmcp::service::{RequestContext, RoleServer};
use runtime::engine::{CallError, Heavy};
use runtime::imports::{CallContext, NoClient, Provenance};
use serde_json::Value;
use services::shelf::Run;
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
    let brought = Brought::of(context)?;
    let parent = server.hub.chains.parent(context, &principal)?;
    let about = about(&principal, context)?;
    let correlation = about.correlation_id.clone();
    let source = Provenance::of(plugin.id(), &about);
    let record = Record::logged(server.shelf.clone(), principal.clone(), Run { source, tool: target.to_owned() });
    let make = |arguments, Reach { sink, client, agent, cancel }| {
        let (running, steering) = server.running.begin(plugin, target, &about);
        // What a block awaits it would hold twice, for as long as the call is parked.
        let call =
            Box::pin(make(arguments, CallRequest { context: about, sink, agent, client, cancel, steering, parent }));
        async move {
            let _running = running;
            call.await
        }
    };
    let back = way_back(state, &brought, context)?;
    if back.is_none() && brought.declared.is_none() && !wire::abilities(context).any() && !Form::of(context).is_read() {
        // Nobody reads or answers anything before the result: no queue, no rounds.
        let agent = server.host_only.clone();
        let (client, cancel) = (Arc::new(NoClient), context.ct.clone());
        let reach = Reach { sink: Arc::new(record.clone()), client, agent, cancel };
        let output = heavy(&context.extensions).unwrap_or_default().run(Box::pin(make(arguments, reach))).await?;
        return Ok(Response::Complete(output.with(&record)));
    }
    let overflow = plugin.overflow();
    let binding = Binding::new(&principal, method, target, &arguments, plugin.version());
    let given = given.unwrap_or_default();
    let live = match back {
        Some((state, way)) => {
            let parked = server.lot.take(&state, way, &binding);
            let (live, pending) = parked.map_err(|gone| ErrorData::invalid_params(gone.0, None))?;
            live.resume(pending, context, given, brought)
        }
        None => {
            let begin = Begin { principal: &principal, overflow, record };
            Live::begin(&server.hub, context, given, brought, begin, |reach| Box::pin(make(arguments, reach)))
        }
    };
    serve(server, live, &principal, &binding, correlation.as_deref(), context).await
}

/// Refuses a request of which the call cannot go on without something that the client did not declare on it.
pub(super) fn lacking<A>(stateless: bool, finished: &Finished<A>) -> Result<(), ErrorData> {
    match &finished.result {
        Err(CallError::Unsupported { .. }) if stateless && (finished.lacked.any() || finished.lacked_tools) => {
            let required = wire::required(finished.lacked, finished.lacked_tools);
            Err(ErrorData::missing_required_client_capability(required))
        }
        _ => Ok(()),
    }
}

/// The result of another method than was asked for; a state is bound to its method, so there is none.
pub(super) fn mistaken<R>() -> Result<R, ErrorData> {
    Err(ErrorData::internal_error("the result of another method", None))
}

/// Where the transport of a request is told that its answer is heavy; none where nobody can be told.
pub(super) fn heavy(message: &Extensions) -> Option<Heavy> {
    message.get::<axum::http::request::Parts>()?.extensions.get().cloned()
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

/// The sealed name that a request brings back, and as what. Only a stateless one goes on with a call.
fn way_back(
    state: Option<String>,
    brought: &Brought,
    context: &RequestContext<RoleServer>,
) -> Result<Option<(String, Return)>, ErrorData> {
    match (state, &brought.retry) {
        (Some(_), Some(_)) => {
            let text = "a request goes on either with `requestState` or with a `continuation`, not with both";
            Err(ErrorData::invalid_params(text, None))
        }
        (Some(state), None) => Ok(is_stateless(context).then_some((state, Return::State))),
        (None, Some(retry)) => Ok(Some((retry.continuation.clone(), Return::Continuation))),
        (None, None) => Ok(None),
    }
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
            let wanted = pending.wanted(correlation)?;
            let meta = live.meta(server.meta(correlation));
            let state = server.lot.park(*live, pending, principal, binding).map_err(|error| {
                tracing::error!(%error, "cannot park a call");
                ErrorData::internal_error("the host cannot park the call; its log has the details", None)
            })?;
            Ok(Response::InputRequired(match wanted {
                Wanted::Answers(requests) => InputRequiredResult::new(Some(requests), Some(state)).with_meta(meta),
                Wanted::Outcomes(calls) => reverse::retry::result(calls, state, meta)?,
            }))
        }
    }
}
