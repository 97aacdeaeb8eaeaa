//! No agent side at all: for asking a component for its tools.

use async_trait::async_trait;
use policy::{Origin, Spent};
use runtime::imports::{AgentError, AgentResult, AgentTool, ReverseCall, ToolCaller};

/// Knows no tool.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

#[async_trait]
impl ToolCaller for Nobody {
    fn tools(&self) -> Vec<AgentTool> {
        Vec::new()
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        Err(AgentError::UnknownTool(name.to_owned()))
    }

    async fn call(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, Spent) {
        (Err(AgentError::UnknownTool(call.name)), Spent::default())
    }
}
