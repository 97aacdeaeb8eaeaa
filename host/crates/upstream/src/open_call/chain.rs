//! Names the chain of reverse calls when a server's reverse call leads back to that same server.

use async_trait::async_trait;
use policy::Origin;
use runtime::imports::{AgentError, AgentTool, ReverseCall, ReverseOutcome, ToolCaller};
use std::sync::Arc;

tokio::task_local! {
    /// Set while a reverse call of a server calls that same server: the server's name and its name for the chain.
    static REVERSE_CHAIN: (String, String);
}

/// The name of the chain, if what calls `server` is a reverse call of that same server.
pub(crate) fn chain_with(server: &str) -> Option<String> {
    REVERSE_CHAIN.try_with(|(of, chain)| (of == server).then(|| chain.clone())).ok().flatten()
}

/// The agent's tools for a reverse call of `server`. Calls that go back to `server` carry its name for the chain.
pub(crate) struct ChainedTools {
    pub(crate) inner: Arc<dyn ToolCaller>,
    pub(crate) server: String,
    pub(crate) chain: String,
}

#[async_trait]
impl ToolCaller for ChainedTools {
    fn tools(&self) -> Vec<AgentTool> {
        self.inner.tools()
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        self.inner.find(name)
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        let goes_back = call.name.strip_prefix(&self.server).is_some_and(|rest| rest.starts_with('.'));
        match goes_back {
            true => {
                let chain = (self.server.clone(), self.chain.clone());
                REVERSE_CHAIN.scope(chain, self.inner.call(call)).await
            }
            false => self.inner.call(call).await,
        }
    }
}
