//! `events`: notifications that are put into the user's inbox.

use super::common::capability_use::use_of_name;
use super::common::mount::Mount;
use super::common::proposal::RequestedCapability;
use super::common::rules::{CapabilityRules, granted_each, requested_each};
use crate::names::{ToolPattern, ungranted_patterns};

pub(crate) struct EventRules;

impl CapabilityRules for EventRules {
    const KEY: &'static str = "events";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> =
        Some((&["portcullis:plugin/events@"], "resources, prompts and events for users, as you grant"));
    /// Events, by pattern.
    type Request = Vec<ToolPattern>;
    type Grant = Vec<ToolPattern>;

    fn check(_: &Self::Grant) -> Result<(), String> {
        Ok(())
    }

    fn requested(request: &Self::Request) -> Vec<RequestedCapability> {
        requested_each(request, Self::KEY, "sends events to the user's inbox, to which an agent may react")
    }

    fn ungranted(request: &Self::Request, grant: &Self::Grant) -> Self::Request {
        ungranted_patterns(request, grant)
    }

    fn granted(grant: &Self::Grant, _: &[Mount]) -> Vec<(&'static str, String)> {
        granted_each(Self::KEY, grant)
    }
}

/// An event is emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventUse {
    pub name: String,
}

use_of_name!(
    EventUse { name }, EventRules, "events": "NAME",
    requested by |requested, name| requested.iter().any(|it| it.covers(name)),
    granted by |granted, name| granted.iter().position(|it| it.covers(name))
);
