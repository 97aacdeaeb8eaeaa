//! `secrets`: sent with HTTP requests to some hosts, and never seen by the guest.

use super::common::capability_use::{CapabilityUse, Subject};
use super::common::extent::{Extent, GrantEntry};
use super::common::mount::Mount;
use super::common::proposal::{Choice, GrantProposal, RequestedCapability};
use super::common::rules::{CapabilityRules, check_name, requested_each, ungranted_names};
use crate::denial::{Denial, quoted, word};
use crate::identity::PluginId;
use crate::names::HostPattern;
use serde::{Deserialize, Serialize};

/// A secret that may be sent to some hosts. Its value is under `[secrets.NAME]`; a guest never sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SecretGrant {
    /// The secret's key in the configuration.
    pub name: String,
    /// The hosts that it may be sent to. It is sent over TLS, or to this machine.
    pub hosts: Vec<HostPattern>,
}

impl SecretGrant {
    /// Whether it may be sent to this host.
    pub fn reaches(&self, host: &str) -> bool {
        self.hosts.iter().any(|pattern| pattern.covers(host))
    }
}

impl GrantEntry for SecretGrant {
    fn is_within(&self, other: &Self) -> bool {
        let Self { name, hosts } = self;
        *name == other.name && Extent::is_within(hosts, &other.hosts)
    }
}

pub(crate) struct SecretRules;

impl CapabilityRules for SecretRules {
    const KEY: &'static str = "secrets";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> = None;
    /// Secrets to send with HTTP requests, by name.
    type Request = Vec<String>;
    /// Secrets, and the hosts that each may be sent to.
    type Grant = Vec<SecretGrant>;

    fn check(grant: &Self::Grant) -> Result<(), String> {
        grant.iter().try_for_each(|SecretGrant { name, hosts }| {
            check_name(Self::KEY, name)?;
            if hosts.is_empty() {
                return Err(format!("grants.secrets: `{name}` has no hosts, so nobody could be told it"));
            }
            Ok(())
        })
    }

    fn requested(request: &Self::Request) -> Vec<RequestedCapability> {
        let effect = "uses this secret in requests to servers that you name; it never sees the secret";
        requested_each(request, Self::KEY, effect)
    }

    fn ungranted(request: &Self::Request, grant: &Self::Grant) -> Self::Request {
        ungranted_names(request, grant.iter().map(|secret| &secret.name))
    }

    fn granted(grant: &Self::Grant, _: &[Mount]) -> Vec<(&'static str, String)> {
        let line = |SecretGrant { name, hosts }: &SecretGrant| {
            let hosts: Vec<_> = hosts.iter().map(HostPattern::as_str).collect();
            (Self::KEY, format!("{name} -> {}", hosts.join(", ")))
        };
        grant.iter().map(line).collect()
    }

    fn propose(requested: RequestedCapability, hosts: &[String]) -> GrantProposal {
        let name = quoted(&requested.detail);
        let hosts: Vec<_> = hosts.iter().map(|host| quoted(host)).collect();
        if hosts.is_empty() {
            let line = format!("secrets = [{{ name = {name}, hosts = [\"HOST\"] }}]");
            return GrantProposal { choose: Some(Choice::SecretHost), ..GrantProposal::new(requested, line) };
        }
        GrantProposal::new(requested, format!("secrets = [{{ name = {name}, hosts = [{}] }}]", hosts.join(", ")))
    }
}

/// A secret is sent to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretUse {
    /// The secret's key in the configuration.
    pub name: String,
    pub host: String,
}

impl CapabilityUse for SecretUse {
    type Rules = SecretRules;
    const KEY: &'static str = SecretRules::KEY;
    const QUESTION: &'static str = "NAME HOST";
    const NOT_GRANTED: &'static str = "is not granted for this host";

    fn parse(words: &[&str]) -> Option<Result<Self, String>> {
        let [name, host] = words else { return None };
        Some(Ok(Self { name: (*name).to_owned(), host: (*host).to_owned() }))
    }

    fn target(&self) -> &str {
        &self.name
    }

    fn grant_line(&self) -> String {
        format!(r#"secrets = [{{ name = "{}", hosts = ["{}"] }}]"#, word(&self.name), word(&self.host))
    }

    fn decide(&self, subject: Subject<'_>, requested: &Vec<String>, granted: &Vec<SecretGrant>) -> Result<(), Denial> {
        grant_for(subject.plugin, requested, granted, &self.name, &self.host).map(drop)
    }

    fn entry(&self, granted: &Vec<SecretGrant>) -> Option<usize> {
        granted.iter().position(|it| it.name == self.name && it.reaches(&self.host))
    }
}

/// The grant by which a secret may be sent to this host.
pub(crate) fn grant_for<'a>(
    plugin: &PluginId,
    requested: &[String],
    granted: &'a [SecretGrant],
    name: &str,
    host: &str,
) -> Result<&'a SecretGrant, Denial> {
    let grant = granted.iter().find(|grant| grant.name == name && grant.reaches(host));
    let requested = requested.iter().any(|known| known == name);
    let denial = match grant {
        Some(grant) if requested => return Ok(grant),
        None if requested => SecretUse::not_granted,
        Some(_) | None => SecretUse::not_requested,
    };
    Err(denial(&SecretUse { name: name.to_owned(), host: host.to_owned() }, plugin))
}

/// The secrets that may be sent to this host.
pub(crate) fn names_for<'a>(
    requested: &'a [String],
    granted: &'a [SecretGrant],
    host: &str,
) -> impl Iterator<Item = &'a str> {
    let requested = |grant: &&SecretGrant| requested.contains(&grant.name);
    let grants = granted.iter().filter(move |grant| grant.reaches(host));
    grants.filter(requested).map(|grant| &*grant.name)
}

impl Denial {
    /// The secret is granted for this host, but would be sent unencrypted.
    pub fn unencrypted_secret(name: &str) -> Self {
        let advice = "A secret is sent over TLS only, or to this machine: have the plugin ask for an https URL";
        Self {
            capability: SecretUse::KEY,
            target: name.to_owned(),
            reason: "would be sent unencrypted",
            advice,
            remedy: advice.to_owned(),
        }
    }
}
