//! Gives a call only the host's own tools, if its client declared no tools and cannot be asked anything.

use async_trait::async_trait;
use protocol::names::CLIENT_TOOLS;
use runtime::imports::{AgentError, AgentTool, Origin, ReverseCall, ReverseOutcome, Tool, ToolCaller};
use std::sync::Arc;

pub(crate) struct HostToolsOnly(pub(crate) Arc<dyn ToolCaller>);

#[async_trait]
impl ToolCaller for HostToolsOnly {
    fn tools(&self) -> Vec<AgentTool> {
        self.0.tools()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.0.tool(name)
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        match self.0.find(name) {
            Err(AgentError::UnknownTool(_)) => Err(undeclared_error(name)),
            found => found,
        }
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        self.0.call(call).await
    }

    fn lacks_declaration(&self) -> bool {
        true
    }
}

/// The error for a tool that the host does not have, if the client declared none.
pub(super) fn undeclared_error(name: &str) -> AgentError {
    AgentError::NotSupported(format!(
        "this host has no tool `{name}`, and the client of this call has declared none of its own, as clients can with the \
         extension `{CLIENT_TOOLS}`"
    ))
}
