//! Runs a call for anybody who makes one: an MCP client, another plugin, an upstream server, or the command line.

use crate::calls::answers::answer::{Answer, CallAnswer, CallUsage, FinishedCall};
use crate::calls::answers::answer_check::AnswerCheck;
use crate::calls::answers::guest_error::refused_files;
use crate::calls::answers::payload_size::PayloadSize;
use crate::calls::recorder::{CallRecorder, Observers, RecordedTarget, audit_scope};
use crate::calls::request::{CallParent, CallRequest};
use crate::calls::slots::admission::{Admission, AdmittedCall};
use crate::calls::slots::clean_up::{CleanUp, InstanceMaker};
use crate::calls::started_call::StartedCall;
use crate::calls::target::{CallTarget, PluginCall};
use crate::calls::tool_access::ToolAccess;
use crate::calls::upstream_request::UpstreamRequest;
use crate::catalog::{ItemRequest, Plugin, UpstreamTool};
use crate::fuel_budgets::FuelBudgets;
use crate::offer::PluginTool;
use crate::scratch;
use platform::audit::Audit;
use platform::clock::Clock;
use platform::telemetry::{ProcessMetrics, Tracer, printable};
use policy::{Lineage, Principal, PrincipalLimits};
use runtime::abi::{GuestAnswer, GuestOutcome, PreparedComponent};
use runtime::engine::{
    Allowance, CallCost, CallError, InstanceShares, MAX_INSTANCES, MAX_WAITING_INSTANCES, is_large,
    work_in_pool_if_large,
};
use runtime::imports::{Arguments, CallImports, HostServices, ModelProvider};
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub struct Runner {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) admission: Admission,
    pub(super) wait_permits: Arc<Semaphore>,
    pub(super) instances: InstanceShares,
    pub(super) instance_maker: Arc<InstanceMaker>,
    pub(super) services: Arc<HostServices>,
    pub(super) model: Option<Arc<dyn ModelProvider>>,
    fuel_budgets: OnceLock<Arc<FuelBudgets>>,
    pub(super) tool_access: OnceLock<Box<dyn ToolAccess>>,
    pub(super) audit: Audit,
    tracer: Tracer,
    /// The calls that are not recorded yet.
    unrecorded: TaskTracker,
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
            fuel_budgets: OnceLock::new(),
            tool_access: OnceLock::new(),
            audit: Audit::none(),
            tracer: Tracer::default(),
            unrecorded: TaskTracker::new(),
        }
    }

    /// From now on, calls are charged to these budgets, if they have limits.
    pub fn set_fuel_budgets(&self, budgets: Arc<FuelBudgets>) {
        if budgets.are_set() {
            let _ = self.fuel_budgets.set(budgets);
        }
    }

    /// From now on, this decides what calls may call.
    pub fn set_tool_access(&self, access: Box<dyn ToolAccess>) {
        let _ = self.tool_access.set(access);
    }

    /// The budgets of fuel per day; none if they have no limits.
    pub fn fuel_budgets(&self) -> Option<&Arc<FuelBudgets>> {
        self.fuel_budgets.get()
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

    /// Returns when all calls are recorded. Used at shutdown, when no more calls come.
    pub async fn all_recorded(&self) {
        self.unrecorded.close();
        self.unrecorded.wait().await;
    }

    /// Counts a call that an upstream server runs against its principal's rate.
    pub(super) fn count_against_rate(&self, principal: &Principal) -> Result<(), CallError> {
        self.admission.count_against_rate(principal)
    }

    /// Why the state of plugins can be neither stored nor read at the moment; none if it can.
    pub fn state_problem(&self) -> Option<String> {
        self.services.state.problem()
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// Runs a call, whatever its target is.
    pub async fn run(&self, target: CallTarget, request: CallRequest) -> FinishedCall {
        match target {
            CallTarget::Plugin(plugin, call) => self.run_plugin(plugin, call, request).await,
            // Boxed, so that it takes no room in the parked calls of plugins.
            CallTarget::Upstream(tool, arguments) => {
                Box::pin(self.run_upstream(UpstreamRequest::Tool(&tool, arguments), request)).await
            }
            CallTarget::UpstreamItem(server, item) => {
                Box::pin(self.run_upstream(UpstreamRequest::Item(&server, item), request)).await
            }
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

    /// Calls a tool of an upstream server.
    pub async fn call_upstream(
        &self,
        tool: Arc<UpstreamTool>,
        arguments: Arguments,
        request: CallRequest,
    ) -> FinishedCall<Answer> {
        self.run(CallTarget::Upstream(tool, arguments), request).await.into_tool_call()
    }

    async fn run_plugin(&self, plugin: Arc<Plugin>, mut call: PluginCall, request: CallRequest) -> FinishedCall {
        if matches!(call, PluginCall::Item(ItemRequest::Completion(_))) && !plugin.completes {
            return FinishedCall::not_started(Ok(CallAnswer::Completion(Default::default())));
        }
        let name = call.name();
        let lineage = match &request.parent {
            Some(CallParent::Host(inherited)) => inherited.lineage.clone(),
            Some(CallParent::External { lineage, .. }) => lineage.clone(),
            None => Lineage::root(call.full_name(plugin.id()), &plugin.spec.limits),
        };
        let recorder = self.recorder(&plugin, &call, &request, &lineage);
        if let PluginCall::Tool(tool, arguments) = &mut call
            && let Err(reason) = arguments.change(|value| tool.accept(value))
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
            // Boxed, because few calls need this: it would take room in the future of every call.
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
            PluginCall::Item(_) => None,
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
                budget_source.settle(cost.spent, cost.active);
            }
            CleanUp::new(self.instance_maker.clone(), plugin.clone(), spent_store, number)
        });
        let Some(imports) = imports else {
            return FinishedCall::not_started(Err(result.err().unwrap_or(CallError::Internal)));
        };
        let bytes = result.as_ref().map_or(0, GuestAnswer::payload_bytes);
        // A large answer takes longer to work on than the clean-up does, so the clean-up starts first.
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
            // The denial was logged when it happened.
            CallError::Denied(_) if usage.denials > 0 => {}
            _ => tracing::warn!(plugin = %plugin.id(), %tool, call, code, "{}", printable(&text)),
        }
    }
    let (missing_abilities, missing_tools) = (imports.missing_abilities(), imports.agent_tools.lacked());
    let (refused_files, uses) = (refused_files(imports), imports.files.uses());
    FinishedCall { uses, missing_abilities, missing_tools, refused_files, ..FinishedCall::new(result, usage) }
}
