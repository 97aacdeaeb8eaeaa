//! The servers that the agent uses. Each may call the agent's own components, and tools of other servers by a rule.

use crate::approvals::Approvals;
use async_trait::async_trait;
use platform::clock::Clock;
use platform::sync::RwLock;
use policy::{Limits, Origin, ToolPattern, ToolPatternError};
use runtime::imports::{AgentError, AgentTool, ReverseCall, ReverseOutcome, ToolCaller};
use std::collections::BTreeMap;
use std::sync::Arc;
use upstream::{AgentHandler, ToolOffer, Upstream, UpstreamError, UpstreamSettings, UpstreamTools};

/// Connected servers by name. Clones share the servers.
#[derive(Clone)]
pub struct ServerSet(Arc<ServerSetInner>);

struct ServerSetInner {
    approvals: Arc<Approvals>,
    components: Arc<dyn ToolCaller>,
    clock: Arc<dyn Clock>,
    servers: RwLock<BTreeMap<String, Upstream>>,
}

impl ServerSet {
    /// An empty set. `components` are the agent's own tools.
    pub fn new(approvals: Arc<Approvals>, components: Arc<dyn ToolCaller>, clock: Arc<dyn Clock>) -> Self {
        let servers = Self(Arc::new(ServerSetInner {
            approvals: approvals.clone(),
            components,
            clock,
            servers: RwLock::default(),
        }));
        approvals.set_tools(Arc::new(AllTools(servers.clone())));
        servers
    }

    /// Connects a server and replaces one of the same name.
    pub async fn connect(&self, settings: UpstreamSettings) -> Result<(), UpstreamError> {
        let name = settings.name.clone();
        let ServerSetInner { approvals, clock, .. } = &*self.0;
        let tools = OfferedTools { servers: self.clone(), server: name.clone(), configured: settings.offer.clone() };
        let allow = all_tools_pattern().into_iter().collect();
        let offer = ToolOffer { agent: Arc::new(tools), allow, limits: Limits::default() };
        let handler: Arc<dyn AgentHandler> = approvals.clone();
        self.disconnect(&name).await;
        let upstream = Upstream::connect(settings, offer, std::future::ready(()), handler, clock.clone());
        if let Err(error) = upstream.ready().await {
            upstream.close().await;
            return Err(error);
        }
        self.0.servers.write().insert(name, upstream);
        Ok(())
    }

    pub async fn disconnect(&self, name: &str) {
        let old = self.0.servers.write().remove(name);
        if let Some(old) = old {
            old.close().await;
        }
    }

    pub fn servers(&self) -> Vec<Upstream> {
        self.0.servers.read().values().cloned().collect()
    }

    pub fn server(&self, name: &str) -> Option<Upstream> {
        self.0.servers.read().get(name).cloned()
    }
}

/// A pattern for all full names, since [`OfferedTools`] decides what is offered.
fn all_tools_pattern() -> Result<ToolPattern, ToolPatternError> {
    ToolPattern::new("*.*")
}

/// The tools that one server may call.
struct OfferedTools {
    servers: ServerSet,
    server: String,
    /// The configured patterns. If there are none, all components are offered, and tools of other servers by the rules.
    configured: Vec<ToolPattern>,
}

impl OfferedTools {
    fn components(&self) -> Vec<AgentTool> {
        let is_allowed = |tool: &AgentTool| self.configured.is_empty() || self.is_configured(&tool.tool.name);
        self.servers.0.components.tools().into_iter().filter(is_allowed).collect()
    }

    fn is_configured(&self, tool: &str) -> bool {
        self.configured.iter().any(|pattern| pattern.covers(tool))
    }

    fn others(&self) -> Vec<UpstreamTools> {
        let others = self.servers.servers().into_iter().filter(|server| server.name() != self.server);
        others.map(UpstreamTools::new).collect()
    }

    fn is_offered(&self, tool: &str) -> bool {
        self.is_configured(tool) || self.servers.0.approvals.rules().offers(&self.server, tool)
    }

    fn find_caller(&self, name: &str) -> Result<(Arc<dyn ToolCaller>, Origin), AgentError> {
        if self.components().iter().any(|tool| tool.tool.name == name) {
            let components = self.servers.0.components.clone();
            return components.find(name).map(|origin| (components, origin));
        }
        if self.is_offered(name) {
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
impl ToolCaller for OfferedTools {
    fn tools(&self) -> Vec<AgentTool> {
        let others = self.others().into_iter().flat_map(|other| other.tools());
        let mut all = self.components();
        all.extend(others.filter(|tool| self.is_offered(&tool.tool.name)));
        all
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        self.find_caller(name).map(|(_, origin)| origin)
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        match self.find_caller(&call.name) {
            Ok((caller, _)) => caller.call(call).await,
            Err(error) => ReverseOutcome::unasked(error),
        }
    }
}

/// All tools that any server may be offered, for their schemas only.
struct AllTools(ServerSet);

#[async_trait]
impl ToolCaller for AllTools {
    fn tools(&self) -> Vec<AgentTool> {
        let mut all = self.0.0.components.tools();
        all.extend(self.0.servers().into_iter().flat_map(|server| UpstreamTools::new(server).tools()));
        all
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        Err(AgentError::UnknownTool(name.to_owned()))
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        ReverseOutcome::unasked(AgentError::UnknownTool(call.name))
    }
}
