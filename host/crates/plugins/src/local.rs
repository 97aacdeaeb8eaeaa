//! Lane `local`: agent-side tools are components in this host, each under its own grants.

use crate::registry::{Answer, CallRequest, CurrentCatalog, Parent, Plugin, Runner};
use async_trait::async_trait;
use policy::{Budget, Origin, Spent};
use runtime::engine::CallError;
use runtime::imports::{
    AgentError, AgentResult, AgentTool, Budgeted, Exhaustion, ReverseCall, Steering, Tool, ToolCaller, ToolResult,
};
use serde_json::Value;
use std::sync::Arc;

/// The catalog's agent-side plugins. Clones are the same agent.
#[derive(Clone)]
pub struct LocalAgent {
    runner: Arc<Runner>,
    catalog: Arc<CurrentCatalog>,
}

impl LocalAgent {
    /// Of the plugins that this catalog has at the moment of a call.
    pub fn new(runner: Arc<Runner>, catalog: Arc<CurrentCatalog>) -> Self {
        Self { runner, catalog }
    }
}

#[async_trait]
impl ToolCaller for LocalAgent {
    fn tools(&self) -> Vec<AgentTool> {
        let named = |plugin: &Arc<Plugin>, tool: &Tool| AgentTool {
            tool: Tool { name: format!("{}.{}", plugin.id().name, tool.name), ..tool.clone() },
            origin: Origin::Component(plugin.id().name.clone()),
        };
        let catalog = self.catalog.now();
        let agents = catalog.agents().iter();
        agents.flat_map(|plugin| plugin.tools.iter().map(move |tool| named(plugin, &tool.tool))).collect()
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        let catalog = self.catalog.now();
        match catalog.agent_tool(name) {
            Some((plugin, _)) => Ok(Origin::Component(plugin.id().name.clone())),
            None => Err(AgentError::UnknownTool(name.to_owned())),
        }
    }

    async fn call(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, Spent) {
        call.lane.take("local");
        let free = |error| (Err(error), Spent::default());
        let catalog = self.catalog.now();
        let Some((plugin, tool)) = catalog.agent_tool(&call.name) else {
            return free(AgentError::UnknownTool(call.name));
        };
        let arguments: Value = match serde_json::from_str(&call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => return free(AgentError::InvalidArguments(format!("they are not JSON: {error}"))),
        };
        let (budget, pausable_deadline) = (call.budget, call.pausable_deadline);
        let request = CallRequest {
            context: call.context,
            sink: call.sink,
            agent: call.agent,
            steering: Steering::default(),
            client: call.client,
            cancel: call.cancel,
            parent: Some(Parent::Here { lineage: call.lineage, budget, pausable_deadline, held: call.held }),
        };
        let finished = self.runner.call(plugin, tool, &arguments, call.arguments, request).await;
        let result = match finished.result {
            Ok(answer) if answer.is_error => Err(AgentError::ToolError(to_result(answer))),
            Ok(answer) => Ok(AgentResult {
                content: answer.content,
                structured: answer.structured.map(|structured| structured.text),
                origin: Origin::Component(plugin.id().name.clone()),
                private: plugin.spec.private,
                edited: None,
            }),
            Err(error) => Err(to_agent_error(error, &budget)),
        };
        (result, finished.usage.spent)
    }
}

fn to_result(answer: Answer) -> ToolResult {
    ToolResult { content: answer.content, structured: answer.structured.map(|s| s.text), is_error: answer.is_error }
}

/// What the caller is told. A ceiling that the chain imposed is the caller's own business and typed as such; one that
/// the tool's operator set is a failure of the tool.
fn to_agent_error(error: CallError, inherited: &Budget) -> AgentError {
    let exhausted = |budget, limit| AgentError::Exhausted(Exhaustion { budget, limit });
    match error {
        CallError::FuelExhausted { limit, .. } if inherited.fuel == Some(limit) => exhausted(Budgeted::Fuel, limit),
        CallError::CpuExhausted { limit, .. } if inherited.cpu == Some(limit) => {
            exhausted(Budgeted::Cpu, u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
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
