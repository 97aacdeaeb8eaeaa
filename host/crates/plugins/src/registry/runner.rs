//! Running one call on a plugin, whoever asks: a client over MCP, another plugin, the command line.

use super::answer::{Finished, Given, Measured, tool_answer};
use super::breaker::Circuit;
use super::gate::{self, Admitted, Gate};
use super::idle::Idle;
use super::plugin::{Plugin, PluginTool};
use super::provided::{self, Pieces};
use super::scratch;
use super::waiting::{Place, Waiting};
use super::witness::{Eyes, Witness, scope};
use platform::audit::Audit;
use platform::clock::Clock;
use platform::telemetry::{Levels, Tracer};
use policy::{Budget, Lineage, PluginId, Principal, PrincipalLimits, Side, Spent};
use runtime::abi::{CallSetup, Ended, Remains};
use runtime::engine::{Allowance, CallError, MAX_WAITING, PausableDeadline, heavy_if_large};
use runtime::imports::{
    Accounts, AgentTools, CallContext, CallCtx, CallSink, Client, ClientCalls, Completion, CompletionQuery,
    Connections, Egress, Keepers, ModelProvider, NoEgress, Permit, PromptResult, Steering, ToolCaller,
};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Instances made ahead of their calls, over all plugins. Bounds the memory of an idle host.
const READY_INSTANCES: usize = 16;

/// A call to be made.
pub struct CallRequest {
    /// What the guest is told.
    pub context: CallContext,
    /// Where chunks and progress go.
    pub sink: Arc<dyn CallSink>,
    /// Who answers reverse calls.
    pub agent: Arc<dyn ToolCaller>,
    /// What is said to it while it runs.
    pub steering: Steering,
    /// Who answers questions.
    pub client: Arc<dyn ClientCalls>,
    /// Cancelled when nobody wants the result any more.
    pub cancel: CancellationToken,
    /// Set for a nested call.
    pub parent: Option<Parent>,
}

/// What a call inherits from the one that it belongs to.
pub enum Parent {
    /// Nested in a call of this host.
    Here {
        /// The chain down to and including the nested call.
        lineage: Lineage,
        /// What the caller has left.
        budget: Budget,
        /// Shared by the chain.
        pausable_deadline: PausableDeadline,
        /// Memory the callers hold, in bytes.
        held: u64,
    },
    /// Made by a tool outside that a call of this host called: it has a client, a place among the root calls and waiting
    /// of its own.
    Outside {
        /// The chain down to that tool.
        lineage: Lineage,
        /// What it may use, and who is told what it used.
        purse: Arc<dyn Purse>,
    },
}

/// Pays for a call that came back from outside.
pub trait Purse: Send + Sync {
    /// It begins, and may use this.
    fn take(&self, now: Instant) -> Budget;
    /// It is over, and has used this. A call that was dropped settles nothing, and has used all.
    fn settle(&self, spent: Spent, time: Duration);
}

/// Runs calls.
pub struct Runner {
    clock: Arc<dyn Clock>,
    connections: Arc<dyn Connections>,
    gate: Gate,
    waiting: Arc<Semaphore>,
    ready: Arc<Semaphore>,
    idle: Arc<Idle>,
    keepers: Keepers,
    model: Option<Arc<dyn ModelProvider>>,
    egress: Arc<dyn Egress>,
    audit: Audit,
    tracer: Tracer,
}

impl Runner {
    /// On this clock, with these accounts; what calls leave behind goes to `keepers`.
    pub fn new(clock: Arc<dyn Clock>, keepers: Keepers, connections: Arc<dyn Connections>) -> Self {
        Self {
            gate: Gate::new(clock.clone(), PrincipalLimits::default()),
            clock,
            connections,
            waiting: Arc::new(Semaphore::new(MAX_WAITING as usize)),
            ready: Arc::new(Semaphore::new(READY_INSTANCES)),
            idle: Arc::default(),
            keepers,
            model: None,
            egress: Arc::new(NoEgress),
            audit: Audit::none(),
            tracer: Tracer::default(),
        }
    }

