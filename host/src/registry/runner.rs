//! Running one call on a plugin, whoever asks: a client over MCP, another plugin, the command line.

use super::answer::{Finished, Usage, finish};
use super::idle::Idle;
use super::plugin::{Plugin, PluginTool};
use crate::abi::{CallSetup, Ended, Remains};
use crate::clock::Clock;
use crate::engine::{Allowance, CallError, MAX_INSTANCES};
use crate::imports::{AgentTools, CallContext, CallCtx, CallSink, Keepers, ToolCaller};
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
    /// Cancelled when nobody wants the result any more.
    pub cancel: CancellationToken,
    /// Set for a nested call: its chain, and what its parent has left.
    pub parent: Option<(Lineage, Budget)>,
}

/// Runs calls.
pub struct Runner {
    clock: Arc<dyn Clock>,
    roots: Semaphore,
    ready: Arc<Semaphore>,
    idle: Arc<Idle>,
    keepers: Keepers,
}

impl Runner {
    /// On this clock; what calls leave behind goes to `keepers`.
    pub fn new(clock: Arc<dyn Clock>, keepers: Keepers) -> Self {
        Self {
            clock,
            roots: Semaphore::new(ROOT_CALLS),
            ready: Arc::new(Semaphore::new(READY_INSTANCES)),
            idle: Arc::default(),
            keepers,
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
        let fail = |error| Finished { result: Err(error), usage: Usage::default() };
        if let Err(reason) = tool.input.check(arguments) {
            return fail(CallError::InvalidArguments { reason });
        }
        let limits = &plugin.spec.limits;
        let mut slot = None;
        let (lineage, budget) = match request.parent {
            Some((lineage, parent)) => (lineage.tightened(limits), parent.nested(limits, self.clock.now())),
            None => {
                self.idle.begin();
                slot = match self.roots.try_acquire() {
                    Ok(free) => Some(free),
                    Err(_) => match tokio::time::timeout(limits.deadline, self.roots.acquire()).await {
                        Ok(Ok(free)) => Some(free),
                        _ => return fail(CallError::Busy { limit: MAX_INSTANCES }),
                    },
                };
                (
                    Lineage::root(lineage_name(plugin.id(), &tool.tool.name), limits),
                    Budget::root(limits, self.clock.now()),
                )
            }
        };
        let root = slot.is_some();
        let agent_tools = AgentTools::new(plugin.authority.clone(), lineage, request.agent);
        let call = CallCtx::new(request.context, limits, request.sink, agent_tools).keep_with(&self.keepers);
        let allowance = Allowance { limits: limits.clone(), budget, cancel: request.cancel };
        let (authority, clock) = (plugin.authority.clone(), self.clock.clone());
        let setup = CallSetup { tool: tool.tool.name.clone(), allowance, call, authority, clock };
        let ended = plugin.prepared.call_tool(setup, tool.tool.name.clone(), text).await;
        drop(slot);
        let Ended { result, cost, call, remains } = ended;
        if root {
            self.tidy_up(plugin, remains);
        }
        match call {
            Some(call) => finish(plugin, tool, result, cost, call),
            None => Finished { result: result.and(Err(CallError::Internal)), usage: Usage::default() },
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
                let allowance = Allowance { limits, budget, cancel: CancellationToken::new() };
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
