//! Several tool callers as one.

use async_trait::async_trait;
use platform::sync::RwLock;
use policy::Origin;
use runtime::imports::{AgentError, AgentTool, ReverseCall, ReverseOutcome, Tool, ToolCaller};
use runtime::journal::Repeat;
use std::sync::Arc;

/// Tries its callers in order; the first that knows a tool runs it. Callers can be added later, because an upstream server
/// may call tools of other upstream servers.
#[derive(Default)]
pub struct ToolCallerChain(RwLock<Vec<Arc<dyn ToolCaller>>>);

impl ToolCallerChain {
    pub fn new(callers: Vec<Arc<dyn ToolCaller>>) -> Self {
        Self(RwLock::new(callers))
    }

    pub fn add(&self, caller: Arc<dyn ToolCaller>) {
        self.0.write().push(caller);
    }

    fn all(&self) -> Vec<Arc<dyn ToolCaller>> {
        self.0.read().clone()
    }

    /// The caller that knows the tool; otherwise the most specific error.
    fn find_caller(&self, name: &str) -> Result<(Arc<dyn ToolCaller>, Origin), AgentError> {
        let mut reason = AgentError::UnknownTool(name.to_owned());
        for caller in self.all() {
            match caller.find(name) {
                Ok(origin) => return Ok((caller, origin)),
                Err(AgentError::UnknownTool(_)) => {}
                Err(error) => reason = error,
            }
        }
        Err(reason)
    }
}

#[async_trait]
impl ToolCaller for ToolCallerChain {
    fn tools(&self) -> Vec<AgentTool> {
        self.all().iter().flat_map(|caller| caller.tools()).collect()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.find_caller(name).ok().and_then(|(caller, _)| caller.tool(name))
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        self.find_caller(name).map(|(_, origin)| origin)
    }

    fn again(&self, name: &str, begun: Option<Repeat>) -> Repeat {
        self.find_caller(name).map_or(Repeat::Safe, |(caller, _)| caller.again(name, begun))
    }

    fn replayed(&self, name: &str) {
        if let Ok((caller, _)) = self.find_caller(name) {
            caller.replayed(name);
        }
    }

    async fn wait_for_tool(&self, name: &str) {
        for caller in self.all() {
            caller.wait_for_tool(name).await;
        }
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        match self.find_caller(&call.name) {
            Ok((caller, _)) => caller.call(call).await,
            Err(error) => ReverseOutcome::unasked(error),
        }
    }
}
