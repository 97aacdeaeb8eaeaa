//! One round of a call: a request begins the call or resumes a parked one, and serves it until it is done or asks something.
//! This code does not know how the request arrived.

use super::call_result::check_capabilities;
use super::task_call::{self, TaskAnswer, TaskFollower};
use crate::calls::call_keeper::CallKeeper;
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
use crate::resumable_stream::ResumableStream;
use crate::server_context::ServerContext;
use crate::tasks::{NewTask, NotCreated};
use futures::future::BoxFuture;
use plugins::calls::{CallParent, CallRequest, CallTarget, FinishedCall, Runner};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::InputRequiredResult;
use runtime::engine::{BusyResource, CallError, FuelAccount, HeldResources};
use runtime::imports::{CallContext, ClientLink, NoClient, Steering};
use runtime::journal::{CallJournal, EffectGuard};
use std::sync::Arc;
use std::time::Duration;

/// The parameters of a request that begins or resumes a call.
pub(crate) struct RoundRequest {
    pub(crate) method: &'static str,
    /// The name or URI that is called.
    pub(crate) name: Arc<str>,
    pub(crate) target: CallTarget,
    pub(crate) context: CallContext,
    pub(crate) parent: Option<CallParent>,
    /// The parked call that it resumes.
    pub(crate) resumes: Option<(String, ResumeToken)>,
    pub(crate) input: RequestInput,
    pub(crate) served: ServedRequest,
    /// Who can follow the call if it becomes a task.
    pub(crate) follower: TaskFollower,
    /// The call's claim on its idempotency key, if it has one.
    pub(crate) task: Option<KeyedCall>,
}

/// The claim of a call on its idempotency key.
pub(crate) struct KeyedCall {
    /// The id of its task, if it becomes one.
    pub(crate) task: String,
    /// Records the first effect of the call.
    pub(crate) guard: EffectGuard,
}

/// How a round ended.
#[allow(clippy::large_enum_variant, reason = "most rounds end a call, which a box would cost an allocation")]
pub(crate) enum RoundOutcome {
    Finished(FinishedCall, ChunkRecord),
    /// The call has run and cannot go on, although its error is one that calls have which were not started.
    GivenUp(FinishedCall, ChunkRecord),
    /// Nothing has run for this request.
    NotBegun(ErrorData),
    /// The call is parked.
    InputRequired(InputRequiredResult),
    /// The call goes on as a task.
    Task(TaskAnswer),
}

/// A round that has begun.
pub(crate) type RunningRound = BoxFuture<'static, Result<RoundOutcome, ErrorData>>;

/// Takes out the parked call, or begins a new one. The error is a sentence for the client; in that case nothing has changed.
pub(crate) fn begin(server: &Arc<ServerContext>, mut request: RoundRequest) -> Result<RunningRound, &'static str> {
    if let Some((token, kind)) = request.resumes.take() {
        return resume(server, request, &token, kind);
    }
    let RoundRequest { method, name, target, context, parent, input, served, follower, task, .. } = request;
    let (task, guard) = task.map(|KeyedCall { task, guard }| (task, guard)).unzip();
    // A nested call cannot be taken up without its parent. The outcome of a call with a key is found under its key.
    let kept = server.parked_calls.are_stored() && parent.is_none();
    let stream = served.stream.clone().filter(|_| kept && guard.is_none());
    let waiting = served.stream.as_ref().and_then(ResumableStream::take_resumed);
    let context = match &waiting {
        Some(waiting) => CallContext { id: waiting.call.as_str().into(), ..context },
        None => context,
    };
    let begins = task_call::begins(&name, &target, &context.id, &context, &input, follower, task);
    let at_once = task_call::is_task_only(&target);
    if at_once && begins.is_none() {
        return Ok(Box::pin(async { Ok(RoundOutcome::NotBegun(task_call::needs_extension())) }));
    }
    let stateless = served.is_stateless();
    let outlives = (kept && (stateless || stream.is_some()))
        || (begins.is_some() && server.tasks.are_durable() && parent.is_none());
    let direct = input.can_answer_nothing() && served.notifications.is_none() && begins.is_none() && waiting.is_none();
    let clock = server.lanes.clock.clone();
    let journal = match &waiting {
        Some(waiting) => match waiting.journal(clock, &binding(method, &name, &target, &context).to_bytes()) {
            Ok(journal) => journal,
            Err(error) => return Ok(Box::pin(async { Ok(RoundOutcome::NotBegun(error)) })),
        },
        None if outlives && !direct => CallJournal::in_memory(clock),
        None if guard.is_some() => CallJournal::unrecorded(clock),
        None => CallJournal::default(),
    };
    if let Some(guard) = guard {
        journal.guard_effects(guard);
    }
    let fuel = begins.is_some().then(FuelAccount::default);
    let started = PreparedCall::register(server, &name, &target, &context, stateless, journal.clone(), fuel);
    if direct {
        let PreparedCall { running, steering, record, journal, .. } = started;
        let link = ClientLink {
            sink: record.sink(),
            client: NoClient::shared(),
            agent: server.host_tools.clone(),
            steering,
            cancel: served.cancel,
            held: HeldResources::default(),
            fuel: None,
        };
        let call = run(server.runner.clone(), running, target, CallRequest { context, link, parent, journal });
        return Ok(Box::pin(async move { finished(call.await, record, stateless) }));
    }
    let binding = binding(method, &name, &target, &context);
    if let (Some(_), Some(stream)) = (&waiting, &served.stream) {
        stream.keeps(&journal);
    }
    let keeper =
        stream.map(|stream| CallKeeper::new(&stream, journal, context.id.clone(), binding.clone(), waiting.as_ref()));
    let round = LiveRound {
        principal: context.principal.clone(),
        correlation_id: context.correlation_id.clone(),
        binding,
        served,
        keeper,
        begins,
    };
    let live = started.live(server, target, context, parent, input);
    match at_once {
        true => Ok(Box::pin(round.begin_task(server.clone(), live))),
        false => Ok(Box::pin(round.serve(server.clone(), live))),
    }
}

