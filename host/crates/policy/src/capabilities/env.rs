//! `env`: variables of the host's environment, by name.

use super::common::capability_use::use_of_name;
use super::common::mount::Mount;
use super::common::proposal::RequestedCapability;
use super::common::rules::{CapabilityRules, granted_each, requested_each, ungranted_names};
use crate::names::{is_name, is_secret_name};

pub(crate) struct EnvRules;

impl CapabilityRules for EnvRules {
    const KEY: &'static str = "env";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> = None;
    /// Variables, by name.
    type Request = Vec<String>;
    /// Variables, by name. A guest sees no others.
    type Grant = Vec<String>;

    fn check(grant: &Self::Grant) -> Result<(), String> {
        grant.iter().try_for_each(|name| check_variable(name))
    }

    fn requested(request: &Self::Request) -> Vec<RequestedCapability> {
        requested_each(request, Self::KEY, "reads this variable of the host's environment")
    }

    fn ungranted(request: &Self::Request, grant: &Self::Grant) -> Self::Request {
        ungranted_names(request, grant.iter())
    }

    fn granted(grant: &Self::Grant, _: &[Mount]) -> Vec<(&'static str, String)> {
        granted_each(Self::KEY, grant)
    }
}

fn check_variable(name: &str) -> Result<(), String> {
    if !is_name(name, 128, "_") || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!(
            "grants.env: {name:?} is not the name of a variable: write letters, digits and `_`, not a digit first"
        ));
    }
    if name.to_ascii_uppercase().starts_with("PORTCULLIS_") {
        return Err(format!("grants.env: `{name}` configures this host and is never given to a plugin"));
    }
    if is_secret_name(name) {
        return Err(format!(
            "grants.env: `{name}` looks like a secret, which a plugin would then have: put it under [secrets.<name>] and grant `secrets`, and only the hosts you name are told it; a variable that is none needs another name"
        ));
    }
    Ok(())
}

/// A variable is read. A guest without the grant does not see the variable and gets no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvUse {
    pub name: String,
}

use_of_name!(
    EnvUse { name }, EnvRules, "env": "NAME",
    requested by |requested, name| requested.iter().any(|it| it == name),
    granted by |granted, name| granted.iter().position(|it| it == name)
);
