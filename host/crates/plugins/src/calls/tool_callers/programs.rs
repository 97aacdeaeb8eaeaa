//! Code mode: programs that one plugin runs may also call the tools of all other plugins, as clients may.

use crate::calls::runner::Runner;
use crate::calls::tool_access::ToolAccess;
use crate::calls::tool_callers::approvals::ProgramApprovals;
use crate::calls::tool_callers::local_tools::{self, tools_of};
use crate::catalog::{Catalog, CurrentCatalog, Plugin};
use crate::offer::PluginTool;
use async_trait::async_trait;
use policy::{ApprovalRule, Origin, PluginId};
use runtime::imports::{AgentError, AgentTool, ReverseCall, ReverseOutcome, Tool, ToolCaller};
use runtime::journal::Repeat;
use std::sync::{Arc, Weak};

/// The plugin that runs programs, and what these may call.
pub struct Programs {
    plugin: PluginId,
    rule: ApprovalRule,
    catalog: Arc<CurrentCatalog>,
    /// Weak, because the runner holds this value.
    runner: Weak<Runner>,
}

impl Programs {
    pub fn new(plugin: PluginId, rule: ApprovalRule, catalog: Arc<CurrentCatalog>, runner: &Arc<Runner>) -> Self {
        Self { plugin, rule, catalog, runner: Arc::downgrade(runner) }
    }
}

impl ToolAccess for Programs {
    /// The plugin that runs programs gets the tools of all other plugins in addition.
    fn of_call(&self, plugin: &PluginId, agent: Arc<dyn ToolCaller>) -> Arc<dyn ToolCaller> {
        match self.runner.upgrade().filter(|_| *plugin == self.plugin) {
            Some(runner) => {
                let approvals = ProgramApprovals::new(self.rule, runner.clock());
                let (plugin, catalog) = (self.plugin.clone(), self.catalog.clone());
                Arc::new(ProgramTools { plugin, catalog, runner, approvals, agent })
            }
            None => agent,
        }
    }
}

/// The tools that programs of one call may call: those of plugins, named `<plugin>.<tool>`, and those that every plugin may.
struct ProgramTools {
    plugin: PluginId,
    catalog: Arc<CurrentCatalog>,
    runner: Arc<Runner>,
    approvals: ProgramApprovals,
    agent: Arc<dyn ToolCaller>,
}

impl ProgramTools {
    /// The plugins that clients see, except this one. A plugin whose name an agent-side plugin has, too, is left out: the names
    /// of its tools would be taken for those of the other.
    fn plugins<'a>(&'a self, catalog: &'a Catalog) -> impl Iterator<Item = &'a Arc<Plugin>> {
        let is_agent = |plugin: &Plugin| catalog.agent_plugins().iter().any(|it| it.id().name == plugin.id().name);
        catalog.plugins().iter().filter(move |plugin| *plugin.id() != self.plugin && !is_agent(plugin))
    }

    fn find_own(&self, name: &str) -> Option<(Arc<Plugin>, Arc<PluginTool>)> {
        let (plugin, tool) = name.split_once('.')?;
        let catalog = self.catalog.snapshot();
        let plugin = self.plugins(&catalog).find(|it| *it.id().name == *plugin)?;
        Some((plugin.clone(), plugin.tool(tool)?.clone()))
    }

    /// A tool of an agent-side plugin or of an upstream server. None for others: a client approves calls of its own tools
    /// itself, and a user or a model that stands in for a tool is asked in any case. A tool that is missing now is an error, so
    /// that it cannot be called without approval if it appears a moment later.
    fn find_of_host(&self, name: &str) -> Result<Option<Tool>, AgentError> {
        match self.agent.find(name)? {
            Origin::Component(_) | Origin::Upstream(_) => {
                self.agent.tool(name).map(Some).ok_or_else(|| AgentError::UnknownTool(name.to_owned()))
            }
            Origin::Client | Origin::Model | Origin::User => Ok(None),
        }
    }
}

#[async_trait]
impl ToolCaller for ProgramTools {
    fn tools(&self) -> Vec<AgentTool> {
        let mut tools: Vec<_> = self.plugins(&self.catalog.snapshot()).flat_map(tools_of).collect();
        tools.extend(self.agent.tools());
        tools
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        match self.find_own(name) {
            Some((plugin, _)) => Ok(Origin::Component(plugin.id().name.to_string())),
            None => self.agent.find(name),
        }
    }

    fn again(&self, name: &str, begun: Option<Repeat>) -> Repeat {
        match self.find_own(name) {
            // As for tools of agent-side plugins: a call that another instance takes up does nothing twice.
            Some(_) => Repeat::Safe,
            None => self.agent.again(name, begun),
        }
    }

    fn replayed(&self, name: &str) {
        if self.find_own(name).is_none() {
            self.agent.replayed(name);
        }
    }

    async fn wait_for_tool(&self, name: &str) {
        if self.find_own(name).is_none() {
            self.agent.wait_for_tool(name).await;
        }
    }

    async fn call(&self, mut call: ReverseCall) -> ReverseOutcome {
        let agent = self.agent.clone();
        match self.find_own(&call.name) {
            Some((plugin, tool)) => {
                // The user is not asked about a call that could not run. Without a question, the call checks its arguments.
                if self.approvals.asks_about(&tool.tool, &call.name)
                    && let Err(reason) = call.arguments.change(|value| tool.accept(value))
                {
                    return ReverseOutcome::unasked(AgentError::InvalidArguments(reason));
                }
                let (parent, id) = (call.parent.clone(), call.context.id.clone());
                // The called tool may in turn call only what every plugin may call.
                call.agent = agent.clone();
                let run = async {
                    match self.approvals.approve(&call, &tool.tool).await {
                        Ok(()) => {
                            call.lane.take("local");
                            local_tools::run(&self.runner, &plugin, &tool, call).await
                        }
                        Err(error) => ReverseOutcome::unasked(error),
                    }
                };
                agent.accompany(&parent, &id, Box::pin(run)).await
            }
            None => {
                let approved = match self.find_of_host(&call.name) {
                    Ok(Some(tool)) => self.approvals.approve(&call, &tool).await,
                    Ok(None) => Ok(()),
                    Err(error) => Err(error),
                };
                if let Err(error) = approved {
                    return ReverseOutcome::unasked(error);
                }
                call.agent = agent.clone();
                agent.call(call).await
            }
        }
    }

    fn lacks_declaration(&self) -> bool {
        self.agent.lacks_declaration()
    }
}