/// Resumes a parked call.
fn resume(
    server: &Arc<ServerContext>,
    request: RoundRequest,
    token: &str,
    kind: ResumeToken,
) -> Result<RunningRound, &'static str> {
    let RoundRequest { method, name, target, context, input, served, follower, task, .. } = request;
    let task = task.map(|keyed| keyed.task);
    let binding = binding(method, &name, &target, &context);
    let parked = server.parked_calls.find(token, kind, &binding)?;
    let server = server.clone();
    let invalid = |reason| Ok(RoundOutcome::NotBegun(ErrorData::invalid_params(reason, None)));
    Ok(match parked {
        Parked::Here(mut live, pending) => {
            let begins = task_call::begins(&name, &target, live.record().call_id(), &context, &input, follower, task);
            let CallContext { principal, correlation_id, .. } = context;
            let round = LiveRound { principal, correlation_id, binding, served, keeper: None, begins };
            Box::pin(async move {
                if let Err(reason) = server.parked_calls.claim(&mut live, kind).await {
                    return invalid(reason);
                }
                round.serve(server, live.resume(pending, input)).await
            })
        }
        Parked::Stored(id) => Box::pin(async move {
            let stored = match server.parked_calls.load(id, kind).await {
                Ok(stored) => stored,
                Err(reason) => return invalid(reason),
            };
            let call = stored.call.as_str().into();
            let begins = task_call::begins(&name, &target, &call, &context, &input, follower, task);
            let (principal, correlation_id) = (context.principal.clone(), context.correlation_id.clone());
            let round = LiveRound { principal, correlation_id, binding, served, keeper: None, begins };
            let fuel = round.begins.is_some().then(FuelAccount::default);
            let (mut live, mut stored) = match take_up(&server, stored, &name, (target, context, input), fuel) {
                Ok(taken) => taken,
                Err(reason) => return invalid(reason),
            };
            let journal = live.life().journal.clone();
            let outcome = round.serve(server.clone(), live).await?;
            Ok(match outcome {
                RoundOutcome::Finished(ended, record)
                    if ended.result.as_ref().is_err_and(CallError::was_not_started) =>
                {
                    let Some(steps) = journal.export() else { return Ok(RoundOutcome::GivenUp(ended, record)) };
                    stored.steps = steps;
                    server.parked_calls.put_back(id, &stored).await;
                    RoundOutcome::Finished(ended, record)
                }
                outcome => outcome,
            })
        }),
    })
}

/// The data that a call's token is bound to.
pub(super) fn binding(method: &str, name: &str, target: &CallTarget, context: &CallContext) -> RequestBinding {
    let (arguments, key) = (target.arguments(), context.idempotency_key.as_deref());
    RequestBinding::new(&context.principal, method, name, &arguments, target.version(), key)
}

/// Takes up a call that was parked elsewhere: it runs again, and its journal, which has the steps of the record, brings it back
/// to where it was.
fn take_up(
    server: &Arc<ServerContext>,
    mut stored: ParkedRecord,
    name: &Arc<str>,
    (target, context, input): (CallTarget, CallContext, RequestInput),
    fuel: Option<FuelAccount>,
) -> Result<(LiveCall, ParkedRecord), &'static str> {
    let worked = Duration::from_millis(stored.worked);
    let journal = CallJournal::resumed(server.lanes.clock.clone(), std::mem::take(&mut stored.steps), worked).map_err(
        |error| {
            tracing::error!(%error, call = stored.call, "a parked call cannot be taken up");
            "the host cannot read what it has stored of this call; its log has the details"
        },
    )?;
    let context = CallContext { id: stored.call.as_str().into(), ..context };
    let started = PreparedCall::register(server, name, &target, &context, true, journal, fuel);
    let input = input.with_asked(stored.asked.clone());
    Ok((started.live(server, target, context, None, input), stored))
}

