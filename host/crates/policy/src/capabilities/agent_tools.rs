//! `agent-tools`: tools of the agent that calls the plugin.

use super::common::capability_use::use_of_name;
use super::common::mount::Mount;
use super::common::proposal::RequestedCapability;
use super::common::rules::{CapabilityRules, granted_each, requested_each};
use crate::names::{ToolPattern, ungranted_patterns};

pub(crate) struct AgentToolRules;

impl CapabilityRules for AgentToolRules {
    const KEY: &'static str = "agent-tools";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> =
        Some((&["portcullis:plugin/agent-tools@"], "the agent's tools that you grant"));
    /// Agent-side tools, by pattern.
    type Request = Vec<ToolPattern>;
    type Grant = Vec<ToolPattern>;

    fn check(_: &Self::Grant) -> Result<(), String> {
        Ok(())
    }

    fn requested(request: &Self::Request) -> Vec<RequestedCapability> {
        requested_each(request, Self::KEY, "calls these tools of the agent, with arguments of its choice")
    }

    fn ungranted(request: &Self::Request, grant: &Self::Grant) -> Self::Request {
        ungranted_patterns(request, grant)
    }

    fn granted(grant: &Self::Grant, _: &[Mount]) -> Vec<(&'static str, String)> {
        granted_each(Self::KEY, grant)
    }
}

/// An agent-side tool is called, by full name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentToolUse {
    pub tool: String,
}

use_of_name!(
    AgentToolUse { tool }, AgentToolRules, "agent-tools": "NAME",
    requested by |requested, name| requested.iter().any(|it| it.covers(name)),
    granted by |granted, name| granted.iter().position(|it| it.covers(name))
);
