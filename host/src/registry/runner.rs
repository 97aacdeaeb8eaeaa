//! Running one call on a plugin, whoever asks: a client over MCP, another plugin, the command line.

use super::answer::{Finished, Usage, finish};
use super::idle::Idle;
use super::plugin::{Plugin, PluginTool};
use super::waiting::{Place, Waiting};
use crate::abi::{CallSetup, Ended, Remains};
use crate::clock::Clock;
use crate::engine::{Allowance, CallError, MAX_INSTANCES, MAX_WAITING, Standstill};
use crate::imports::{
    Abilities, Accounts, AgentTools, CallContext, CallCtx, CallSink, Client, ClientCalls, Connections, ToolCaller,
};
use crate::policy::{Budget, Lineage, PluginId, Side};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Root calls at once; further ones wait in line. The other half of the instances is for nested calls, so that root
/// calls can never starve the calls they wait for.
const ROOT_CALLS: usize = (MAX_INSTANCES / 2) as usize;

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
    /// Who answers questions.
    pub client: Arc<dyn ClientCalls>,
    /// Cancelled when nobody wants the result any more.
    pub cancel: CancellationToken,
    /// Set for a nested call.
    pub parent: Option<Parent>,
}

/// What a nested call inherits.
pub struct Parent {
    /// The chain down to and including the nested call.
    pub lineage: Lineage,
    /// What the caller has left.
    pub budget: Budget,
    /// Shared by the chain.
    pub standstill: Standstill,
    /// Memory the callers hold, in bytes.
    pub held: u64,
}

/// Runs calls.
pub struct Runner {
    clock: Arc<dyn Clock>,
    connections: Arc<dyn Connections>,
    roots: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    ready: Arc<Semaphore>,
    idle: Arc<Idle>,
}

impl Runner {
    /// On this clock, with these accounts.
    pub fn new(clock: Arc<dyn Clock>, connections: Arc<dyn Connections>) -> Self {
        Self {
            clock,
            connections,
            roots: Arc::new(Semaphore::new(ROOT_CALLS)),
            waiting: Arc::new(Semaphore::new(MAX_WAITING as usize)),
            ready: Arc::new(Semaphore::new(READY_INSTANCES)),
            idle: Arc::default(),
        }
    }

    /// Makes one call. `arguments` and `text` are the same JSON object.
    pub async fn call(
        &self,
        plugin: &Arc<Plugin>,
        tool: &PluginTool,
        arguments: &Value,
        text: String,
        request: CallRequest,
    ) -> Finished {
        let fail = |error| Finished { result: Err(error), usage: Usage::default(), lacked: Abilities::default() };
        if let Err(reason) = tool.input.check(arguments) {
            return fail(CallError::InvalidArguments { reason });
        }
        let limits = &plugin.spec.limits;
        let mut place = None;
        let (parent, client) = match request.parent {
            Some(Parent { lineage, budget, standstill, held }) => {
                let budget = budget.nested(limits, self.clock.now());
                (Parent { lineage: lineage.tightened(limits), budget, standstill, held }, request.client)
            }
            None => {
                self.idle.begin();
                let free = match self.roots.clone().try_acquire_owned() {
                    Ok(free) => free,
                    Err(_) => match tokio::time::timeout(limits.deadline, self.roots.clone().acquire_owned()).await {
                        Ok(Ok(free)) => free,
                        _ => return fail(CallError::Busy { limit: MAX_INSTANCES }),
                    },
                };
                let standstill = Standstill::new(self.clock.clone());
                let place = place.insert(Place::new(self.roots.clone(), free)).clone();
                let waiting = self.waiting.clone();
                let client = Waiting { client: request.client, place, standstill: standstill.clone(), waiting };
                let lineage = Lineage::root(lineage_name(plugin.id(), &tool.tool.name), limits);
                let budget = Budget::root(limits, self.clock.now());
                (Parent { lineage, budget, standstill, held: 0 }, Arc::new(client) as Arc<dyn ClientCalls>)
            }
        };
        let Parent { lineage, budget, standstill, held } = parent;
        let agent_tools = AgentTools::new(plugin.authority.clone(), lineage, request.agent);
        let accounts = Accounts::new(plugin.authority.clone(), limits, &request.context, self.connections.clone());
        let client = Client::new(plugin.authority.clone(), limits, client, accounts.clone());
        let call = CallCtx::new(request.context, limits, request.sink, agent_tools, client, accounts);
        let (limits, cancel) = (limits.clone(), request.cancel);
        let allowance = Allowance { limits, budget, cancel, standstill, held_above: held };
        let (authority, clock) = (plugin.authority.clone(), self.clock.clone());
        let setup = CallSetup { tool: tool.tool.name.clone(), allowance, call, authority, clock };
        let ended = plugin.prepared.call_tool(setup, tool.tool.name.clone(), text).await;
        if let Some(place) = &place {
            place.leave();
        }
        let Ended { result, cost, call, remains } = ended;
        if place.is_some() {
            self.tidy_up(plugin, remains);
        }
        match call {
            Some(call) => finish(plugin, tool, result, cost, call),
            None => Finished {
                result: result.and(Err(CallError::Internal)),
                usage: Usage::default(),
                lacked: Abilities::default(),
            },
        }
    }

    /// What is left to do after a root call: the caller need not wait for it when there is time to spare, and the next
    /// call can find its instance made.
    fn tidy_up(&self, plugin: &Arc<Plugin>, remains: Remains) {
        if !self.idle.worth_asking() || self.roots.available_permits() < ROOT_CALLS {
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
                let standstill = Standstill::new(clock.clone());
                let cancel = CancellationToken::new();
                let allowance = Allowance { limits, budget, cancel, standstill, held_above: 0 };
                plugin.prepared.make_ready(&plugin.authority, allowance, clock, slot).await;
            }
        });
    }
}

/// A tool's name in a chain of calls; an agent tool's is the name it is called by, so that cycles are seen.
fn lineage_name(plugin: &PluginId, tool: &str) -> String {
    match plugin.side {
        Side::Server => format!("{}.{tool}", plugin.table()),
        Side::Agent => format!("{}.{tool}", plugin.name),
    }
}
