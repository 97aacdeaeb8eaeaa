//! Running one call on a plugin, whoever asks: a client over MCP, another plugin, the command line.

use super::answer::{Finished, Given, Usage, tool_answer};
use super::idle::Idle;
use super::plugin::{Plugin, PluginTool};
use super::provided::{self, Pieces};
use crate::abi::{CallSetup, Ended, Remains};
use crate::clock::Clock;
use crate::engine::{Allowance, CallError, MAX_INSTANCES};
use crate::imports::{
    AgentTools, CallContext, CallCtx, CallSink, Completion, CompletionQuery, PromptResult, ToolCaller,
};
use crate::policy::{Budget, Lineage, PluginId, Side};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};
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
}

impl Runner {
    /// On this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            roots: Semaphore::new(ROOT_CALLS),
            ready: Arc::new(Semaphore::new(READY_INSTANCES)),
            idle: Arc::default(),
        }
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
        if let Err(reason) = tool.input.check(arguments) {
            return Finished::not_begun(CallError::InvalidArguments { reason });
        }
        let name = &tool.tool.name;
        let (setup, slot) = match self.begin(plugin, name, request).await {
            Ok(begun) => begun,
            Err(error) => return Finished::not_begun(error),
        };
        let ended = plugin.prepared.call_tool(setup, name.clone(), text).await;
        match self.end(plugin, name, slot, ended) {
            Ok(given) => given.finish(tool_answer(tool)),
            Err(error) => Finished::not_begun(error),
        }
    }

    /// Reads a resource that the plugin answers for.
    pub async fn read(&self, plugin: &Arc<Plugin>, uri: &str, request: CallRequest) -> Finished<Pieces> {
        let (setup, slot) = match self.begin(plugin, "read-resource", request).await {
            Ok(begun) => begun,
            Err(error) => return Finished::not_begun(error),
        };
        let ended = plugin.prepared.read_resource(setup, uri.to_owned()).await;
        match self.end(plugin, "read-resource", slot, ended) {
            Ok(given) => given.finish(provided::pieces(uri)),
            Err(error) => Finished::not_begun(error),
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
        let (setup, slot) = match self.begin(plugin, "get-prompt", request).await {
            Ok(begun) => begun,
            Err(error) => return Finished::not_begun(error),
        };
        let ended = plugin.prepared.get_prompt(setup, name.to_owned(), arguments).await;
        match self.end(plugin, "get-prompt", slot, ended) {
            Ok(given) => given.finish(provided::prompt),
            Err(error) => Finished::not_begun(error),
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
            return Finished { result: Ok(Completion::default()), usage: Usage::default() };
        }
        let (setup, slot) = match self.begin(plugin, "complete", request).await {
            Ok(begun) => begun,
            Err(error) => return Finished::not_begun(error),
        };
        let ended = plugin.prepared.complete(setup, query).await;
        match self.end(plugin, "complete", slot, ended) {
            Ok(given) => given.finish(provided::suggestions),
            Err(error) => Finished::not_begun(error),
        }
    }

    /// What every call begins with: its place in line, what it may use and what it may ask for.
    async fn begin(
        &self,
        plugin: &Arc<Plugin>,
        called: &str,
        request: CallRequest,
    ) -> Result<(CallSetup, Option<SemaphorePermit<'_>>), CallError> {
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
                        _ => return Err(CallError::Busy { limit: MAX_INSTANCES }),
                    },
                };
                (Lineage::root(lineage_name(plugin.id(), called), limits), Budget::root(limits, self.clock.now()))
            }
        };
        let agent_tools = AgentTools::new(plugin.authority.clone(), lineage, request.agent);
        let call = CallCtx::new(request.context, limits, request.sink, agent_tools);
        let allowance = Allowance { limits: limits.clone(), budget, cancel: request.cancel };
        let (authority, clock) = (plugin.authority.clone(), self.clock.clone());
        Ok((CallSetup { tool: called.to_owned(), allowance, call, authority, clock }, slot))
    }

    /// What every call ends with, whatever came of it.
    fn end<'a, R>(
        &self,
        plugin: &'a Arc<Plugin>,
        called: &'a str,
        slot: Option<SemaphorePermit<'_>>,
        ended: Ended<R>,
    ) -> Result<Given<'a, R>, CallError> {
        let root = slot.is_some();
        drop(slot);
        let Ended { result, cost, call, remains } = ended;
        if root {
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

/// A call's name in a chain of calls; an agent tool's is the name it is called by, so that cycles are seen.
fn lineage_name(plugin: &PluginId, tool: &str) -> String {
    match plugin.side {
        Side::Server => format!("{}.{tool}", plugin.table()),
        Side::Agent => format!("{}.{tool}", plugin.name),
    }
}