    /// With a model that answers plugins whose clients have none.
    pub fn with_model(mut self, model: Option<Arc<dyn ModelProvider>>) -> Self {
        self.model = model;
        self
    }

    /// With these limits on what one principal may have at a time.
    pub fn sharing(mut self, limits: PrincipalLimits) -> Self {
        self.gate = Gate::new(self.clock.clone(), limits);
        self
    }

    /// With a way to other servers.
    pub fn with_egress(mut self, egress: Arc<dyn Egress>) -> Self {
        self.egress = egress;
        self
    }

    /// With records of what is decided.
    pub fn recorded_by(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }

    /// With spans of what calls do.
    pub fn traced_by(mut self, tracer: Tracer) -> Self {
        self.tracer = tracer;
        self
    }

    /// Who makes spans.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Brings up to date how many calls there are.
    pub fn count(&self, levels: &Levels) {
        let taken = |all: usize, places: &Semaphore| {
            i64::try_from(all.saturating_sub(places.available_permits())).unwrap_or(i64::MAX)
        };
        levels.root_calls.set(self.gate.places.taken().into());
        levels.waiting_calls.set(taken(MAX_WAITING as usize, &self.waiting));
        levels.ready_instances.set(taken(READY_INSTANCES, &self.ready));
    }

    /// Where decisions are recorded.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Counts a call that runs elsewhere against its principal's rate.
    pub(super) fn rated(&self, principal: &Principal) -> Result<(), CallError> {
        self.gate.rated(principal)
    }

    /// The time that calls run by.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// Calls a tool. `arguments` and `text` are the same JSON object.
    pub async fn call(
        &self,
        plugin: &Arc<Plugin>,
        tool: &PluginTool,
        arguments: &Value,
        text: String,
        request: CallRequest,
    ) -> Finished {
        let name = &tool.tool.name;
        let witness = self.witness(plugin, name, &request, Some(&text));
        if let Err(reason) = tool.input.check(arguments) {
            return witness.refused(CallError::InvalidArguments { reason });
        }
        let (setup, admitted) = match self.begin(plugin, name, request, &witness).await {
            Ok(begun) => begun,
            Err(error) => return witness.refused(error),
        };
        let ended = plugin.prepared.call_tool(setup, name.clone(), text).await;
        match self.end(plugin, name, admitted, ended).await {
            Ok(given) => witness.saw(given.finish(tool_answer(tool)), |answer| answer.is_error),
            Err(error) => witness.refused(error),
        }
    }

    /// Reads a resource that the plugin answers for.
    pub async fn read(&self, plugin: &Arc<Plugin>, uri: &str, request: CallRequest) -> Finished<Pieces> {
        let witness = self.witness(plugin, "read-resource", &request, None);
        let (setup, admitted) = match self.begin(plugin, "read-resource", request, &witness).await {
            Ok(begun) => begun,
            Err(error) => return witness.refused(error),
        };
        let ended = plugin.prepared.read_resource(setup, uri.to_owned()).await;
        match self.end(plugin, "read-resource", admitted, ended).await {
            Ok(given) => witness.saw(given.finish(provided::pieces(uri)), |_| false),
            Err(error) => witness.refused(error),
        }
    }

    /// Fills in one of the plugin's prompts. The arguments are checked already.
    pub async fn prompt(
        &self,
        plugin: &Arc<Plugin>,
        name: &str,
        arguments: Vec<(String, String)>,
        request: CallRequest,
    ) -> Finished<PromptResult> {
        let witness = self.witness(plugin, "get-prompt", &request, None);
        let (setup, admitted) = match self.begin(plugin, "get-prompt", request, &witness).await {
            Ok(begun) => begun,
            Err(error) => return witness.refused(error),
        };
        let ended = plugin.prepared.get_prompt(setup, name.to_owned(), arguments).await;
        match self.end(plugin, "get-prompt", admitted, ended).await {
            Ok(given) => witness.saw(given.finish(provided::prompt), |_| false),
            Err(error) => witness.refused(error),
        }
    }

