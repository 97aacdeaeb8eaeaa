//! Looking at what was fetched, before anybody is asked: in the sandbox, without any authority.

use super::found::Found;
use super::lock::Version;
use crate::registry::{Examined, LoadError, Loader, definitions};
use platform::clock::Clock;
use policy::Digest;
use runtime::imports::Offer;
use std::collections::BTreeSet;
use std::path::Path;

/// A version that could be installed.
pub struct Candidate {
    /// As the lock file would have it.
    pub version: Version,
    /// The component.
    pub bytes: Vec<u8>,
    /// What it turned out to be.
    pub examined: Examined,
}

/// Looks at a component: refuses what is none, what this host cannot run, and what is withdrawn.
pub async fn review(loader: &Loader, clock: &dyn Clock, found: Found) -> Result<Candidate, LoadError> {
    let examined = loader.examine(Path::new(&found.resolved), &found.bytes).await?;
    let mut imports = examined.inspection.imports.clone();
    imports.sort();
    let manifest = examined.inspection.manifest.as_ref();
    let version = Version {
        version: manifest.map(|manifest| manifest.version.clone()),
        // Of the bytes as they are here, whatever the source said.
        digest: Digest::of(&found.bytes),
        size: examined.inspection.size,
        resolved: found.resolved,
        signer: found.signer.map(|signer| signer.to_string()),
        fetched: clock.wall(),
        definitions: definitions(&examined.offer),
        imports,
        requests: manifest.map(|manifest| manifest.requests.clone()).unwrap_or_default(),
        claims: examined.inspection.claims.clone(),
        published_claims: found.claims,
    };
    Ok(Candidate { version, bytes: found.bytes, examined })
}

/// How two offers differ in what is said to people and models: lines of the old one behind `-`, of the new one behind
/// `+`. The texts are not escaped yet.
pub fn texts(old: &Offer, new: &Offer) -> Vec<String> {
    let (before, after) = (said(old), said(new));
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = (before.iter().collect(), after.iter().collect());
    let gone = before.iter().filter(|line| !new.contains(line)).map(|line| format!("- {line}"));
    let come = after.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}"));
    let mut lines: Vec<_> = gone.chain(come).collect();
    // What belongs to one thing stands together.
    lines.sort_by(|a, b| a[2..].split(": ").next().cmp(&b[2..].split(": ").next()));
    lines
}

/// Everything that is said, a line for each thing said of each thing.
fn said(offer: &Offer) -> Vec<String> {
    let mut lines = Vec::new();
    let mut of = |what: &str, name: &str, thing: Option<serde_json::Value>| {
        let members = thing.as_ref().and_then(serde_json::Value::as_object).into_iter().flatten();
        lines.push(format!("{what} {name}"));
        for (key, value) in members.filter(|(_, value)| !value.is_null()) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            lines.push(format!("{what} {name} {key}: {text}"));
        }
    };
    for tool in &offer.tools {
        of("tool", &tool.name, serde_json::to_value(tool).ok());
    }
    for resource in &offer.resources {
        of("resource", &resource.uri, serde_json::to_value(resource).ok());
    }
    for template in &offer.templates {
        of("template", &template.uri_template, serde_json::to_value(template).ok());
    }
    for prompt in &offer.prompts {
        of("prompt", &prompt.name, serde_json::to_value(prompt).ok());
    }
    lines
}
