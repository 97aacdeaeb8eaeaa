//! `publish`: resources and prompts of the plugin's own.

use super::common::capability_use::use_without_target;
use super::common::mount::Mount;
use super::common::proposal::RequestedCapability;
use super::common::rules::{CapabilityRules, granted_flag, requested_flag};

pub(crate) struct PublishRules;

impl CapabilityRules for PublishRules {
    const KEY: &'static str = "publish";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> =
        Some((&["portcullis:plugin/publish@"], "resources, prompts and events for users, as you grant"));
    type Request = bool;
    type Grant = bool;

    fn check(_: &bool) -> Result<(), String> {
        Ok(())
    }

    fn requested(request: &bool) -> Vec<RequestedCapability> {
        requested_flag(*request, Self::KEY, "publishes its own resources and prompts to the user and the model")
    }

    fn ungranted(request: &bool, grant: &bool) -> bool {
        *request && !grant
    }

    fn granted(grant: &bool, _: &[Mount]) -> Vec<(&'static str, String)> {
        granted_flag(Self::KEY, *grant)
    }
}

/// Resources or prompts are published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishUse;

use_without_target!(PublishUse, PublishRules, "publish": "resources and prompts", granted by "publish = true");