    /// Asks the plugin for suggestions; one that has none to give is not even started.
    pub async fn complete(
        &self,
        plugin: &Arc<Plugin>,
        query: CompletionQuery,
        request: CallRequest,
    ) -> Finished<Completion> {
        if !plugin.completes {
            return Finished::not_begun(Ok(Completion::default()));
        }
        let witness = self.witness(plugin, "complete", &request, None);
        let (setup, admitted) = match self.begin(plugin, "complete", request, &witness).await {
            Ok(begun) => begun,
            Err(error) => return witness.refused(error),
        };
        let ended = plugin.prepared.complete(setup, query).await;
        match self.end(plugin, "complete", admitted, ended).await {
            Ok(given) => witness.saw(given.finish(provided::suggestions), |_| false),
            Err(error) => witness.refused(error),
        }
    }

    fn witness(&self, plugin: &Plugin, called: &str, request: &CallRequest, arguments: Option<&str>) -> Witness {
        let scope = scope(&request.context, plugin.id(), Some(&plugin.digest));
        let (meter, above) = (Some(plugin.meter.clone()), request.context.traceparent.as_deref());
        Witness::of(&self.audit, scope, called, arguments, Eyes { meter, tracer: &self.tracer, above })
    }

    /// What every call begins with: its place in line, what it may use and what it may ask for.
    async fn begin(
        &self,
        plugin: &Arc<Plugin>,
        called: &str,
        mut request: CallRequest,
        witness: &Witness,
    ) -> Result<(CallSetup, Admitted), CallError> {
        if self.audit.refuses_calls() {
            return Err(CallError::Unrecorded);
        }
        scratch::admit(&plugin.authority, plugin.room.as_ref()).await?;
        if let Some(inside) = witness.traceparent() {
            request.context.traceparent = Some(inside);
        }
        let limits = &plugin.spec.limits;
        let principal = &request.context.principal;
        let mut place = None;
        let mut admitted;
        let ((lineage, budget, pausable_deadline, held), client) = match request.parent {
            Some(Parent::Here { lineage, budget, pausable_deadline, held }) => {
                let circuit = circuit(called, principal, &lineage);
                self.gate.look(plugin, &circuit, false)?;
                admitted = self.gate.admit(plugin, circuit)?;
                let budget = budget.nested(limits, self.clock.now());
                ((lineage.tightened(limits), budget, pausable_deadline, held), request.client)
            }
            outer => {
                let name = lineage_name(plugin.id(), called);
                let (lineage, purse) = match outer {
                    Some(Parent::Outside { lineage, purse }) => {
                        let lineage = lineage.descend(&name, 0).map_err(CallError::Lineage)?;
                        (lineage.tightened(limits), Some(purse))
                    }
                    _ => (Lineage::root(name, limits), None),
                };
                self.idle.begin();
                let circuit = circuit(called, principal, &lineage);
                self.gate.look(plugin, &circuit, true)?;
                let slot_request = gate::slot_request(plugin, principal);
                let held = self.gate.place(&slot_request, limits.deadline, &request.cancel).await?;
                // It may have failed for others while this one waited.
                admitted = self.gate.admit(plugin, circuit)?;
                let now = self.clock.now();
                let left = purse.as_ref().map(|purse| purse.take(now));
                let budget = left.map_or_else(|| Budget::root(limits, now), |left| left.nested(limits, now));
                let pausable_deadline = PausableDeadline::new(self.clock.clone());
                let place = place.insert(Place::new(self.gate.places.clone(), slot_request, held, purse)).clone();
                let (waiting, model) = (self.waiting.clone(), self.model.clone());
                let client = Waiting { client: request.client, model, place, pausable_deadline: pausable_deadline.clone(), waiting };
                ((lineage, budget, pausable_deadline, 0), Arc::new(client) as Arc<dyn ClientCalls>)
            }
        };
        let permit = Permit::new(plugin.authority.clone(), witness.trail().clone());
        let (lines, connections) = (lineage.clone(), self.connections.clone());
        let accounts = Accounts::new(permit.clone(), limits, &request.context, lines, connections);
        let client = Client::new(permit.clone(), limits, client, accounts.clone());
        let agent_tools = AgentTools::new(permit, lineage, request.agent).waiting_at_most(limits.answer);
        let call = CallCtx::new(request.context, limits, request.sink, agent_tools, client, accounts)
            .sending_by(self.egress.clone())
            .steered_by(request.steering)
            .at_home_in(plugin.room.as_ref())
            .keep_with(&self.keepers);
        let (limits, cancel) = (limits.clone(), request.cancel);
        let allowance = Allowance { limits, budget, cancel, pausable_deadline, held_above: held };
        let (authority, clock) = (plugin.authority.clone(), self.clock.clone());
        let nested = place.is_none();
        admitted.place = place;
        Ok((CallSetup { tool: called.to_owned(), allowance, call: Box::new(call), authority, clock, nested }, admitted))
    }

