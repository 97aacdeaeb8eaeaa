//! Schemas of other servers, rewritten in the keywords of draft 2020-12. Their authors use older drafts, and make mistakes that
//! nobody has refused. A client that cannot read one schema loses the whole list of tools, and this host can check values only
//! against a schema that it can read.

use super::portable::{LISTS, MAPS, SCHEMAS, USUALLY_BOOLEAN};
use serde_json::{Map, Value, json};

/// Keywords whose value may be any JSON value, including `null`.
const MAY_BE_NULL: [&str; 2] = ["const", "default"];
/// Limits that draft 4 writes as a boolean beside another limit.
const LIMITS: [(&str, &str); 2] = [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")];

const DRAFT: &str = "$schema";
const CURRENT_DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Rewrites the schema of a tool's arguments or result. A reference that leaves the schema is removed, since nobody follows it.
/// If a schema that names its draft is rewritten, it names the current draft: in an older one, the same keywords mean something
/// else.
pub fn to_current_draft(given: Map<String, Value>) -> Map<String, Value> {
    let mut schema = given.clone();
    keywords(&mut schema);
    if schema != given && schema.contains_key(DRAFT) {
        schema.insert(DRAFT.to_owned(), CURRENT_DRAFT.into());
    }
    schema
}

fn keywords(keywords: &mut Map<String, Value>) {
    keywords.retain(|key, value| match (key.as_str(), &*value) {
        ("$ref" | "$dynamicRef", Value::String(target)) => target.starts_with('#'),
        ("required", Value::Array(names)) => names.iter().all(Value::is_string),
        ("required", _) => false,
        ("type", Value::String(kind)) => kind != "any",
        (key, Value::Null) => MAY_BE_NULL.contains(&key) || key.starts_with("x-"),
        _ => true,
    });
    for (exclusive, limit) in LIMITS {
        let Some(Value::Bool(is_exclusive)) = keywords.get(exclusive) else { continue };
        let is_exclusive = *is_exclusive;
        keywords.remove(exclusive);
        if is_exclusive && let Some(limit) = keywords.remove(limit) {
            keywords.insert(exclusive.to_owned(), limit);
        }
    }
    if let Some(Value::Array(tuple)) = keywords.get_mut("items") {
        let tuple = std::mem::take(tuple);
        keywords.remove("items");
        if !tuple.is_empty() {
            keywords.insert("prefixItems".to_owned(), tuple.into());
        }
        if let Some(others) = keywords.remove("additionalItems") {
            keywords.insert("items".to_owned(), others);
        }
    }
    require_marked(keywords);
    for (key, value) in keywords.iter_mut() {
        let key = key.as_str();
        if MAPS.contains(&key) {
            // PHP writes an empty map as an empty list.
            if value.as_array().is_some_and(Vec::is_empty) {
                *value = json!({});
            }
            value.as_object_mut().into_iter().flat_map(|map| map.values_mut()).for_each(schema);
        } else if LISTS.contains(&key) {
            value.as_array_mut().into_iter().flatten().for_each(schema);
        } else if SCHEMAS.contains(&key) || USUALLY_BOOLEAN.contains(&key) {
            schema(value);
        }
    }
}

fn schema(value: &mut Value) {
    if let Value::Object(members) = value {
        keywords(members);
    }
}

/// Draft 3 marks each property that is required.
fn require_marked(keywords: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = keywords.get("properties") else { return };
    let is_marked = |property: &Value| property.get("required") == Some(&Value::Bool(true));
    let marked: Vec<_> = properties.iter().filter(|(_, it)| is_marked(it)).map(|(name, _)| name.clone()).collect();
    if marked.is_empty() {
        return;
    }
    if let Value::Array(required) = keywords.entry("required").or_insert_with(|| json!([])) {
        for name in marked {
            if !required.iter().any(|known| *known == name.as_str()) {
                required.push(name.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::*;

    fn current(schema: Value) -> Value {
        Value::Object(to_current_draft(schema.as_object().cloned().unwrap_or_default()))
    }

    #[test]
    fn older_drafts_and_slips_are_written_in_the_current_one() {
        let properties = |properties: Value| json!({ "type": "object", "properties": properties });
        for (older, newer) in [
            (properties(json!([])), properties(json!({}))),
            (json!({"type": "object", "required": true}), json!({"type": "object"})),
            (json!({"type": "object", "required": ["a", 7]}), json!({"type": "object"})),
            (
                properties(json!({"a": {"type": "string", "required": true}, "b": {"required": false}})),
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}),
            ),
            (
                properties(json!({"a": {"minimum": 0, "exclusiveMinimum": true, "exclusiveMaximum": false}})),
                properties(json!({"a": {"exclusiveMinimum": 0}})),
            ),
            (
                properties(json!({"a": {"items": [{"type": "string"}, {"type": "any"}], "additionalItems": false}})),
                properties(json!({"a": {"prefixItems": [{"type": "string"}, {}], "items": false}})),
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "not": {"items": [{}]}}),
                json!({"$schema": CURRENT_DRAFT, "not": {"prefixItems": [{}]}}),
            ),
            (
                properties(json!({"a": {"description": null, "enum": null, "default": null, "const": null}})),
                properties(json!({"a": {"default": null, "const": null}})),
            ),
            (
                properties(json!({"a": {"$ref": "file:///etc/passwd"}, "b": {"$ref": "#/$defs/c"}})),
                properties(json!({"a": {}, "b": {"$ref": "#/$defs/c"}})),
            ),
        ] {
            let rewritten = current(older.clone());
            assert_eq!(rewritten, newer, "{older}");
            assert!(Schema::compile(&older.to_string()).is_err(), "{older}");
            assert_eq!(current(newer.clone()), newer);
        }
    }

    #[test]
    fn what_is_data_is_left_as_it_is() {
        let data = json!({"required": true, "items": [1], "description": null});
        let schema = json!({"type": "object", "default": data, "examples": [data], "enum": [data], "x-note": null,
            "properties": {"required": {"const": data}, "items": {"enum": [data]}, "type": {"default": data}}});
        assert_eq!(current(schema.clone()), schema);
    }
}
