//! A tool caller without tools.

use async_trait::async_trait;
use policy::{BudgetUsage, Origin};
use runtime::imports::{AgentError, AgentResult, AgentTool, ReverseCall, ToolCaller};

/// For calls that must not reach any agent-side tool, such as asking a component what it offers.
#[derive(Debug, Clone, Copy)]
pub struct NoTools;

#[async_trait]
impl ToolCaller for NoTools {
    fn tools(&self) -> Vec<AgentTool> {
        Vec::new()
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        Err(AgentError::UnknownTool(name.to_owned()))
    }

    async fn call(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, BudgetUsage) {
        (Err(AgentError::UnknownTool(call.name)), BudgetUsage::default())
    }
}
