//! JSON Schemas of tools: compiled once per plugin, with nothing in them that could reach out or run away.

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

/// Bytes of one schema. Bounds what a list of tools costs every client.
const MAX_BYTES: usize = 64 << 10;
/// Nesting. Bounds recursion of whoever walks it.
const MAX_DEPTH: usize = 32;
/// Objects in it, schemas all of them or nearly. Bounds what compiling it and checking one value costs.
const MAX_OBJECTS: usize = 512;
/// How many complaints about a value are told.
const MAX_COMPLAINTS: usize = 3;
/// How much of one complaint is told; the value is the guest's or the client's.
const MAX_COMPLAINT: usize = 300;

/// A schema that is not accepted; a sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// A compiled schema and the document it was made of.
#[derive(Debug)]
pub struct Schema {
    document: Map<String, Value>,
    validator: Validator,
}

impl Schema {
    /// Compiles JSON text. The root must be an object schema: MCP has nothing else for tools.
    pub fn compile(text: &str) -> Result<Self, SchemaError> {
        let fail = |reason: String| SchemaError(reason);
        if text.len() > MAX_BYTES {
            return Err(fail(format!("it is {} bytes, more than {MAX_BYTES}", text.len())));
        }
        let value: Value = serde_json::from_str(text).map_err(|error| fail(format!("it is not JSON: {error}")))?;
        if depth(&value) > MAX_DEPTH {
            return Err(fail(format!("it is nested more than {MAX_DEPTH} deep")));
        }
        if objects(&value) > MAX_OBJECTS {
            return Err(fail(format!("it has more than {MAX_OBJECTS} objects")));
        }
        if let Some(reference) = foreign_reference(&value) {
            return Err(fail(format!("it refers to {reference:?}; only references into itself (`#...`) are followed")));
        }
        if value.get("type") != Some(&Value::from("object")) {
            return Err(fail("its root must say `\"type\": \"object\"`".into()));
        }
        // The `regex` engine runs in linear time; the default one can be made to backtrack for ever.
        let validator = jsonschema::draft202012::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&value)
            .map_err(|error| fail(format!("it is not a JSON Schema: {error}")))?;
        match value {
            Value::Object(document) => Ok(Self { document, validator }),
            _ => Err(fail("its root must be an object".into())),
        }
    }

    /// Without the document, which takes memory that a schema needs only to be looked at.
    pub fn without_document(mut self) -> Self {
        self.document = Map::new();
        self
    }

    /// The schema as a document.
    pub fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// Whether a value matches; otherwise where and why not, in a sentence.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let complaints: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(MAX_COMPLAINTS)
            .map(|error| {
                let mut text = match error.instance_path().as_str() {
                    "" => error.to_string(),
                    path => format!("{path}: {error}"),
                };
                if text.len() > MAX_COMPLAINT {
                    text.truncate(text.floor_char_boundary(MAX_COMPLAINT));
                    text.push('…');
                }
                text
            })
            .collect();
        Err(complaints.join("; "))
    }
}

fn depth(value: &Value) -> usize {
    // Recursion is bounded by serde_json's own limit of 128.
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(items) => 1 + items.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn objects(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(objects).sum(),
        Value::Object(items) => 1 + items.values().map(objects).sum::<usize>(),
        _ => 0,
    }
}

/// The first reference that leaves the document. None is ever fetched; saying so beats an error about a missing one.
fn foreign_reference(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.iter().find_map(foreign_reference),
        Value::Object(items) => items.iter().find_map(|(key, item)| match (key.as_str(), item) {
            ("$ref" | "$dynamicRef", Value::String(target)) if !target.starts_with('#') => Some(target.as_str()),
            _ => foreign_reference(item),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn checks_values_and_says_where() {
        let schema = Schema::compile(
            r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#,
        )
        .unwrap();
        assert_eq!(schema.check(&json!({"n": 1})), Ok(()));
        assert!(schema.check(&json!({"n": "x"})).unwrap_err().starts_with("/n: "));
        assert!(schema.check(&json!({})).unwrap_err().contains("required"));
        assert!(schema.check(&json!({"n": "x".repeat(10_000)})).unwrap_err().len() < 400);
    }

    #[test]
    fn refuses_what_reaches_out_or_runs_away() {
        for bad in [
            "{",
            "[]",
            "{}",
            r#"{"type":"string"}"#,
            r#"{"type":"object","properties":{"a":{"$ref":"http://x/y"}}}"#,
            r#"{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}"#,
            r#"{"type":"object","properties":3}"#,
            &format!(r#"{{"type":"object","a":{}1{}}}"#, "[".repeat(60), "]".repeat(60)),
        ] {
            assert!(Schema::compile(bad).is_err(), "{bad}");
        }
        let evil = Schema::compile(r#"{"type":"object","properties":{"a":{"pattern":"^(a+)+$"}}}"#).unwrap();
        assert!(evil.check(&json!({"a": format!("{}!", "a".repeat(50_000))})).is_err());
    }
}
