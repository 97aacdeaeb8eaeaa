//! Runs a call of a plugin for any caller: an MCP client, another plugin, or the command line.

use super::admission::{self, Admission, AdmittedCall};
use super::answer::{FinishedCall, GuestAnswer};
use super::idle::IdleDetector;
use super::non_tool_answer::{self, ResourceContents};
use super::payload_size::PayloadSize;
use super::recorder::{CallRecorder, Observers, audit_scope};
use super::request::{CallParent, CallRequest};
use super::root_slot::RootSlot;
use super::tool_answer::check_tool_answer;
use super::waiting_client::WaitingClient;
use crate::catalog::Plugin;
use crate::circuit_breaker::Circuit;
use crate::offer::PluginTool;
use crate::scratch;
use platform::audit::Audit;
use platform::clock::Clock;
use platform::telemetry::{ProcessMetrics, Tracer};
use policy::{Budget, Lineage, PluginId, Principal, PrincipalLimits, Side};
use runtime::abi::{GuestCallSetup, GuestOutcome, SpentStore};
use runtime::engine::{Allowance, CallError, MAX_WAITING_INSTANCES, PausableDeadline, heavy_if_large};
use runtime::imports::{
    Accounts, AgentTools, CallAuthority, CallImports, Client, ClientCalls, Completion, CompletionQuery, Connections,
    Egress, HostServices, ModelProvider, NoEgress, PromptResult,
};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Instances created ahead of their calls, over all plugins. Bounds the memory of an idle host.
const READY_INSTANCES: usize = 16;

pub struct Runner {
    clock: Arc<dyn Clock>,
    connections: Arc<dyn Connections>,
    admission: Admission,
    wait_permits: Arc<Semaphore>,
    ready_permits: Arc<Semaphore>,
    idle: Arc<IdleDetector>,
    services: HostServices,
    model: Option<Arc<dyn ModelProvider>>,
    egress: Arc<dyn Egress>,
    audit: Audit,
    tracer: Tracer,
}

