//! Several places where agent tools live, as one.

use async_trait::async_trait;
use policy::{Origin, Spent};
use runtime::imports::{AgentError, AgentResult, AgentTool, ReverseCall, ToolCaller};
use std::sync::{Arc, PoisonError, RwLock};

/// Asks one after the other: who comes first answers for a name. More can be added later, since what a server behind this
/// host may call includes what other servers have.
#[derive(Default)]
pub struct Together(RwLock<Vec<Arc<dyn ToolCaller>>>);

impl Together {
    /// Of these, in this order.
    pub fn new(callers: Vec<Arc<dyn ToolCaller>>) -> Self {
        Self(RwLock::new(callers))
    }

    /// One more, after the others.
    pub fn add(&self, caller: Arc<dyn ToolCaller>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(caller);
    }

    fn all(&self) -> Vec<Arc<dyn ToolCaller>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Who answers for a name; otherwise why nobody does, from whoever knows best.
    fn who(&self, name: &str) -> Result<(Arc<dyn ToolCaller>, Origin), AgentError> {
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
impl ToolCaller for Together {
    fn tools(&self) -> Vec<AgentTool> {
        self.all().iter().flat_map(|caller| caller.tools()).collect()
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        self.who(name).map(|(_, origin)| origin)
    }

    async fn call(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, Spent) {
        match self.who(&call.name) {
            Ok((caller, _)) => caller.call(call).await,
            Err(error) => (Err(error), Spent::default()),
        }
    }
}
