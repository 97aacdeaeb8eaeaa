//! No agent side at all: for asking a component for its tools.

use crate::imports::{AgentError, ReverseCall, Tool, ToolCaller, ToolResult};
use crate::policy::Spent;
use async_trait::async_trait;

/// Knows no tool.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

#[async_trait]
impl ToolCaller for Nobody {
    fn tools(&self) -> Vec<Tool> {
        Vec::new()
    }

    async fn call(&self, call: ReverseCall) -> (Result<ToolResult, AgentError>, Spent) {
        (Err(AgentError::UnknownTool(call.name)), Spent::default())
    }
}
