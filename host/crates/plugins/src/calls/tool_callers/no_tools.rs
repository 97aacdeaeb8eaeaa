//! A tool caller without tools.

use async_trait::async_trait;
use policy::Origin;
use runtime::imports::{AgentError, AgentTool, ReverseCall, ReverseOutcome, ToolCaller};

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

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        ReverseOutcome::unasked(AgentError::UnknownTool(call.name))
    }
}
