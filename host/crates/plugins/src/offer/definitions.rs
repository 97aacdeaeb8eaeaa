//! The digest of everything that a component says to people and models. It differs when what is served is not what was
//! reviewed.

use policy::Digest;
use runtime::imports::{Offer, Tool};
use serde::Serialize;
use serde_json::{Map, Value};

/// The digest of an offer. The order of lists and of the keys of objects does not matter, nor does the layout of a schema's
/// JSON. The order of a prompt's arguments and of icons does, because people see it.
pub fn definitions_digest(offer: &Offer) -> Digest {
    let Offer { tools, resources, templates, prompts, completes } = offer;
    let mut all = Map::new();
    all.insert("tools".into(), sorted(tools.iter().map(tool)));
    all.insert("resources".into(), sorted(resources.iter().map(to_json)));
    all.insert("templates".into(), sorted(templates.iter().map(to_json)));
    all.insert("prompts".into(), sorted(prompts.iter().map(to_json)));
    all.insert("completes".into(), (*completes).into());
    let mut text = String::from("portcullis:definitions:1\n");
    write_canonical(&Value::Object(all), &mut text);
    Digest::sha256(text.as_bytes())
}

/// A tool as JSON with its schemas parsed. A schema that is not JSON stays a string, which no valid schema is.
fn tool(tool: &Tool) -> Value {
    let mut value = to_json(tool);
    for key in ["input_schema", "output_schema"] {
        if let Some(Value::String(text)) = value.get(key)
            && let Ok(schema) = serde_json::from_str::<Value>(text)
        {
            value[key] = schema;
        }
    }
    value
}

/// Serialising these types cannot fail; a priority that is not a number becomes `null`.
fn to_json(thing: &impl Serialize) -> Value {
    serde_json::to_value(thing).unwrap_or_default()
}

fn sorted(things: impl Iterator<Item = Value>) -> Value {
    let mut texts: Vec<(String, Value)> = things
        .map(|thing| {
            let mut text = String::new();
            write_canonical(&thing, &mut text);
            (text, thing)
        })
        .collect();
    texts.sort_by(|a, b| a.0.cmp(&b.0));
    texts.into_iter().map(|(_, thing)| thing).collect()
}

/// Writes JSON with sorted keys and without whitespace.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, member)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(member, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{mutations, offer};
    use super::*;

    #[test]
    fn order_does_not_change_the_digest() {
        let mut other = offer();
        other.tools.reverse();
        other.tools[1].input_schema = r#"{ "required": ["path"], "type": "object",
            "properties": { "path": { "enum": ["a", "b"], "type": "string" } } }"#
            .into();
        assert_eq!(definitions_digest(&offer()), definitions_digest(&other));
        assert_eq!(
            definitions_digest(&Offer::default()).as_str(),
            "sha256:19e7d5a8ec37a39bc3af8595f4dfacd18607827dd119d2b0cfa1b7c398b610fd",
            "a change of this digest stages every plugin that is installed anywhere"
        );
    }

    #[test]
    fn every_change_changes_the_digest() {
        let mut seen = vec![definitions_digest(&offer())];
        for (what, mutate) in mutations() {
            let mut mutated = offer();
            mutate(&mut mutated);
            let digest = definitions_digest(&mutated);
            assert!(!seen.contains(&digest), "{what} makes no difference");
            seen.push(digest);
        }
    }

    #[test]
    fn a_string_is_not_the_schema_that_it_spells() {
        let mut text = offer();
        text.tools[0].input_schema = r#""{}""#.into();
        let mut none = offer();
        none.tools[0].input_schema = "{".into();
        assert_ne!(definitions_digest(&text), definitions_digest(&none));
    }
}
