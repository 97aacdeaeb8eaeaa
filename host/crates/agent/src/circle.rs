//! The servers that one agent uses, and what each of them may call meanwhile: the agent's own components, and tools of the
//! other servers where a rule says so.

use crate::Desk;
use async_trait::async_trait;
use platform::clock::Clock;
use policy::{Limits, Origin, PatternError, Spent, ToolPattern};
use runtime::imports::{AgentError, AgentResult, AgentTool, ReverseCall, ToolCaller};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use upstream::{Face, Offer, Upstream, UpstreamError, UpstreamSettings, UpstreamTools};

/// Servers by name. Clones are the same.
#[derive(Clone)]
pub struct Circle(Arc<Inner>);

struct Inner {
    desk: Arc<Desk>,
    components: Arc<dyn ToolCaller>,
    clock: Arc<dyn Clock>,
    servers: RwLock<BTreeMap<String, Upstream>>,
}

impl Circle {
    /// No server yet; `components` are the agent's own tools.
    pub fn new(desk: Arc<Desk>, components: Arc<dyn ToolCaller>, clock: Arc<dyn Clock>) -> Self {
        let circle = Self(Arc::new(Inner { desk: desk.clone(), components, clock, servers: RwLock::default() }));
        desk.offer(Arc::new(All(circle.clone())));
        circle
    }

    /// Connects a server, in the place of one that has its name.
    pub async fn connect(&self, settings: UpstreamSettings) -> Result<(), UpstreamError> {
        let name = settings.name.clone();
        let Inner { desk, clock, .. } = &*self.0;
        let tools = Offered { circle: self.clone(), server: name.clone(), named: settings.offer.clone() };
        let allow = everything().into_iter().collect();
        let offer = Offer { agent: Arc::new(tools), allow, limits: Limits::default() };
        let face: Arc<dyn Face> = desk.clone();
        self.disconnect(&name).await;
        let upstream = Upstream::connect(settings, offer, face, clock.clone());
        if let Err(error) = upstream.ready().await {
            upstream.close().await;
            return Err(error);
        }
        self.0.servers.write().unwrap_or_else(PoisonError::into_inner).insert(name, upstream);
        Ok(())
    }

    /// Ends the connection to a server.
    pub async fn disconnect(&self, name: &str) {
        let old = self.0.servers.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        if let Some(old) = old {
            old.close().await;
        }
    }

    /// All servers.
    pub fn servers(&self) -> Vec<Upstream> {
        self.0.servers.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// One of them.
    pub fn server(&self, name: &str) -> Option<Upstream> {
        self.0.servers.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

/// A pattern of all full names; what is offered is decided in [`Offered`].
fn everything() -> Result<ToolPattern, PatternError> {
    ToolPattern::new("*.*")
}

/// What one server may call.
struct Offered {
    circle: Circle,
    server: String,
    /// From its configuration; empty: all components, and of other servers what the rules say.
    named: Vec<ToolPattern>,
}

impl Offered {
    fn components(&self) -> Vec<AgentTool> {
        let fits = |tool: &AgentTool| self.named.is_empty() || self.is_named(&tool.tool.name);
        self.circle.0.components.tools().into_iter().filter(fits).collect()
    }

    fn is_named(&self, tool: &str) -> bool {
        self.named.iter().any(|pattern| pattern.covers(tool))
    }

    fn others(&self) -> Vec<UpstreamTools> {
        let others = self.circle.servers().into_iter().filter(|server| server.name() != self.server);
        others.map(UpstreamTools::new).collect()
    }

    fn forwards(&self, tool: &str) -> bool {
        self.is_named(tool) || self.circle.0.desk.rules().offers(&self.server, tool)
    }

    /// Who answers for a tool.
    fn who(&self, name: &str) -> Result<(Arc<dyn ToolCaller>, Origin), AgentError> {
        if self.components().iter().any(|tool| tool.tool.name == name) {
            let components = self.circle.0.components.clone();
            return components.find(name).map(|origin| (components, origin));
        }
        if self.forwards(name) {
            for other in self.others() {
                if let Ok(origin) = other.find(name) {
                    return Ok((Arc::new(other), origin));
                }
            }
        }
        Err(AgentError::UnknownTool(name.to_owned()))
    }
}

#[async_trait]
impl ToolCaller for Offered {
    fn tools(&self) -> Vec<AgentTool> {
        let others = self.others().into_iter().flat_map(|other| other.tools());
        let mut all = self.components();
        all.extend(others.filter(|tool| self.forwards(&tool.tool.name)));
        all
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

/// All tools that any server may be offered: for their schemas.
struct All(Circle);

#[async_trait]
impl ToolCaller for All {
    fn tools(&self) -> Vec<AgentTool> {
        let mut all = self.0.0.components.tools();
        all.extend(self.0.servers().into_iter().flat_map(|server| UpstreamTools::new(server).tools()));
        all
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        Err(AgentError::UnknownTool(name.to_owned()))
    }

    async fn call(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, Spent) {
        (Err(AgentError::UnknownTool(call.name)), Spent::default())
    }
}