impl Runner {
    pub fn new(clock: Arc<dyn Clock>, services: HostServices, connections: Arc<dyn Connections>) -> Self {
        Self {
            admission: Admission::new(clock.clone(), PrincipalLimits::default()),
            clock,
            connections,
            wait_permits: Arc::new(Semaphore::new(MAX_WAITING_INSTANCES as usize)),
            ready_permits: Arc::new(Semaphore::new(READY_INSTANCES)),
            idle: Arc::default(),
            services,
            model: None,
            egress: Arc::new(NoEgress),
            audit: Audit::none(),
            tracer: Tracer::default(),
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

    pub fn with_egress(mut self, egress: Arc<dyn Egress>) -> Self {
        self.egress = egress;
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
        let in_use = |total: usize, permits: &Semaphore| {
            i64::try_from(total.saturating_sub(permits.available_permits())).unwrap_or(i64::MAX)
        };
        levels.root_calls.set(self.admission.slots.in_use().into());
        levels.waiting_calls.set(in_use(MAX_WAITING_INSTANCES as usize, &self.wait_permits));
        levels.ready_instances.set(in_use(READY_INSTANCES, &self.ready_permits));
    }

    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Counts a call that an upstream server runs against its principal's rate.
    pub(super) fn count_against_rate(&self, principal: &Principal) -> Result<(), CallError> {
        self.admission.count_against_rate(principal)
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// Calls a tool. `arguments` and `text` are the same JSON object.
    pub async fn call_tool(
        &self,
        plugin: &Arc<Plugin>,
        tool: &PluginTool,
        arguments: &Value,
        text: String,
        request: CallRequest,
    ) -> FinishedCall {
        let name = &tool.tool.name;
        let recorder = self.recorder(plugin, name, &request, Some(&text));
        if let Err(reason) = tool.input.check(arguments) {
            return recorder.refuse(CallError::InvalidArguments { reason });
        }
        let (setup, admitted) = match self.start(plugin, name, request, &recorder).await {
            Ok(started) => started,
            Err(error) => return recorder.refuse(error),
        };
        let outcome = plugin.prepared.call_tool(setup, name.clone(), text).await;
        match self.end(plugin, name, admitted, outcome).await {
            Ok(answer) => recorder.finish(answer.check(check_tool_answer(tool)), |answer| answer.is_error),
            Err(error) => recorder.refuse(error),
        }
    }

    /// Reads a resource that the plugin lists or has a template for.
    pub async fn read_resource(
        &self,
        plugin: &Arc<Plugin>,
        uri: &str,
        request: CallRequest,
    ) -> FinishedCall<ResourceContents> {
        let recorder = self.recorder(plugin, "read-resource", &request, None);
        let (setup, admitted) = match self.start(plugin, "read-resource", request, &recorder).await {
            Ok(started) => started,
            Err(error) => return recorder.refuse(error),
        };
        let outcome = plugin.prepared.read_resource(setup, uri.to_owned()).await;
        match self.end(plugin, "read-resource", admitted, outcome).await {
            Ok(answer) => recorder.finish(answer.check(non_tool_answer::check_contents(uri)), |_| false),
            Err(error) => recorder.refuse(error),
        }
    }

    /// Gets a prompt. The caller has checked the arguments.
    pub async fn get_prompt(
        &self,
        plugin: &Arc<Plugin>,
        name: &str,
        arguments: Vec<(String, String)>,
        request: CallRequest,
    ) -> FinishedCall<PromptResult> {
        let recorder = self.recorder(plugin, "get-prompt", &request, None);
        let (setup, admitted) = match self.start(plugin, "get-prompt", request, &recorder).await {
            Ok(started) => started,
            Err(error) => return recorder.refuse(error),
        };
        let outcome = plugin.prepared.get_prompt(setup, name.to_owned(), arguments).await;
        match self.end(plugin, "get-prompt", admitted, outcome).await {
            Ok(answer) => recorder.finish(answer.check(non_tool_answer::check_prompt), |_| false),
            Err(error) => recorder.refuse(error),
        }
    }

    /// Completes an argument. A plugin that does not complete arguments is not started.
    pub async fn complete(
        &self,
        plugin: &Arc<Plugin>,
        query: CompletionQuery,
        request: CallRequest,
    ) -> FinishedCall<Completion> {
        if !plugin.completes {
            return FinishedCall::not_started(Ok(Completion::default()));
        }
        let recorder = self.recorder(plugin, "complete", &request, None);
        let (setup, admitted) = match self.start(plugin, "complete", request, &recorder).await {
            Ok(started) => started,
            Err(error) => return recorder.refuse(error),
        };
        let outcome = plugin.prepared.complete(setup, query).await;
        match self.end(plugin, "complete", admitted, outcome).await {
            Ok(answer) => recorder.finish(answer.check(non_tool_answer::check_completion), |_| false),
            Err(error) => recorder.refuse(error),
        }
    }

    fn recorder(&self, plugin: &Plugin, target: &str, request: &CallRequest, arguments: Option<&str>) -> CallRecorder {
        let scope = audit_scope(&request.context, plugin.id(), Some(&plugin.digest));
        let (metrics, traceparent) = (Some(plugin.metrics.clone()), request.context.traceparent.as_deref());
        CallRecorder::new(
            &self.audit,
            scope,
            target,
            arguments,
            Observers { metrics, tracer: &self.tracer, traceparent },
        )
    }

    /// Starts a call: admission, its budget, and its imports.
    async fn start(
        &self,
        plugin: &Arc<Plugin>,
        target: &str,
        mut request: CallRequest,
        recorder: &CallRecorder,
    ) -> Result<(GuestCallSetup, AdmittedCall), CallError> {
        if self.audit.refuses_calls() {
            return Err(CallError::AuditUnavailable);
        }
        scratch::check_size(&plugin.authority, plugin.scratch_quota.as_ref()).await?;
        if let Some(traceparent) = recorder.traceparent() {
            request.context.traceparent = Some(traceparent);
        }
        let limits = &plugin.spec.limits;
        let principal = &request.context.principal;
        let mut slot = None;
        let mut admitted;
        let ((lineage, budget, pausable_deadline, caller_memory), client) = match request.parent {
            Some(CallParent::Host { lineage, budget, pausable_deadline, caller_memory }) => {
                let circuit = circuit(target, principal, &lineage);
                self.admission.check(plugin, &circuit, false)?;
                admitted = self.admission.admit(plugin, circuit)?;
                let budget = budget.nested(limits, self.clock.now());
                ((lineage.with_limits(limits), budget, pausable_deadline, caller_memory), request.client)
            }
            parent => {
                let name = lineage_name(plugin.id(), target);
                let (lineage, budget_source) = match parent {
                    Some(CallParent::Upstream { lineage, budget_source }) => {
                        let lineage = lineage.descend(&name, 0).map_err(CallError::Lineage)?;
                        (lineage.with_limits(limits), Some(budget_source))
                    }
                    _ => (Lineage::root(name, limits), None),
                };
                self.idle.call_begins();
                let circuit = circuit(target, principal, &lineage);
                self.admission.check(plugin, &circuit, true)?;
                let slot_request = admission::slot_request(plugin, principal);
                let acquired = self.admission.acquire_slot(&slot_request, limits.deadline, &request.cancel).await?;
                // The tool may have failed for others while this call waited.
                admitted = self.admission.admit(plugin, circuit)?;
                let now = self.clock.now();
                let left = budget_source.as_ref().map(|source| source.reserve(now));
                let budget = left.map_or_else(|| Budget::root(limits, now), |left| left.nested(limits, now));
                let pausable_deadline = PausableDeadline::new(self.clock.clone());
                let slot = slot
                    .insert(RootSlot::new(self.admission.slots.clone(), slot_request, acquired, budget_source))
                    .clone();
                let (wait_permits, model) = (self.wait_permits.clone(), self.model.clone());
                let client = WaitingClient {
                    client: request.client,
                    model,
                    slot,
                    pausable_deadline: pausable_deadline.clone(),
                    wait_permits,
                };
                ((lineage, budget, pausable_deadline, 0), Arc::new(client) as Arc<dyn ClientCalls>)
            }
        };
        let authority = CallAuthority::new(plugin.authority.clone(), recorder.call_audit().clone());
        let (account_lineage, connections) = (lineage.clone(), self.connections.clone());
        let accounts = Accounts::new(authority.clone(), limits, &request.context, account_lineage, connections);
        let client = Client::new(authority.clone(), limits, client, accounts.clone());
        let agent_tools = AgentTools::new(authority, lineage, request.agent).with_answer_timeout(limits.answer);
        let imports = CallImports::new(request.context, limits, request.sink, agent_tools, client, accounts)
            .with_egress(self.egress.clone())
            .with_steering(request.steering)
            .with_disk_quota(plugin.scratch_quota.as_ref())
            .with_services(&self.services);
        let (limits, cancel) = (limits.clone(), request.cancel);
        let allowance = Allowance { limits, budget, cancel, pausable_deadline, caller_memory };
        let (authority, clock) = (plugin.authority.clone(), self.clock.clone());
        let nested = slot.is_none();
        admitted.slot = slot;
        Ok((
            GuestCallSetup { tool: target.to_owned(), allowance, imports: Box::new(imports), authority, clock, nested },
            admitted,
        ))
    }

    /// Ends a call: reports it, gives its slot back, and settles its budget.
    async fn end<'a, R: PayloadSize>(
        &self,
        plugin: &'a Arc<Plugin>,
        target: &'a str,
        mut admitted: AdmittedCall,
        outcome: GuestOutcome<R>,
    ) -> Result<GuestAnswer<'a, R>, CallError> {
        let GuestOutcome { result, cost, imports, spent_store } = outcome;
        if let Some(imports) = &imports {
            heavy_if_large(result.payload_bytes(), || (imports.context.principal.clone(), plugin.id().clone())).await;
        }
        admitted.finish(&result);
        if let Some(slot) = &admitted.slot {
            slot.release();
            if let Some(budget_source) = slot.budget_source() {
                budget_source.settle(cost.spent, cost.wall);
            }
        }
        if admitted.slot.is_some() {
            self.clean_up(plugin, spent_store);
        }
        match imports {
            Some(imports) => Ok(GuestAnswer { plugin, target, result, cost, imports }),
            None => Err(result.err().unwrap_or(CallError::Internal)),
        }
    }

    /// After a root call on an idle host: drops the store and creates the next instance in the background, so that neither
    /// this caller nor the next one waits for it.
    fn clean_up(&self, plugin: &Arc<Plugin>, spent_store: SpentStore) {
        if !self.idle.should_check() || !self.admission.slots.is_idle() {
            return;
        }
        let (plugin, clock, idle, ready_permits) =
            (plugin.clone(), self.clock.clone(), self.idle.clone(), self.ready_permits.clone());
        tokio::spawn(async move {
            let is_idle = idle.is_still_idle().await;
            drop(spent_store);
            // An instance opens granted directories when it is created, but a call must see those that exist when it begins.
            if !is_idle || !plugin.authority.mounts().is_empty() || !plugin.prepared.wants_ready() {
                return;
            }
            if let Ok(permit) = ready_permits.try_acquire_owned() {
                let limits = plugin.spec.limits.clone();
                let budget = Budget::root(&limits, clock.now());
                let pausable_deadline = PausableDeadline::new(clock.clone());
                let cancel = CancellationToken::new();
                let allowance = Allowance { limits, budget, cancel, pausable_deadline, caller_memory: 0 };
                plugin.prepared.make_ready(&plugin.authority, allowance, clock, permit).await;
            }
        });
    }
}

/// The circuit that a call's failure counts against.
fn circuit(target: &str, principal: &Principal, lineage: &Lineage) -> Circuit {
    Circuit { target: target.to_owned(), principal: principal.clone(), caller: lineage.caller().map(str::to_owned) }
}

/// A call's name in its lineage. That of an agent tool is the name by which plugins call it, so that cycles are found.
fn lineage_name(plugin: &PluginId, tool: &str) -> String {
    match plugin.side {
        Side::Server => format!("{}.{tool}", plugin.table()),
        Side::Agent => format!("{}.{tool}", plugin.name),
    }
}
