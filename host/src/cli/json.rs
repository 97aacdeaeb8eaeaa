//! What `--json` prints: one document on stdout. Texts are as the plugin wrote them; JSON escapes what could control a terminal.

use super::out::print_json;
use plugins::offer::{find_suspicions, find_unportable};
use plugins::package::Inspection;
use policy::Digest;
use runtime::imports::{Offer, Tool};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
pub(super) struct JsonOption {
    /// Print JSON, for scripts.
    #[arg(long = "json")]
    pub(super) is_set: bool,
}

pub(super) fn print(value: &Value) {
    print_json(&format!("{value:#}"));
}

/// Prints JSON on one line.
pub(super) fn print_line(value: &Value) {
    print_json(&value.to_string());
}

/// A component, and what it offers if that is known.
pub(super) fn component(
    digest: &Digest,
    definitions: Option<&Digest>,
    inspection: &Inspection,
    offer: Option<&Offer>,
) -> Value {
    let manifest = inspection.manifest.as_ref();
    let claims: Map<_, _> = inspection.claims.iter().map(|(key, text)| (key.to_owned(), text.into())).collect();
    let mut value = json!({
        "name": manifest.map(|manifest| &manifest.name),
        "version": manifest.map(|manifest| &manifest.version),
        "description": manifest.and_then(|manifest| manifest.description.as_ref()),
        "digest": digest,
        "definitions": definitions,
        "size": inspection.size,
        "dialect": inspection.dialect().to_string(),
        "requests": manifest.map(|manifest| &manifest.requests),
        "survive": manifest.and_then(|manifest| manifest.survive),
        "imports": inspection.imports,
        "claims": claims,
    });
    if let Some(offer) = offer {
        let suspicions = find_suspicions(offer);
        value["tools"] = offer.tools.iter().map(tool).collect();
        value["resources"] = offer.resources.iter().map(|resource| resource.uri.as_str()).collect();
        value["prompts"] = offer.prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        value["suspicions"] = suspicions.iter().map(ToString::to_string).collect();
        value["unportable"] = offer.tools.iter().flat_map(find_unportable).collect();
    }
    value
}

fn tool(tool: &Tool) -> Value {
    let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": schema(&tool.input_schema),
        "outputSchema": tool.output_schema.as_deref().map(schema),
    })
}

/// Requests or grants by key.
pub(super) fn lines(lines: &[(&'static str, String)]) -> Value {
    let mut value = Map::new();
    for (key, text) in lines {
        if let Value::Array(list) = value.entry(*key).or_insert_with(|| json!([])) {
            list.push(text.as_str().into());
        }
    }
    value.into()
}
