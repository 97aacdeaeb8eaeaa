//! `connections`: accounts that users have connected, by name.

use super::common::capability_use::use_of_name;
use super::common::mount::Mount;
use super::common::proposal::RequestedCapability;
use super::common::rules::{CapabilityRules, check_name, granted_each, requested_each, ungranted_names};

pub(crate) struct ConnectionRules;

impl CapabilityRules for ConnectionRules {
    const KEY: &'static str = "connections";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> =
        Some((&["portcullis:plugin/connections@"], "connected accounts that you grant"));
    /// Connected accounts, by name.
    type Request = Vec<String>;
    type Grant = Vec<String>;

    fn check(grant: &Self::Grant) -> Result<(), String> {
        grant.iter().try_for_each(|name| check_name(Self::KEY, name))
    }

    fn requested(request: &Self::Request) -> Vec<RequestedCapability> {
        requested_each(request, Self::KEY, "acts in the user's account there, once the user has connected it")
    }

    fn ungranted(request: &Self::Request, grant: &Self::Grant) -> Self::Request {
        ungranted_names(request, grant.iter())
    }

    fn granted(grant: &Self::Grant, _: &[Mount]) -> Vec<(&'static str, String)> {
        granted_each(Self::KEY, grant)
    }
}

/// A connected account is used, by its key in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionUse {
    pub name: String,
}

use_of_name!(
    ConnectionUse { name }, ConnectionRules, "connections": "NAME",
    requested by |requested, name| requested.iter().any(|it| it == name),
    granted by |granted, name| granted.iter().position(|it| it == name),
    note: "the user must have connected the account"
);
