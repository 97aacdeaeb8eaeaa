//! Reviews a fetched component before the operator is asked: loads it in the sandbox without any authority.

use super::lockfile::PluginVersion;
use super::source::FetchedComponent;
use crate::loading::{ExaminedComponent, LoadError, Loader};
use crate::offer::definitions_digest;
use platform::clock::Clock;
use policy::Digest;
use runtime::imports::Offer;
use std::collections::BTreeSet;
use std::path::Path;

/// A reviewed version that can be installed.
pub struct Candidate {
    /// The entry for the lock file.
    pub version: PluginVersion,
    pub bytes: Vec<u8>,
    pub examined: ExaminedComponent,
}

/// Refuses components that are invalid, incompatible or withdrawn.
pub async fn review(loader: &Loader, clock: &dyn Clock, found: FetchedComponent) -> Result<Candidate, LoadError> {
    let examined = loader.examine(Path::new(&found.resolved), &found.bytes).await?;
    let mut imports = examined.inspection.imports.clone();
    imports.sort();
    let manifest = examined.inspection.manifest.as_ref();
    let version = PluginVersion {
        version: manifest.map(|manifest| manifest.version.clone()),
        // Computed from the bytes, whatever the source stated.
        digest: Digest::sha256(&found.bytes),
        size: examined.inspection.size,
        resolved: found.resolved,
        reference: None,
        signer: found.signer.map(|signer| signer.to_string()),
        fetched: clock.wall(),
        definitions: definitions_digest(&examined.offer),
        imports,
        requests: manifest.map(|manifest| manifest.requests.clone()).unwrap_or_default(),
        claims: examined.inspection.claims.clone(),
        published_claims: found.claims,
    };
    Ok(Candidate { version, bytes: found.bytes, examined })
}

/// The differences of two offers in everything that people and models see: removed lines begin with `-`, added ones with
/// `+`. The text is not escaped.
pub fn diff_offers(old: &Offer, new: &Offer) -> Vec<String> {
    let (before, after) = (definition_lines(old), definition_lines(new));
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = (before.iter().collect(), after.iter().collect());
    let removed = before.iter().filter(|line| !new.contains(line)).map(|line| format!("- {line}"));
    let added = after.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}"));
    let mut lines: Vec<_> = removed.chain(added).collect();
    // Lines about the same definition stand together.
    lines.sort_by(|a, b| a[2..].split(": ").next().cmp(&b[2..].split(": ").next()));
    lines
}

/// One line for each member of each definition.
fn definition_lines(offer: &Offer) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |kind: &str, name: &str, definition: Option<serde_json::Value>| {
        let members = definition.as_ref().and_then(serde_json::Value::as_object).into_iter().flatten();
        lines.push(format!("{kind} {name}"));
        for (key, value) in members.filter(|(_, value)| !value.is_null()) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            lines.push(format!("{kind} {name} {key}: {text}"));
        }
    };
    for tool in &offer.tools {
        add("tool", &tool.name, serde_json::to_value(tool).ok());
    }
    for resource in &offer.resources {
        add("resource", &resource.uri, serde_json::to_value(resource).ok());
    }
    for template in &offer.templates {
        add("template", &template.uri_template, serde_json::to_value(template).ok());
    }
    for prompt in &offer.prompts {
        add("prompt", &prompt.name, serde_json::to_value(prompt).ok());
    }
    lines
}
