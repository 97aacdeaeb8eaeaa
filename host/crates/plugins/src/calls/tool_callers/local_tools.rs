//! The lane `local`: agent-side tools that are components of this host, each under its own grants.

use crate::calls::answers::answer::Answer;
use crate::calls::request::{CallParent, CallRequest, Inherited};
use crate::calls::runner::Runner;
use crate::catalog::{CurrentCatalog, Plugin};
use crate::offer::PluginTool;
use async_trait::async_trait;
use policy::{Budget, Origin};
use runtime::engine::CallError;
use runtime::imports::{
    AgentError, AgentResult, AgentTool, BudgetKind, ClientLink, Exhaustion, ReverseCall, ReverseOutcome, Tool,
    ToolCaller, ToolResult,
};
use runtime::journal::Repeat;
use std::sync::Arc;

/// Calls tools of the catalog's agent-side plugins.
#[derive(Clone)]
pub struct LocalTools {
    runner: Arc<Runner>,
    catalog: Arc<CurrentCatalog>,
}

impl LocalTools {
    pub fn new(runner: Arc<Runner>, catalog: Arc<CurrentCatalog>) -> Self {
        Self { runner, catalog }
    }
}

#[async_trait]
impl ToolCaller for LocalTools {
    fn tools(&self) -> Vec<AgentTool> {
        self.catalog.snapshot().agent_plugins().iter().flat_map(tools_of).collect()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.catalog.snapshot().agent_tool(name).map(|(_, tool)| tool.tool.clone())
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        let catalog = self.catalog.snapshot();
        match catalog.agent_tool(name) {
            Some((plugin, _)) => Ok(Origin::Component(plugin.id().name.to_string())),
            None => Err(AgentError::UnknownTool(name.to_owned())),
        }
    }

    /// A call that another instance takes up does nothing twice.
    fn again(&self, _name: &str, _begun: Option<Repeat>) -> Repeat {
        Repeat::Safe
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        call.lane.take("local");
        let catalog = self.catalog.snapshot();
        match catalog.agent_tool(&call.name) {
            Some((plugin, tool)) => run(&self.runner, plugin, tool, call).await,
            None => ReverseOutcome::unasked(AgentError::UnknownTool(call.name)),
        }
    }
}

/// The tools of a component, as other plugins know them.
pub(in crate::calls) fn tools_of(plugin: &Arc<Plugin>) -> impl Iterator<Item = AgentTool> {
    plugin.tools.iter().map(|tool| AgentTool {
        tool: Tool { name: format!("{}.{}", plugin.id().name, tool.tool.name), ..tool.tool.clone() },
        origin: Origin::Component(plugin.id().name.to_string()),
    })
}

/// Runs a tool of a component within the call that calls it.
pub(in crate::calls) async fn run(
    runner: &Runner,
    plugin: &Arc<Plugin>,
    tool: &Arc<PluginTool>,
    call: ReverseCall,
) -> ReverseOutcome {
    let ReverseCall { arguments, lineage, budget, pausable_clock, tree_fuel, held, .. } = call;
    let request = CallRequest {
        context: call.context,
        link: ClientLink {
            sink: call.sink,
            client: call.client,
            agent: call.agent,
            steering: None,
            cancel: call.cancel,
            held,
            fuel: None,
        },
        parent: Some(CallParent::Host(Inherited { lineage, budget, pausable_clock, tree_fuel })),
        journal: call.journal,
    };
    let finished = runner.call_tool(plugin.clone(), tool.clone(), arguments, request).await;
    let origin = Origin::Component(plugin.id().name.to_string());
    let private = plugin.spec.private.then(|| origin.clone());
    let answer = match finished.result {
        Ok(answer) if answer.is_error => Err(AgentError::ToolError(to_tool_result(answer))),
        Ok(answer) => Ok(AgentResult {
            content: answer.content,
            structured: answer.structured.map(|structured| structured.text),
            origin,
            edited: None,
        }),
        Err(error) => Err(to_agent_error(error, &budget)),
    };
    ReverseOutcome { private, spent: finished.usage.spent, ..ReverseOutcome::free(answer) }
}

fn to_tool_result(answer: Answer) -> ToolResult {
    ToolResult { content: answer.content, structured: answer.structured.map(|s| s.text), is_error: answer.is_error }
}

/// The error for the caller. A limit inherited from the caller is typed as such; one of the tool's own configuration is a
/// failure of the tool.
fn to_agent_error(error: CallError, inherited: &Budget) -> AgentError {
    let exhausted = |budget, limit| AgentError::Exhausted(Exhaustion { budget, limit });
    match error {
        CallError::FuelExhausted { limit, .. } if inherited.fuel == Some(limit) => exhausted(BudgetKind::Fuel, limit),
        CallError::CpuExhausted { limit, .. } if inherited.cpu == Some(limit) => {
            exhausted(BudgetKind::Cpu, u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
        }
        CallError::DeadlineExceeded { limit } => {
            AgentError::Timeout(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
        }
        CallError::Lineage(error) => error.into(),
        CallError::InvalidArguments { reason } => AgentError::InvalidArguments(reason),
        CallError::Cancelled => AgentError::Cancelled,
        other => AgentError::Failed(other.to_string()),
    }
}
