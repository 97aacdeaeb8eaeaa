//! One digest of all that a component says of itself to people and models: what was reviewed is what is served, or the
//! digest differs.

use policy::Digest;
use runtime::imports::{Offer, Tool};
use serde::Serialize;
use serde_json::{Map, Value};

/// Of everything in an offer, however it is ordered: lists by name or URI, keys of objects by name, schemas as JSON and
/// not as text. Arguments of a prompt and pictures keep their order, which people see.
pub fn definitions(offer: &Offer) -> Digest {
    let Offer { tools, resources, templates, prompts, completes } = offer;
    let mut all = Map::new();
    all.insert("tools".into(), sorted(tools.iter().map(tool)));
    all.insert("resources".into(), sorted(resources.iter().map(plain)));
    all.insert("templates".into(), sorted(templates.iter().map(plain)));
    all.insert("prompts".into(), sorted(prompts.iter().map(plain)));
    all.insert("completes".into(), (*completes).into());
    let mut text = String::from("portcullis:definitions:1\n");
    write(&Value::Object(all), &mut text);
    Digest::of(text.as_bytes())
}

/// A tool as JSON, its schemas too. A schema that is none stays the text it is, and no schema is a text.
fn tool(tool: &Tool) -> Value {
    let mut value = plain(tool);
    for key in ["input_schema", "output_schema"] {
        if let Some(Value::String(text)) = value.get(key)
            && let Ok(schema) = serde_json::from_str::<Value>(text)
        {
            value[key] = schema;
        }
    }
    value
}

/// These types have nothing that JSON has not; a number that is none (of a priority) is `null`.
fn plain(thing: &impl Serialize) -> Value {
    serde_json::to_value(thing).unwrap_or_default()
}

fn sorted(things: impl Iterator<Item = Value>) -> Value {
    let mut texts: Vec<(String, Value)> = things
        .map(|thing| {
            let mut text = String::new();
            write(&thing, &mut text);
            (text, thing)
        })
        .collect();
    texts.sort_by(|a, b| a.0.cmp(&b.0));
    texts.into_iter().map(|(_, thing)| thing).collect()
}

/// JSON with the keys of each object in order and nothing between.
fn write(value: &Value, out: &mut String) {
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
                write(member, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{prompt, resource, template, tool};
    use super::*;
    use runtime::imports::{Execution, Icon};

    fn offer() -> Offer {
        let mut read = tool("read");
        read.input_schema =
            r#"{"type":"object","properties":{"path":{"type":"string","enum":["a","b"]}},"required":["path"]}"#.into();
        Offer {
            tools: vec![read, tool("write")],
            resources: vec![resource("n:1")],
            templates: vec![template("n:{x}")],
            prompts: vec![prompt("plan", &["where", "when"])],
            completes: false,
        }
    }

    #[test]
    fn order_means_nothing() {
        let mut other = offer();
        other.tools.reverse();
        other.tools[1].input_schema = r#"{ "required": ["path"], "type": "object",
            "properties": { "path": { "enum": ["a", "b"], "type": "string" } } }"#
            .into();
        assert_eq!(definitions(&offer()), definitions(&other));
        assert_eq!(
            definitions(&Offer::default()).as_str(),
            "sha256:19e7d5a8ec37a39bc3af8595f4dfacd18607827dd119d2b0cfa1b7c398b610fd",
            "a change of this digest stages every plugin that is installed anywhere"
        );
    }

    #[test]
    fn every_mutation_is_seen() {
        let icon = |src: &str| Icon { src: src.into(), mime_type: None, sizes: vec![] };
        let schema = |offer: &mut Offer, from: &str, to: &str| {
            let text = offer.tools[0].input_schema.replace(from, to);
            assert_ne!(text, offer.tools[0].input_schema);
            offer.tools[0].input_schema = text;
        };
        type Mutation = (&'static str, Box<dyn Fn(&mut Offer)>);
        let mutations: Vec<Mutation> = vec![
            ("a space", Box::new(|o| o.tools[0].description.push(' '))),
            ("another name", Box::new(|o| o.tools[0].name = "read2".into())),
            ("a title", Box::new(|o| o.tools[0].title = Some("Read".into()))),
            ("an enum value", Box::new(move |o| schema(o, r#""b"]"#, r#""b","c"]"#))),
            ("an enum reordered", Box::new(move |o| schema(o, r#"["a","b"]"#, r#"["b","a"]"#))),
            ("required dropped", Box::new(move |o| schema(o, r#","required":["path"]"#, ""))),
            (
                "words in the schema",
                Box::new(move |o| schema(o, r#""type":"string""#, r#""type":"string","title":"Now""#)),
            ),
            ("another key", Box::new(move |o| schema(o, r#"{"path":"#, r#"{"Path":"#))),
            ("an output schema", Box::new(|o| o.tools[0].output_schema = Some(r#"{"type":"object"}"#.into()))),
            ("a hint turned", Box::new(|o| o.tools[0].annotations.read_only = Some(true))),
            ("a picture", Box::new(move |o| o.tools[0].icons.push(icon("https://a.example/1.png")))),
            ("how long it takes", Box::new(|o| o.tools[0].execution = Execution::MayRunLong)),
            ("a tool more", Box::new(|o| o.tools.push(tool("delete")))),
            ("a tool less", Box::new(|o| o.tools.truncate(1))),
            ("a resource's words", Box::new(|o| o.resources[0].description = Some("x".into()))),
            ("a template's words", Box::new(|o| o.templates[0].name = "other".into())),
            ("a prompt's argument", Box::new(|o| o.prompts[0].arguments[0].required = false)),
            ("arguments reordered", Box::new(|o| o.prompts[0].arguments.reverse())),
            ("completions", Box::new(|o| o.completes = true)),
        ];
        let mut seen = vec![definitions(&offer())];
        for (what, mutate) in mutations {
            let mut mutated = offer();
            mutate(&mut mutated);
            let digest = definitions(&mutated);
            assert!(!seen.contains(&digest), "{what} makes no difference");
            seen.push(digest);
        }
    }

    #[test]
    fn a_text_is_no_schema_of_the_same_looks() {
        let mut text = offer();
        text.tools[0].input_schema = r#""{}""#.into();
        let mut none = offer();
        none.tools[0].input_schema = "{".into();
        assert_ne!(definitions(&text), definitions(&none));
    }
}
