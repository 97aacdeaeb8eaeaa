//! Runs a call for anybody who makes one: an MCP client, another plugin, an upstream server, or the command line.

use super::admission::{Admission, AdmittedCall};
use super::answer::{Answer, CallAnswer, CallUsage, FinishedCall};
use super::answer_check::AnswerCheck;
use super::clean_up::{CleanUp, InstanceMaker};
use super::payload_size::PayloadSize;
use super::reconcile::HostParts;
use super::recorder::{CallRecorder, Observers, RecordedTarget, audit_scope};
use super::request::{BudgetSource, CallParent, CallRequest, Inherited};
use super::root_slot::RootSlot;
use super::target::{CallTarget, PluginCall};
use super::waiting_client::WaitingClient;
use crate::catalog::Plugin;
use crate::circuit_breaker::Circuit;
use crate::offer::PluginTool;
use crate::scratch;
use platform::audit::Audit;
use platform::clock::Clock;
use platform::telemetry::{ProcessMetrics, Tracer, printable};
use policy::{Budget, Lineage, Principal, PrincipalLimits};
use runtime::abi::{GuestAnswer, GuestOutcome, PreparedComponent};
use runtime::engine::{
    Allowance, CallCost, CallError, InstancePermit, InstanceShares, MAX_INSTANCES, MAX_WAITING_INSTANCES,
    PausableDeadline, is_large, work_in_pool_if_large,
};
use runtime::imports::{Arguments, CallAuthority, CallImports, CallScope, HostServices, ModelProvider};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub struct Runner {
    clock: Arc<dyn Clock>,
    admission: Admission,
    wait_permits: Arc<Semaphore>,
    instances: InstanceShares,
    instance_maker: Arc<InstanceMaker>,
    services: Arc<HostServices>,
    model: Option<Arc<dyn ModelProvider>>,
    audit: Audit,
    tracer: Tracer,
    /// The calls that are not recorded yet.
    unrecorded: TaskTracker,
}

/// A call that may run.
struct StartedCall {
    admitted: AdmittedCall,
    instance: InstancePermit,
    imports: Box<CallImports>,
    allowance: Allowance,
}

impl Runner {
    pub fn new(clock: Arc<dyn Clock>, services: HostServices) -> Self {
        Self {
            admission: Admission::new(clock.clone(), PrincipalLimits::default()),
            instances: InstanceShares::new(MAX_INSTANCES + MAX_WAITING_INSTANCES),
            instance_maker: Arc::new(InstanceMaker::new(clock.clone())),
            clock,
            wait_permits: Arc::new(Semaphore::new(MAX_WAITING_INSTANCES as usize)),
            services: Arc::new(services),
            model: None,
            audit: Audit::none(),
            tracer: Tracer::default(),
            unrecorded: TaskTracker::new(),
        }
    }

    /// `model` answers plugins whose client has no model.
    pub fn with_model(mut self, model: Option<Arc<dyn ModelProvider>>) -> Self {
        self.model = model;
        self
    }

    pub fn with_principal_limits(mut self, limits: PrincipalLimits) -> Self {
        self.admission = Admission::new(self.clock.clone(), limits);
        self
    }

    pub fn with_audit(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }

    pub fn with_tracer(mut self, tracer: Tracer) -> Self {
        self.tracer = tracer;
        self
    }

    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Sets the metrics of current calls and instances.
    pub fn update_levels(&self, levels: &ProcessMetrics) {
        let count = |instances: usize| i64::try_from(instances).unwrap_or(i64::MAX);
        let waiting = (MAX_WAITING_INSTANCES as usize).saturating_sub(self.wait_permits.available_permits());
        levels.root_calls.set(self.admission.slots.in_use().into());
        levels.waiting_calls.set(count(waiting));
        levels.ready_instances.set(count(self.instance_maker.ready()));
    }

    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Held by a call until it is recorded.
    pub(super) fn unrecorded(&self) -> TaskTrackerToken {
        self.unrecorded.token()
    }

    /// Returns when all calls are recorded. For the end, when no more calls come.
    pub async fn all_recorded(&self) {
        self.unrecorded.close();
        self.unrecorded.wait().await;
    }