/// The parts of a call that are made before it runs.
pub(super) struct PreparedCall {
    running: RunningCallGuard,
    steering: Option<Steering>,
    pub(super) record: ChunkRecord,
    stateless: bool,
    journal: CallJournal,
    /// The fuel account of a call that may become a task.
    fuel: Option<FuelAccount>,
}

impl PreparedCall {
    /// Adds the call to the running ones. `name` is the name that its client called.
    pub(super) fn register(
        server: &ServerContext,
        name: &Arc<str>,
        target: &CallTarget,
        context: &CallContext,
        stateless: bool,
        journal: CallJournal,
        fuel: Option<FuelAccount>,
    ) -> Self {
        let (running, steering) =
            server.running_calls.register(context, name, target.reads_steering(), journal.is_resumed());
        let record = ChunkRecord::new(server.principal_store.clone(), context, target.id().clone(), name.clone());
        Self { running, steering, record, stateless, journal, fuel }
    }

    /// Makes the live call, which runs only when it is served.
    pub(super) fn live(
        self,
        server: &Arc<ServerContext>,
        target: CallTarget,
        context: CallContext,
        parent: Option<CallParent>,
        input: RequestInput,
    ) -> LiveCall {
        let Self { running, steering, record, stateless, journal, fuel } = self;
        let (lanes, principal, overflow) = (&server.lanes, &context.principal, target.overflow());
        let own = (journal.clone(), fuel, steering);
        let (link, end) = ClientEnd::link(lanes, principal, stateless, overflow, record, input, own);
        let request = CallRequest { context, link, parent, journal };
        // Boxed, because an async block would hold the awaited future twice for as long as the call is parked.
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
    /// Stores the call while it waits on its stream.
    keeper: Option<CallKeeper>,
    /// The task that it may become.
    begins: Option<(TaskFollower, NewTask)>,
}

impl LiveRound {
    /// Begins the call as a task at once.
    async fn begin_task(self, server: Arc<ServerContext>, live: LiveCall) -> Result<RoundOutcome, ErrorData> {
        let Some((follower, new)) = self.begins else {
            return Ok(RoundOutcome::NotBegun(task_call::needs_extension()));
        };
        match server.tasks.clone().create(new).await {
            Ok(created) => task_call::hand_over(&server, live, created, follower).await.map(RoundOutcome::Task),
            Err(NotCreated::Full) => {
                let limit = server.tasks.limits().per_principal;
                let busy = CallError::Busy { resource: BusyResource::Tasks, limit };
                finished(FinishedCall::not_started(Err(busy)), live.record(), true)
            }
            Err(error) => {
                tracing::error!(%error, "a task cannot be stored");
                let text = "the host cannot store the task; its log has the details";
                Ok(RoundOutcome::NotBegun(ErrorData::internal_error(text, None)))
            }
        }
    }

    async fn serve(self, server: Arc<ServerContext>, live: LiveCall) -> Result<RoundOutcome, ErrorData> {
        let Self { principal, correlation_id, binding, served, keeper, begins } = self;
        let follower = begins.as_ref().map_or(TaskFollower::Nobody, |(follower, _)| *follower);
        let leave = begins.map(|(_, new)| task_call::leave(server.tasks.clone(), new));
        let (correlation, stateless) = (correlation_id.as_deref(), served.is_stateless());
        match live.serve(server.parked_calls.wait_permits(), &principal, correlation, served, keeper, leave).await {
            RoundEnd::Left(live, created) => {
                task_call::hand_over(&server, *live, created, follower).await.map(RoundOutcome::Task)
            }
            RoundEnd::Done(call, record) => finished(call, record, stateless),
            RoundEnd::Waiting(live, pending) => {
                debug_assert!(stateless);
                let requests = pending.to_round_requests(correlation)?;
                let meta = live.extend_meta(server.meta(correlation));
                let record = live.record();
                let token = match server.parked_calls.park(*live, pending, &principal, &binding).await {
                    Ok(token) => token,
                    Err(NotParked::TooMuch) => {
                        let limit = server.parked_calls.per_principal();
                        let busy = CallError::Busy { resource: BusyResource::Parked, limit };
                        return Ok(RoundOutcome::GivenUp(FinishedCall::not_started(Err(busy)), record));
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
