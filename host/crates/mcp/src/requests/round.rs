//! One round of a call: a request begins the call or resumes a parked one, and serves it until it is done or asks something.
//! How the request arrived is unknown here.

use super::call_result::check_capabilities;
use crate::calls::live::{ClientEnd, LiveCall, RoundEnd};
use crate::calls::parked_calls::{NotParked, Parked};
use crate::calls::parked_records::ParkedRecord;
use crate::calls::seal::RequestBinding;
use crate::calls::steering::RunningCallGuard;
use crate::client::chunk_record::ChunkRecord;
use crate::client::pending::{ResumeToken, RoundRequests};
use crate::client::served_request::ServedRequest;
use crate::client::view::RequestInput;
use crate::client_tools::retry;
use crate::server_context::ServerContext;
use futures::future::BoxFuture;
use plugins::calls::{CallParent, CallRequest, CallTarget, FinishedCall, Runner};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::InputRequiredResult;
use runtime::engine::{BusyResource, CallError, HeldResources};
use runtime::imports::{CallContext, ClientLink, NoClient, Steering};
use runtime::journal::CallJournal;
use std::sync::Arc;
use std::time::Duration;

/// What a request says of a call.
pub(crate) struct RoundRequest<'a> {
    pub(crate) method: &'static str,
    /// The name or URI that is called.
    pub(crate) name: &'a str,
    pub(crate) target: CallTarget,
    pub(crate) context: CallContext,
    pub(crate) parent: Option<CallParent>,
    /// The parked call that it resumes.
    pub(crate) resumes: Option<(String, ResumeToken)>,
    pub(crate) input: RequestInput,
    pub(crate) served: ServedRequest,
}

/// How a round ended.
#[allow(clippy::large_enum_variant, reason = "most rounds end a call, which a box would cost an allocation")]
pub(crate) enum RoundOutcome {
    Finished(FinishedCall, ChunkRecord),
    /// The call is parked.
    InputRequired(InputRequiredResult),
}

/// A round that has begun.
pub(crate) type RunningRound = BoxFuture<'static, Result<RoundOutcome, ErrorData>>;

/// Takes the parked call, or begins one. The error is a sentence for the client; nothing has changed then.
pub(crate) fn begin(server: &Arc<ServerContext>, request: RoundRequest<'_>) -> Result<RunningRound, &'static str> {
    let RoundRequest { method, name, target, context, parent, resumes, input, served } = request;
    let binding = || RequestBinding::new(&context.principal, method, name, &target.arguments(), target.version());
    if let Some((token, kind)) = resumes {
        let binding = binding();
        let parked = server.parked_calls.find(&token, kind, &binding)?;
        let (server, principal) = (server.clone(), context.principal.clone());
        let round = LiveRound { principal, correlation_id: context.correlation_id.clone(), binding, served };
        let invalid = |reason| ErrorData::invalid_params(reason, None);
        return match parked {
            Parked::Here(mut live, pending) => Ok(Box::pin(async move {
                server.parked_calls.claim(&mut live, kind).await.map_err(invalid)?;
                round.serve(server, live.resume(pending, input)).await
            })),
            Parked::Stored(id) => {
                let name = Arc::<str>::from(name);
                Ok(Box::pin(async move {
                    let stored = server.parked_calls.load(id, kind).await.map_err(invalid)?;
                    let live = take_up(&server, stored, &name, target, context, input).map_err(invalid)?;
                    round.serve(server, live).await
                }))
            }
        };
    }
    let called = Arc::<str>::from(name);
    let (running, steering) = server.running_calls.register(&context, &called, target.reads_steering());
    let record = |called| ChunkRecord::new(server.principal_store.clone(), &context, target.id().clone(), called);
    if input.can_answer_nothing() && served.notifications.is_none() {
        let (record, stateless) = (record(called), served.is_stateless());
        let link = ClientLink {
            sink: record.sink(),
            client: NoClient::shared(),
            agent: server.host_tools.clone(),
            steering,
            cancel: served.cancel,
            held: HeldResources::default(),
        };
        let call = run(
            server.runner.clone(),
            running,
            target,
            CallRequest { context, link, parent, journal: CallJournal::default() },
        );
        return Ok(Box::pin(async move { finished(call.await, record, stateless) }));
    }
    let (binding, record) = (binding(), record(called));
    let round = LiveRound {
        principal: context.principal.clone(),
        correlation_id: context.correlation_id.clone(),
        binding,
        served,
    };
    let stateless = round.served.is_stateless();
    // A call within another one cannot be taken up without that one.
    let journal = match stateless && parent.is_none() && server.parked_calls.are_stored() {
        true => CallJournal::in_memory(server.lanes.clock.clone()),
        false => CallJournal::default(),
    };
    let started = StartedCall { running, steering, record, stateless, journal };
    let live = started.live(server, target, context, parent, input);
    Ok(Box::pin(round.serve(server.clone(), live)))
}

/// Takes up a call that was parked elsewhere: it runs again, and comes to where it was by its journal.
fn take_up(
    server: &Arc<ServerContext>,
    stored: ParkedRecord,
    name: &Arc<str>,
    target: CallTarget,
    context: CallContext,
    input: RequestInput,
) -> Result<LiveCall, &'static str> {
    let worked = Duration::from_millis(stored.worked);
    let journal = CallJournal::resumed(server.lanes.clock.clone(), stored.steps, worked).map_err(|error| {
        tracing::error!(%error, call = stored.call, "a parked call cannot be taken up");
        "the host cannot read what it has stored of this call; its log has the details"
    })?;
    let context = CallContext { id: stored.call.into(), ..context };
    let (running, steering) = server.running_calls.register(&context, name, target.reads_steering());
    let record = ChunkRecord::new(server.principal_store.clone(), &context, target.id().clone(), name.clone());
    let started = StartedCall { running, steering, record, stateless: true, journal };
    Ok(started.live(server, target, context, None, input))
}

