//! What the host knows of each capability: how a grant is checked, and how requests and grants are shown and asked about.

use super::extent::Extent;
use super::mount::Mount;
use super::proposal::{GrantProposal, RequestedCapability};

/// The rules of one capability, which has one key in manifests and in the configuration.
pub(crate) trait CapabilityRules {
    const KEY: &'static str;

    /// The interfaces that a guest imports to use it, by the beginnings of their names, and what they are for. `None` if there
    /// are none of its own.
    const IMPORTS: Option<(&'static [&'static str], &'static str)>;

    /// What a manifest requests.
    type Request: Extent;
    /// What an operator grants.
    type Grant: Extent;

    /// Refuses a grant that is beyond the host's limits, could never be used, or is misleading. The error is a sentence that
    /// begins with the key.
    fn check(grant: &Self::Grant) -> Result<(), String>;

    /// The request in plain language, an entry for each thing that can be granted by itself.
    fn requested(request: &Self::Request) -> Vec<RequestedCapability>;

    /// The part of the request of which nothing is granted.
    fn ungranted(request: &Self::Request, grant: &Self::Grant) -> Self::Request;

    /// The grant as lines, each with its key. `mounts` are the directories that the plugin really gets.
    fn granted(grant: &Self::Grant, mounts: &[Mount]) -> Vec<(&'static str, String)>;

    /// The keys of what is granted without having been requested.
    fn unrequested(request: &Self::Request, grant: &Self::Grant) -> Vec<&'static str> {
        if request.is_nothing() && !grant.is_nothing() { vec![Self::KEY] } else { Vec::new() }
    }

    /// A grant to propose for one of the things that [`requested`](Self::requested) lists. `hosts` are those that the plugin
    /// requests to send secrets to.
    fn propose(requested: RequestedCapability, _hosts: &[String]) -> GrantProposal {
        GrantProposal::of_key(requested)
    }
}

/// A request that is there or not.
pub(crate) fn requested_flag(is_requested: bool, key: &'static str, effect: &'static str) -> Vec<RequestedCapability> {
    let described = || RequestedCapability { key, detail: String::new(), effect };
    is_requested.then(described).into_iter().collect()
}

/// A request for each of several things.
pub(crate) fn requested_each<T: ToString>(
    of: &[T],
    key: &'static str,
    effect: &'static str,
) -> Vec<RequestedCapability> {
    of.iter().map(|it| RequestedCapability { key, detail: it.to_string(), effect }).collect()
}

/// A line for a grant that is there or not.
pub(crate) fn granted_flag(key: &'static str, is_granted: bool) -> Vec<(&'static str, String)> {
    is_granted.then(|| (key, "yes".to_owned())).into_iter().collect()
}

/// A line for each of several things that are granted.
pub(crate) fn granted_each<T: ToString>(key: &'static str, of: &[T]) -> Vec<(&'static str, String)> {
    of.iter().map(|it| (key, it.to_string())).collect()
}

/// The names that are not granted.
pub(crate) fn ungranted_names<'a>(
    requested: &[String],
    granted: impl Iterator<Item = &'a String> + Clone,
) -> Vec<String> {
    requested.iter().filter(|name| !granted.clone().any(|other| other == *name)).cloned().collect()
}

/// The error for a name that cannot name anything.
pub(crate) fn check_name(key: &str, name: &str) -> Result<(), String> {
    if crate::names::is_name(name, 32, "-_") {
        return Ok(());
    }
    Err(format!("grants.{key}: {name:?} is no name; it must be 1 to 32 of A-Z a-z 0-9 - _"))
}
