//! `dice`: random numbers.

use super::common::capability_use::use_without_target;
use super::common::mount::Mount;
use super::common::proposal::RequestedCapability;
use super::common::rules::{CapabilityRules, granted_flag, requested_flag};

pub(crate) struct DiceRules;

impl CapabilityRules for DiceRules {
    const KEY: &'static str = "dice";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> =
        Some((&["portcullis:plugin/dice@"], "dice, if you grant them"));
    type Request = bool;
    type Grant = bool;

    fn check(_: &bool) -> Result<(), String> {
        Ok(())
    }

    fn requested(request: &bool) -> Vec<RequestedCapability> {
        requested_flag(*request, Self::KEY, "rolls dice")
    }

    fn ungranted(request: &bool, grant: &bool) -> bool {
        *request && !grant
    }

    fn granted(grant: &bool, _: &[Mount]) -> Vec<(&'static str, String)> {
        granted_flag(Self::KEY, *grant)
    }
}

/// A die is rolled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiceUse;

use_without_target!(DiceUse, DiceRules, "dice": "a die", granted by "dice = true");