    /// Counts a call that an upstream server runs against its principal's rate.
    pub(super) fn count_against_rate(&self, principal: &Principal) -> Result<(), CallError> {
        self.admission.count_against_rate(principal)
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// Calls something.
    pub async fn run(&self, target: CallTarget, request: CallRequest) -> FinishedCall {
        match target {
            CallTarget::Plugin(plugin, call) => self.run_plugin(plugin, call, request).await,
            // Boxed, so that it takes no room in the parked calls of plugins.
            CallTarget::Upstream(tool, arguments) => Box::pin(self.run_upstream(&tool, arguments, request)).await,
        }
    }

    /// Calls a plugin's tool.
    pub async fn call_tool(
        &self,
        plugin: Arc<Plugin>,
        tool: Arc<PluginTool>,
        arguments: Arguments,
        request: CallRequest,
    ) -> FinishedCall<Answer> {
        self.run_plugin(plugin, PluginCall::Tool(tool, arguments), request).await.into_tool_call()
    }

    async fn run_plugin(&self, plugin: Arc<Plugin>, call: PluginCall, request: CallRequest) -> FinishedCall {
        if matches!(call, PluginCall::Completion(_)) && !plugin.completes {
            return FinishedCall::not_started(Ok(CallAnswer::Completion(Default::default())));
        }
        let name = call.name();
        let lineage = match &request.parent {
            Some(CallParent::Host(inherited)) => inherited.lineage.clone(),
            Some(CallParent::External { lineage, .. }) => lineage.clone(),
            None => Lineage::root(call.full_name(plugin.id()), &plugin.spec.limits),
        };
        let recorder = self.recorder(&plugin, &call, &request, &lineage);
        if let PluginCall::Tool(tool, arguments) = &call
            && let Err(reason) = tool.check_arguments(arguments.value())
        {
            return recorder.refuse(CallError::InvalidArguments { reason });
        }
        let StartedCall { admitted, instance, imports, allowance } =
            match self.start(&plugin, &call, request, lineage, &recorder).await {
                Ok(started) => started,
                Err(error) => return recorder.refuse(error),
            };
        let ((call, check), nested) = (call.into_parts(), admitted.root.is_none());
        let ready = match (plugin.code.loaded(), &plugin.scratch_quota) {
            (Some(code), None) => Ok(code),
            // Boxed, because few calls take this way.
            _ => Box::pin(prepare(&plugin, &imports.scope.context.principal, &allowance)).await,
        };
        let outcome = match ready {
            Ok(code) => code.call(&name, call, imports, allowance, instance, nested).await,
            Err(error) => GuestOutcome::not_started(error),
        };
        let finished = self.end(plugin, name, admitted, outcome, check).await;
        recorder.finish(finished)
    }

    fn recorder(&self, plugin: &Plugin, call: &PluginCall, request: &CallRequest, lineage: &Lineage) -> CallRecorder {
        let scope = audit_scope(&request.context, plugin.id(), Some(&plugin.digest));
        let (metrics, traceparent) = (Some(plugin.metrics.clone()), request.context.traceparent.as_deref());
        let arguments = match call {
            PluginCall::Tool(_, arguments) => Some(arguments.text()),
            PluginCall::Resource { .. } | PluginCall::Prompt { .. } | PluginCall::Completion(_) => None,
        };
        let target = RecordedTarget { method: call.method(), name: call.name(), arguments };
        let observers = Observers {
            metrics,
            tracer: &self.tracer,
            traceparent,
            unrecorded: self.unrecorded(),
            journal: request.journal.clone(),
        };
        CallRecorder::new(&self.audit, scope, lineage, target, observers)
    }

    /// Starts a call: admission, its budget, and its imports.
    async fn start(
        &self,
        plugin: &Arc<Plugin>,
        call: &PluginCall,
        request: CallRequest,
        lineage: Lineage,
        recorder: &CallRecorder,
    ) -> Result<StartedCall, CallError> {
        if self.audit.refuses_calls(&request.context.principal) {
            return Err(CallError::AuditUnavailable);
        }
        let CallRequest { mut context, mut link, parent, journal } = request;
        if let Some(traceparent) = recorder.traceparent() {
            context.traceparent = Some(traceparent);
        }
        let (admitted, inherited) = match parent {
            Some(CallParent::Host(inherited)) => {
                self.admit_nested(plugin, &call.name(), &context.principal, inherited)?
            }
            parent => {
                let budget_source = match parent {
                    Some(CallParent::External { budget_source, .. }) => Some(budget_source),
                    Some(CallParent::Host(_)) | None => None,
                };
                let parent = (lineage, budget_source);
                let who = (&context.principal, journal.worked());
                let admitted = self.admit_root(plugin, call, who, parent, &link.cancel).await;
                let (admitted, slot, inherited) = admitted?;
                link.client = Arc::new(WaitingClient {
                    client: link.client,
                    model: self.model.clone(),
                    slot,
                    pausable_deadline: inherited.pausable_deadline.clone(),
                    wait_permits: self.wait_permits.clone(),
                    held: link.held.clone(),
                });
                (admitted, inherited)
            }
        };
        let instance = self.instances.acquire(&context.principal, &link.held)?;
        let Inherited { lineage, budget, pausable_deadline } = inherited;
        let (limits, cancel) = (plugin.spec.limits.clone(), link.cancel.clone());
        let authority = CallAuthority::new(plugin.authority.clone(), recorder.call_audit().clone());
        let (services, instances, clock) = (self.services.clone(), self.instances.clone(), self.clock.clone());
        let host = HostParts { services, instances, clock, audit: self.audit.clone() };
        let reconciler = host.reconciler(plugin, call, &context, &lineage, &link).filter(|_| journal.is_resumed());
        let scope = CallScope::with_reconciler(context, authority, lineage, limits.clone(), reconciler);
        let imports = CallImports::new(scope, link, self.services.clone(), plugin.scratch_quota.clone(), journal);
        let allowance = Allowance { limits, budget, cancel, pausable_deadline };
        Ok(StartedCall { admitted, instance, imports: Box::new(imports), allowance })
    }

    /// Admits a call within a call of this host, whose slot it shares.
    fn admit_nested(
        &self,
        plugin: &Arc<Plugin>,
        name: &Arc<str>,
        principal: &Principal,
        inherited: Inherited,
    ) -> Result<(AdmittedCall, Inherited), CallError> {
        let circuit = Circuit::new(name.clone(), principal.clone(), &inherited.lineage);
        self.admission.check(plugin, &circuit, false)?;
        let admitted = self.admission.admit(plugin, circuit)?;
        let limits = &plugin.spec.limits;
        let lineage = inherited.lineage.with_limits(limits);
        let budget = inherited.budget.nested(limits, self.clock.now());
        Ok((admitted, Inherited { lineage, budget, ..inherited }))
    }

    /// Admits a call that has a slot of its own; earlier runs of it have `worked` for so long. The lineage is its own, or that of the upstream tool that pays for it.
    async fn admit_root(
        &self,
        plugin: &Arc<Plugin>,
        call: &PluginCall,
        (principal, worked): (&Principal, Duration),
        (mut lineage, budget_source): (Lineage, Option<Arc<dyn BudgetSource>>),
        cancel: &CancellationToken,
    ) -> Result<(AdmittedCall, Arc<RootSlot>, Inherited), CallError> {
        let (limits, name) = (&plugin.spec.limits, call.name());
        if budget_source.is_some() {
            let below = lineage.descend(call.full_name(plugin.id()), 0).map_err(CallError::Lineage)?;
            lineage = below.with_limits(limits);
        }
        let number = self.instance_maker.call_begins();
        let circuit = Circuit::new(name, principal.clone(), &lineage);
        self.admission.check(plugin, &circuit, true)?;
        let slot_request = Admission::slot_request(plugin, principal);
        let acquired = self.admission.acquire_slot(&slot_request, limits.deadline, cancel).await?;
        // The tool may have failed for others while this call waited.
        let mut admitted = self.admission.admit(plugin, circuit)?;
        let now = self.clock.now();
        let left = budget_source.as_ref().map(|source| source.reserve(now));
        let mut budget = left.map_or_else(|| Budget::root(limits, now), |left| left.nested(limits, now));
        budget.deadline = budget.deadline.checked_sub(worked).unwrap_or(now);
        let pausable_deadline = PausableDeadline::new(self.clock.clone());
        let slot = RootSlot::new(self.admission.slots.clone(), slot_request, acquired, budget_source);
        admitted.root = Some((slot.clone(), number));
        Ok((admitted, slot, Inherited { lineage, budget, pausable_deadline }))
    }

    /// Ends a call: reports it, gives its slot back, settles its budget, and checks what it answered.
    async fn end(
        &self,
        plugin: Arc<Plugin>,
        name: Arc<str>,
        mut admitted: AdmittedCall,
        outcome: GuestOutcome<GuestAnswer>,
        check: AnswerCheck,
    ) -> FinishedCall {
        let GuestOutcome { mut result, cost, imports, spent_store } = outcome;
        if let Some(problem) = imports.as_ref().and_then(|imports| imports.journal.problem()) {
            result = Err(problem.into());
        }
        admitted.finish(&result, imports.as_ref().map(|imports| &imports.scope.lineage));
        let clean_up = admitted.root.take().map(|(slot, number)| {
            slot.release();
            if let Some(budget_source) = slot.budget_source() {
                budget_source.settle(cost.spent, cost.wall);
            }
            CleanUp::new(self.instance_maker.clone(), plugin.clone(), spent_store, number)
        });
        let Some(imports) = imports else {
            return FinishedCall::not_started(Err(result.err().unwrap_or(CallError::Internal)));
        };
        let bytes = result.as_ref().map_or(0, GuestAnswer::payload_bytes);
        // Work on a large answer takes longer than cleaning up.
        let clean_up = clean_up.filter(|_| !is_large(bytes));
        let owner = (imports.scope.context.principal.clone(), plugin.id().clone());
        let finish = move || finish(&plugin, &name, &imports, cost, check, result);
        FinishedCall { clean_up, ..work_in_pool_if_large(bytes, || owner, finish).await }
    }
}

/// What an admitted call waits for before the guest runs: its scratch directory is measured, and its code is loaded at the
/// first call.
async fn prepare<'a>(
    plugin: &'a Plugin,
    principal: &Principal,
    allowance: &Allowance,
) -> Result<&'a PreparedComponent, CallError> {
    let ready = async {
        scratch::check_size(&plugin.authority, plugin.scratch_quota.as_ref(), principal).await?;
        if plugin.code.loaded().is_none() {
            let failed = |error| CallError::internal(format!("{} cannot be loaded: {error}", plugin.id().table()));
            plugin.code.load(&plugin.spec).await.map_err(failed)?;
        }
        plugin.code.loaded().ok_or(CallError::Internal)
    };
    tokio::select! {
        biased;
        ready = ready => ready,
        () = allowance.cancel.cancelled() => Err(CallError::Cancelled),
        error = allowance.deadline_exceeded() => Err(error),
    }
}

