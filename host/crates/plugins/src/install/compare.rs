//! Compares an approved version with a new one, and decides whether the difference needs consent.
//!
//! An update is installed without consent only if somebody whom the operator named vouches that it follows the approved
//! version, and it cannot do more: the same signer, a higher version, no additional requests or imports, and the same
//! definitions of tools, resources and prompts.

use super::lockfile::PluginVersion;
use super::semantic_version;
use policy::{Extent, RequestedCapability, Requests};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// One difference between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionChange {
    /// A line for the operator. Text from the plugin in it is not escaped.
    pub line: String,
    /// Whether the new version must wait until the operator has agreed.
    pub needs_consent: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateVerdict {
    /// It is installed.
    Install(Vec<VersionChange>),
    /// It waits for consent.
    Stage(Vec<VersionChange>),
    /// It is lower than a version that was installed before.
    Downgrade { highest: String },
}

/// Decides what happens to a new version. `highest` is the highest version that was ever installed.
pub fn judge_update(highest: Option<&str>, old: &PluginVersion, new: &PluginVersion) -> UpdateVerdict {
    let order = highest
        .map(|highest| (highest, new.version.as_deref().and_then(|new| semantic_version::compare(new, highest))));
    if let Some((highest, Some(Ordering::Less))) = order {
        return UpdateVerdict::Downgrade { highest: highest.to_owned() };
    }
    let mut changes = compare_versions(old, new);
    // The operator decided to go back from the highest version, and no update may revert that decision.
    if let Some((highest, Some(Ordering::Equal))) = order
        && old.version.as_deref() != Some(highest)
    {
        let line = format!("version {highest} was installed before, and replaced by a lower one");
        changes.push(VersionChange { line, needs_consent: true });
    }
    if changes.iter().any(|change| change.needs_consent) {
        UpdateVerdict::Stage(changes)
    } else {
        UpdateVerdict::Install(changes)
    }
}

/// Lists all differences. Of the definitions only the digests are compared here.
pub fn compare_versions(old: &PluginVersion, new: &PluginVersion) -> Vec<VersionChange> {
    let mut changes = vec![version(old, new)];
    changes.extend(signer(old, new));
    changes.extend(requests(&old.requests, &new.requests));
    changes.extend(imports(&old.imports, &new.imports));
    changes.extend(claims(old, new));
    if old.definitions != new.definitions {
        let line = "its definitions of tools, resources and prompts have changed".to_owned();
        changes.push(VersionChange { line, needs_consent: true });
    }
    changes
}

/// Whether a version is higher than the highest so far. Versions that cannot be compared are not.
pub(super) fn is_higher(version: Option<&str>, highest: Option<&str>) -> bool {
    match (version, highest) {
        (Some(version), Some(highest)) => semantic_version::compare(version, highest) == Some(Ordering::Greater),
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn version(old: &PluginVersion, new: &PluginVersion) -> VersionChange {
    let shown = |version: &PluginVersion| version.version.clone().unwrap_or_else(|| "without version".to_owned());
    let order = match (&old.version, &new.version) {
        (Some(old), Some(new)) => semantic_version::compare(new, old),
        (None, None) => Some(Ordering::Equal),
        (Some(_), None) | (None, Some(_)) => None,
    };
    let note = match order {
        Some(Ordering::Greater) => "",
        Some(Ordering::Equal) => " (other bytes under the same version)",
        Some(Ordering::Less) => " (lower)",
        None => " (these cannot be compared)",
    };
    let line = format!("version {} -> {}{note}, {} -> {} bytes", shown(old), shown(new), old.size, new.size);
    // Under an equal version, whoever serves the plugin could serve older bytes that its signer has replaced.
    VersionChange { line, needs_consent: order != Some(Ordering::Greater) }
}

/// Without a signer, whoever serves the plugin decides what its bytes are.
fn signer(old: &PluginVersion, new: &PluginVersion) -> Option<VersionChange> {
    let line = match (&old.signer, &new.signer) {
        (Some(old), Some(new)) if old == new => return None,
        (None, None) => "signed by nobody, as before: only its source vouches for the new bytes".to_owned(),
        (old, new) => {
            let [old, new] = [old, new].map(|signer| signer.as_deref().unwrap_or("nobody"));
            format!("signed by {old} -> {new}")
        }
    };
    Some(VersionChange { line, needs_consent: true })
}

/// Differences of the claims that operators look at. Claims are unverified, so they never need consent.
fn claims(old: &PluginVersion, new: &PluginVersion) -> Vec<VersionChange> {
    let claim = |version: &PluginVersion, key| {
        let own = version.claims.get(key).or(version.published_claims.get(key));
        own.unwrap_or("nothing").to_owned()
    };
    let change = |key| {
        let (before, now) = (claim(old, key), claim(new, key));
        (before != now)
            .then(|| VersionChange { line: format!("claims {key}: {before} -> {now}"), needs_consent: false })
    };
    ["licenses", "source", "authors"].into_iter().filter_map(change).collect()
}

/// Lists new, narrower and removed requests.
fn requests(old: &Requests, new: &Requests) -> Vec<VersionChange> {
    let line = |sign: char, it: &RequestedCapability| format!("{sign} {} {}", it.key, it.detail).trim_end().to_owned();
    let wider = new.beyond(old).described();
    let mut changes: Vec<_> = wider
        .iter()
        .map(|capability| VersionChange {
            line: format!("{}: {}", line('+', capability), capability.effect),
            needs_consent: true,
        })
        .collect();
    // A new request within an old one adds nothing.
    for capability in new.added_to(old).described().iter().filter(|it| !wider.contains(it)) {
        changes.push(VersionChange { line: format!("{} (narrower)", line('+', capability)), needs_consent: false });
    }
    for capability in old.added_to(new).described() {
        changes.push(VersionChange { line: line('-', &capability), needs_consent: false });
    }
    changes
}

/// Compares interfaces by name and compatible version: `wasi:io/poll@0.2.3` and `@0.2.6` are the same import.
fn imports(old: &[String], new: &[String]) -> Vec<VersionChange> {
    let names = |imports: &[String]| imports.iter().map(|import| compatible_name(import)).collect::<BTreeSet<_>>();
    let (before, after) = (names(old), names(new));
    let line = |sign: char, name: &String| format!("{sign} import {name}");
    let more = after.difference(&before).map(|name| VersionChange { line: line('+', name), needs_consent: true });
    let fewer = before.difference(&after).map(|name| VersionChange { line: line('-', name), needs_consent: false });
    more.chain(fewer).collect()
}

fn compatible_name(import: &str) -> String {
    let Some((name, version)) = import.rsplit_once('@') else { return import.to_owned() };
    let parts: Vec<_> = version.split('.').collect();
    match parts.as_slice() {
        ["0", minor, _] if version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => {
            format!("{name}@0.{minor}")
        }
        _ => import.to_owned(),
    }
}

#[cfg(test)]
mod tests;
