//! What differs between the version that an operator agreed to and a new one, and whether that needs consent.
//!
//! An update comes in by itself only when it cannot do anything that was not agreed to: the same or fewer requests, the
//! same signer, the same imports, and the same words about itself.

use super::lock::Version;
use super::order;
use super::proposal::news;
use super::words::wants;
use policy::{Access, HttpPattern, Requests, ToolPattern};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// A line for the operator; texts of the plugin in it are not escaped yet.
    pub line: String,
    /// Whether it keeps the new version out until the operator has agreed.
    pub needs_consent: bool,
}

/// What may become of a new version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It takes the place of the old one.
    Swap(Vec<Change>),
    /// It waits for consent.
    Stage(Vec<Change>),
    /// It is lower than what was here before.
    Lower {
        /// The highest so far.
        highest: String,
    },
}

/// Judges a new version. `highest` is the highest version that was ever installed.
pub fn judge(highest: Option<&str>, old: &Version, new: &Version) -> Verdict {
    let order = highest.map(|highest| (highest, new.version.as_deref().and_then(|new| order::compare(new, highest))));
    if let Some((highest, Some(Ordering::Less))) = order {
        return Verdict::Lower { highest: highest.to_owned() };
    }
    let changes = changes(old, new);
    if changes.iter().any(|change| change.needs_consent) { Verdict::Stage(changes) } else { Verdict::Swap(changes) }
}

/// Everything that differs, without the words about itself, of which only the digest is known here.
pub fn changes(old: &Version, new: &Version) -> Vec<Change> {
    let mut changes = vec![version(old, new)];
    changes.extend(signer(old, new));
    changes.extend(requests(&old.requests, &new.requests));
    changes.extend(imports(&old.imports, &new.imports));
    changes.extend(claims(old, new));
    if old.definitions != new.definitions {
        let line = "what it says of its tools, resources and prompts has changed".to_owned();
        changes.push(Change { line, needs_consent: true });
    }
    changes
}

/// Whether a version is above the highest so far, as far as that can be said.
pub(super) fn is_higher(version: Option<&str>, highest: Option<&str>) -> bool {
    match (version, highest) {
        (Some(version), Some(highest)) => order::compare(version, highest) == Some(Ordering::Greater),
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn version(old: &Version, new: &Version) -> Change {
    let shown = |version: &Version| version.version.clone().unwrap_or_else(|| "without version".to_owned());
    let order = match (&old.version, &new.version) {
        (Some(old), Some(new)) => order::compare(new, old),
        (None, None) => Some(Ordering::Equal),
        (Some(_), None) | (None, Some(_)) => None,
    };
    let note = match order {
        Some(Ordering::Greater) => "",
        Some(Ordering::Equal) => " (other bytes under the same version)",
        Some(Ordering::Less) => " (lower)",
        None => " (nobody can say which is higher)",
    };
    let line = format!("version {} -> {}{note}, {} -> {} bytes", shown(old), shown(new), old.size, new.size);
    Change { line, needs_consent: matches!(order, None | Some(Ordering::Less)) }
}

fn signer(old: &Version, new: &Version) -> Option<Change> {
    let shown = |version: &Version| version.signer.clone().unwrap_or_else(|| "nobody".to_owned());
    (old.signer != new.signer)
        .then(|| Change { line: format!("signed by {} -> {}", shown(old), shown(new)), needs_consent: true })
}

/// Claims that a reader of a licence or a source wants to know of. Nobody checks them, so nothing depends on them.
fn claims(old: &Version, new: &Version) -> Vec<Change> {
    let said = |version: &Version, key| {
        let own = version.claims.get(key).or(version.published_claims.get(key));
        own.unwrap_or("nothing").to_owned()
    };
    let told = |key| {
        let (before, now) = (said(old, key), said(new, key));
        (before != now).then(|| Change { line: format!("claims {key}: {before} -> {now}"), needs_consent: false })
    };
    ["licenses", "source", "authors"].into_iter().filter_map(told).collect()
}

/// What is asked for now and was not, or not so far; and what is not asked for any more.
fn requests(old: &Requests, new: &Requests) -> Vec<Change> {
    let line = |sign: char, key: &str, what: &str| format!("{sign} {key} {what}").trim_end().to_owned();
    let wider = wants(&uncovered(old, new));
    let mut changes: Vec<_> = wider
        .iter()
        .map(|want| Change {
            line: format!("{}: {}", line('+', want.key, &want.what), want.means),
            needs_consent: true,
        })
        .collect();
    // What is within an old request is new, but nothing more.
    for want in wants(&news(old, new)).iter().filter(|want| !wider.contains(want)) {
        changes.push(Change { line: format!("{} (narrower)", line('+', want.key, &want.what)), needs_consent: false });
    }
    for want in wants(&news(new, old)) {
        changes.push(Change { line: line('-', want.key, &want.what), needs_consent: false });
    }
    changes
}

/// The part of the new requests that no old one covers. Every field is named, so none can be forgotten.
fn uncovered(old: &Requests, new: &Requests) -> Requests {
    let Requests {
        filesystem,
        agent_tools,
        client: _,
        publish: _,
        events,
        connections: _,
        http,
        secrets: _,
        env: _,
        state: _,
        scratch: _,
    } = news(old, new);
    let tools = |new: Vec<ToolPattern>, old: &[ToolPattern]| -> Vec<ToolPattern> {
        new.into_iter().filter(|new| !old.iter().any(|old| new.within(old))).collect()
    };
    let http: Vec<HttpPattern> = http.into_iter().filter(|new| !old.http.iter().any(|old| new.within(old))).collect();
    let access = |access: &Access| old.filesystem.is_none_or(|before| before < *access);
    Requests {
        filesystem: filesystem.filter(access),
        agent_tools: tools(agent_tools, &old.agent_tools),
        events: tools(events, &old.events),
        http,
        // The others are there or not: what is new in them was not covered.
        ..news(old, new)
    }
}

/// Interfaces by name and compatible version: `wasi:io/poll@0.2.3` and `@0.2.6` are the same thing to import.
fn imports(old: &[String], new: &[String]) -> Vec<Change> {
    let named = |imports: &[String]| imports.iter().map(|import| compatible(import)).collect::<BTreeSet<_>>();
    let (before, after) = (named(old), named(new));
    let line = |sign: char, name: &String| format!("{sign} import {name}");
    let more = after.difference(&before).map(|name| Change { line: line('+', name), needs_consent: true });
    let fewer = before.difference(&after).map(|name| Change { line: line('-', name), needs_consent: false });
    more.chain(fewer).collect()
}

fn compatible(import: &str) -> String {
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