/// Checks an answer, and adds what the call used.
fn finish(
    plugin: &Plugin,
    name: &str,
    imports: &CallImports,
    cost: CallCost,
    check: AnswerCheck,
    result: Result<GuestAnswer, CallError>,
) -> FinishedCall {
    let mut usage = CallUsage {
        spent: cost.spent,
        wall: cost.wall,
        peak_memory: cost.peak_memory,
        chunks: imports.chunks(),
        output_bytes: imports.bytes_with_result(0).unwrap_or_else(|(used, _)| used),
        calls: imports.agent_tools.calls(),
        questions: imports.questions_asked(),
        model_tokens: imports.model_tokens(),
        denials: imports.scope.audit().denials(),
    };
    let result = result.and_then(|answer| check.check(plugin, imports, answer, &mut usage));
    if let Err(error) = &result {
        let (code, text, tool) = (error.code(), error.for_operator(), printable(name));
        let call = &*imports.scope.context.id;
        match error {
            // Clients do so all the time.
            CallError::Cancelled => tracing::info!(plugin = %plugin.id(), %tool, call, "cancelled"),
            // It was logged when it was refused.
            CallError::Denied(_) if usage.denials > 0 => {}
            _ => tracing::warn!(plugin = %plugin.id(), %tool, call, code, "{}", printable(&text)),
        }
    }
    let (missing_abilities, missing_tools) = (imports.missing_abilities(), imports.agent_tools.lacked());
    FinishedCall { result, usage, missing_abilities, missing_tools, clean_up: None }
}