    /// What every call ends with, whatever came of it.
    async fn end<'a, R: Measured>(
        &self,
        plugin: &'a Arc<Plugin>,
        called: &'a str,
        mut admitted: Admitted,
        ended: Ended<R>,
    ) -> Result<Given<'a, R>, CallError> {
        let Ended { result, cost, call, remains } = ended;
        if let Some(call) = &call {
            heavy_if_large(result.bytes(), || (call.context.principal.clone(), plugin.id().clone())).await;
        }
        admitted.ended(&result);
        if let Some(place) = &admitted.place {
            place.leave();
            if let Some(purse) = place.purse() {
                purse.settle(cost.spent, cost.wall);
            }
        }
        if admitted.place.is_some() {
            self.tidy_up(plugin, remains);
        }
        match call {
            Some(call) => Ok(Given { plugin, called, result, cost, call }),
            None => Err(result.err().unwrap_or(CallError::Internal)),
        }
    }

    /// What is left to do after a root call: the caller need not wait for it when there is time to spare, and the next
    /// call can find its instance made.
    fn tidy_up(&self, plugin: &Arc<Plugin>, remains: Remains) {
        if !self.idle.worth_asking() || !self.gate.places.is_idle() {
            return;
        }
        let (plugin, clock, idle, ready) = (plugin.clone(), self.clock.clone(), self.idle.clone(), self.ready.clone());
        tokio::spawn(async move {
            let idle = idle.lasts().await;
            drop(remains);
            // A granted directory is opened when the instance is made, and must be the one that is there when it is called.
            if !idle || !plugin.authority.mounts().is_empty() || !plugin.prepared.wants_ready() {
                return;
            }
            if let Ok(slot) = ready.try_acquire_owned() {
                let limits = plugin.spec.limits.clone();
                let budget = Budget::root(&limits, clock.now());
                let pausable_deadline = PausableDeadline::new(clock.clone());
                let cancel = CancellationToken::new();
                let allowance = Allowance { limits, budget, cancel, pausable_deadline, held_above: 0 };
                plugin.prepared.make_ready(&plugin.authority, allowance, clock, slot).await;
            }
        });
    }
}

/// What a call's failure would be held against.
fn circuit(called: &str, principal: &Principal, lineage: &Lineage) -> Circuit {
    Circuit { called: called.to_owned(), principal: principal.clone(), by: lineage.above().map(str::to_owned) }
}

/// A call's name in a chain of calls; an agent tool's is the name it is called by, so that cycles are seen.
fn lineage_name(plugin: &PluginId, tool: &str) -> String {
    match plugin.side {
        Side::Server => format!("{}.{tool}", plugin.table()),
        Side::Agent => format!("{}.{tool}", plugin.name),
    }
}