/// What a call has before it runs.
struct StartedCall {
    running: RunningCallGuard,
    steering: Option<Steering>,
    record: ChunkRecord,
    stateless: bool,
    journal: CallJournal,
}

impl StartedCall {
    /// The call, which runs when it is served.
    fn live(
        self,
        server: &Arc<ServerContext>,
        target: CallTarget,
        context: CallContext,
        parent: Option<CallParent>,
        input: RequestInput,
    ) -> LiveCall {
        let Self { running, steering, record, stateless, journal } = self;
        let (lanes, principal, overflow) = (&server.lanes, &context.principal, target.overflow());
        let (mut link, end) = ClientEnd::link(lanes, principal, stateless, overflow, record, input, journal.clone());
        link.steering = steering;
        let request = CallRequest { context, link, parent, journal };
        // Boxed, because an async block would hold what it awaits twice for as long as the call is parked.
        LiveCall::new(Box::pin(run(server.runner.clone(), running, target, request)), end)
    }
}

/// The call itself, which may span several requests. It owns everything it needs.
async fn run(
    runner: Arc<Runner>,
    _running: RunningCallGuard,
    target: CallTarget,
    request: CallRequest,
) -> FinishedCall {
    runner.run(target, request).await
}

fn finished(call: FinishedCall, record: ChunkRecord, stateless: bool) -> Result<RoundOutcome, ErrorData> {
    check_capabilities(stateless, &call)?;
    Ok(RoundOutcome::Finished(call, record))
}

/// A round of a call that may ask something.
struct LiveRound {
    principal: Principal,
    correlation_id: Option<String>,
    binding: RequestBinding,
    served: ServedRequest,
}

impl LiveRound {
    async fn serve(self, server: Arc<ServerContext>, live: LiveCall) -> Result<RoundOutcome, ErrorData> {
        let Self { principal, correlation_id, binding, served } = self;
        let (correlation, stateless) = (correlation_id.as_deref(), served.is_stateless());
        let began = server.lanes.clock.now();
        match live.serve(server.parked_calls.wait_permits(), &principal, correlation, served).await {
            RoundEnd::Done(call, record) => finished(call, record, stateless),
            RoundEnd::Waiting(mut live, pending) => {
                live.life().worked += server.lanes.clock.now().saturating_duration_since(began);
                debug_assert!(stateless);
                let requests = pending.to_round_requests(correlation)?;
                let meta = live.extend_meta(server.meta(correlation));
                let record = live.record();
                let token = match server.parked_calls.park(*live, pending, &principal, &binding).await {
                    Ok(token) => token,
                    Err(NotParked::TooMuch) => {
                        let limit = server.parked_calls.per_principal();
                        let busy = CallError::Busy { resource: BusyResource::Parked, limit };
                        return finished(FinishedCall::not_started(Err(busy)), record, stateless);
                    }
                    Err(NotParked::Failed(error)) => {
                        tracing::error!(%error, "cannot park a call");
                        let text = "the host cannot park the call; its log has the details";
                        return Err(ErrorData::internal_error(text, None));
                    }
                };
                Ok(RoundOutcome::InputRequired(match requests {
                    RoundRequests::Questions(requests) => {
                        InputRequiredResult::new(Some(requests), Some(token)).with_meta(meta)
                    }
                    RoundRequests::ReverseCalls(calls) => retry::input_required(calls, token, meta)?,
                }))
            }
        }
    }
}
