//! Schemas in the form in which clients get them. A well-known client that cannot read one tool's schema loses the whole list
//! of tools, or its model refuses all of them.

use super::cost::{in_place, to_children};
use super::references::References;
use policy::is_name;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Keywords that hold a schema, a list of schemas, or a map of them.
pub(super) const SCHEMAS: [&str; 8] =
    ["not", "if", "then", "else", "items", "contains", "propertyNames", "contentSchema"];
pub(super) const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
pub(super) const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords whose value may be `true` or `false` for every client; some clients know nothing else there.
pub(super) const USUALLY_BOOLEAN: [&str; 4] =
    ["additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems"];

/// The formats of JSON Schema 2020-12. Clients print a warning at the user's terminal for any other format, such as `uint64`.
const FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// Bytes and punctuation that all clients accept in the name of a property.
const MAX_PROPERTY_NAME: usize = 64;
const IN_PROPERTY_NAMES: &str = "_.-";

/// The same schema in a form that all clients can read: it accepts exactly the same values. It was compiled before, so its
/// nesting is bounded.
pub fn to_portable(mut schema: Map<String, Value>) -> Map<String, Value> {
    schema.entry("properties").or_insert_with(|| json!({}));
    // With `unevaluatedItems`, an added `items` would change the meaning, because it counts as evaluating all items.
    let add_items = !schema.values().any(mentions_unevaluated_items);
    Rewrite { add_items }.keywords(&mut schema);
    schema
}

struct Rewrite {
    /// Whether lists get `items`, without which some clients accept no list.
    add_items: bool,
}

impl Rewrite {
    fn keywords(&self, keywords: &mut Map<String, Value>) {
        if keywords.get("format").and_then(Value::as_str).is_some_and(|format| !FORMATS.contains(&format)) {
            keywords.remove("format");
        }
        for (key, value) in keywords.iter_mut() {
            match value {
                Value::Object(schemas) if MAPS.contains(&key.as_str()) => {
                    schemas.values_mut().for_each(|it| self.schema(it));
                }
                Value::Object(schema) if USUALLY_BOOLEAN.contains(&key.as_str()) => self.keywords(schema),
                Value::Array(schemas) if LISTS.contains(&key.as_str()) => {
                    schemas.iter_mut().for_each(|it| self.schema(it));
                }
                schema if SCHEMAS.contains(&key.as_str()) => self.schema(schema),
                _ => {}
            }
        }
        let is_list =
            |kind: &Value| kind == "array" || kind.as_array().is_some_and(|all| all.contains(&"array".into()));
        if self.add_items && keywords.get("type").is_some_and(is_list) {
            keywords.entry("items").or_insert_with(|| json!({}));
        }
    }

    /// Writes a boolean schema as an object.
    fn schema(&self, schema: &mut Value) {
        match schema {
            Value::Bool(true) => *schema = json!({}),
            Value::Bool(false) => *schema = json!({ "not": {} }),
            Value::Object(keywords) => self.keywords(keywords),
            _ => {}
        }
    }
}

fn mentions_unevaluated_items(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(mentions_unevaluated_items),
        Value::Object(members) => {
            members.contains_key("unevaluatedItems") || members.values().any(mentions_unevaluated_items)
        }
        _ => false,
    }
}

/// Valid parts of a schema that some clients cannot read, and that cannot be written in another way. Each is the end of a
/// sentence that begins with the schema.
pub fn unportable_parts(schema: &Value) -> Vec<&'static str> {
    let (mut parts, mut odd_names) = (Vec::new(), false);
    let is_recursive = visit(schema, |keywords| {
        let mut names = keywords.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        odd_names |= names.any(|name| !is_name(name, MAX_PROPERTY_NAME, IN_PROPERTY_NAMES));
    });
    if is_recursive {
        parts.push("refers to itself");
    }
    if odd_names {
        parts.push("has a property whose name is not 1 to 64 of A-Z a-z 0-9 _ . -");
    }
    if LISTS.iter().any(|key| *key != "prefixItems" && schema.get(*key).is_some()) {
        parts.push("has `allOf`, `anyOf` or `oneOf` at its root");
    }
    parts
}

/// Visits each subschema once. Returns whether following references and subschemas leads back to where it began.
fn visit(root: &Value, mut visitor: impl FnMut(&Map<String, Value>)) -> bool {
    let references = References::new(root);
    // By address: whether everything below has been seen. There is no recursion, because a path of references can have any
    // length.
    let mut seen = HashMap::<*const Value, bool>::new();
    let (mut pending, mut leads_back) = (vec![(root, false)], false);
    while let Some((schema, is_end)) = pending.pop() {
        let address = std::ptr::from_ref(schema);
        if is_end {
            seen.insert(address, true);
            continue;
        }
        if let Some(is_closed) = seen.get(&address) {
            leads_back |= !is_closed;
            continue;
        }
        seen.insert(address, false);
        pending.push((schema, true));
        let Value::Object(keywords) = schema else { continue };
        visitor(keywords);
        let referred = references.referred_by(schema).unwrap_or_default();
        let below = in_place(keywords).chain(to_children(keywords)).chain(referred);
        pending.extend(below.map(|below| (below, false)));
    }
    leads_back
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::*;

    fn portable(schema: Value) -> Value {
        Value::Object(to_portable(schema.as_object().cloned().unwrap_or_default()))
    }

    #[test]
    fn boolean_schemas_become_objects_and_properties_are_always_there() {
        assert_eq!(portable(json!({"type": "object"})), json!({"type": "object", "properties": {}}));
        let schema = json!({
            "type": "object",
            "properties": {"a": true, "b": false, "c": {"items": true, "prefixItems": [true], "not": false}},
            "patternProperties": {"^x": true}, "$defs": {"d": true}, "anyOf": [true, {"properties": {"e": true}}],
            "additionalProperties": false, "unevaluatedProperties": {"propertyNames": true},
            "default": {"properties": {"a": true}}, "const": true, "enum": [true],
        });
        let expected = json!({
            "type": "object",
            "properties": {"a": {}, "b": {"not": {}}, "c": {"items": {}, "prefixItems": [{}], "not": {"not": {}}}},
            "patternProperties": {"^x": {}}, "$defs": {"d": {}}, "anyOf": [{}, {"properties": {"e": {}}}],
            "additionalProperties": false, "unevaluatedProperties": {"propertyNames": {}},
            "default": {"properties": {"a": true}}, "const": true, "enum": [true],
        });
        assert_eq!(portable(schema), expected);
        assert_eq!(portable(expected.clone()), expected);
    }

    #[test]
    fn formats_that_json_schema_does_not_define_are_left_out() {
        let count = json!({"type": "integer", "format": "uint64", "minimum": 0});
        let schema = json!({
            "type": "object",
            "properties": {"format": count, "when": {"type": "string", "format": "date-time"}},
            "additionalProperties": {"type": "number", "format": "double"},
            "default": {"format": "uint64"},
        });
        let expected = json!({
            "type": "object",
            "properties": {"format": {"type": "integer", "minimum": 0}, "when": {"type": "string", "format": "date-time"}},
            "additionalProperties": {"type": "number"},
            "default": {"format": "uint64"},
        });
        assert_eq!(portable(schema), expected);
    }

    #[test]
    fn lists_say_of_what_unless_that_says_more() {
        let list = |more: Value| json!({"type": "object", "properties": {"a": {"type": ["array", "null"]}, "b": more}});
        assert_eq!(portable(list(json!({})))["properties"]["a"]["items"], json!({}));
        assert_eq!(
            portable(list(json!({"type": "array", "items": false})))["properties"]["b"]["items"],
            json!({"not": {}})
        );
        let counted = list(json!({"anyOf": [{"type": "array", "prefixItems": [{}]}], "unevaluatedItems": false}));
        assert_eq!(portable(counted.clone()), counted);
    }

    #[test]
    fn a_portable_schema_accepts_the_same_values() {
        let values = [
            json!({}),
            json!({"a": 1}),
            json!({"b": null}),
            json!({"a": [1, "x"], "x1": 2}),
            json!({"a": {"a": {"b": 1}}}),
            json!({"c": "x", "a": true}),
            json!([]),
        ];
        let mut verdicts = [0, 0];
        for schema in [
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": false}),
            json!({"type": "object", "unevaluatedProperties": false, "anyOf": [{"properties": {"a": true}}, false]}),
            json!({"type": "object", "properties": {"a": true, "b": false}}),
            json!({"type": "object", "properties": {"a": {"items": false}}, "additionalProperties": true}),
            json!({"type": "object", "properties": {"a": {"prefixItems": [true, false]}}}),
            json!({"type": "object", "if": {"required": ["a"]}, "then": false, "else": true}),
            json!({"type": "object", "propertyNames": true, "dependentSchemas": {"a": false}}),
            json!({"type": "object", "patternProperties": {"^x": false}, "not": {"required": ["c"]}}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/no"}}, "$defs": {"no": false}}),
            json!({"type": "object", "properties": {"a": {"$ref": "#"}, "b": false}}),
            json!({"type": "object", "properties": {"a": {"type": "array", "prefixItems": [true, false]}}}),
            json!({"type": "object", "properties": {"a": {"type": "array", "unevaluatedItems": false}}}),
        ] {
            let compile = |schema: &Value| Schema::compile(&schema.to_string()).unwrap();
            let (before, after) = (compile(&schema), compile(&portable(schema.clone())));
            for value in &values {
                let valid = before.check(value).is_ok();
                assert_eq!(after.check(value).is_ok(), valid, "{schema} {value}");
                verdicts[usize::from(valid)] += 1;
            }
        }
        assert!(verdicts[0] > 15 && verdicts[1] > 15, "{verdicts:?}");
    }

    #[test]
    fn what_only_some_clients_read_is_named() {
        let properties = |a: Value, b: Value| json!({"type": "object", "properties": {"a": a}, "$defs": {"b": b}});
        let to = |target: &str| json!({"$ref": target});
        for recursive in [
            properties(to("#"), json!({})),
            properties(to("#/properties/a"), json!({})),
            properties(to("#/$defs/b"), json!({"items": {"$ref": "#/$defs/b"}})),
            properties(to("#/$defs/b"), json!({"anyOf": [{"type": "null"}, {"$ref": "#/properties/a"}]})),
            properties(json!({"$dynamicRef": "#here"}), json!({"$anchor": "here", "items": {"$ref": "#here"}})),
        ] {
            assert_eq!(unportable_parts(&recursive), ["refers to itself"], "{recursive}");
        }
        let twice = json!({"items": {"type": "string"}, "not": {"$ref": "#/$defs/c"}});
        for plain in [
            json!({"type": "object"}),
            properties(to("#/$defs/b"), twice.clone()),
            json!({"type": "object", "properties": {"a": to("#/$defs/b"), "c": to("#/$defs/b")}, "$defs": {"b": {}}}),
            properties(json!({"anyOf": [{"type": "null"}]}), json!({"const": {"$ref": "#"}})),
        ] {
            assert!(unportable_parts(&plain).is_empty(), "{plain}");
        }
        assert_eq!(unportable_parts(&json!({"type": "object", "anyOf": [{}]})).len(), 1);
        for name in ["", "a b", "ä", "a/b", &"x".repeat(65)] {
            let inside = properties(json!({}), json!({"properties": {name: {}}}));
            assert!(unportable_parts(&inside)[0].contains("name"), "{name}");
        }
    }

    #[test]
    fn a_long_path_of_references_is_followed_without_recursion() {
        let next = |n: usize| json!({"items": {"$ref": format!("#/$defs/d{}", n + 1)}});
        let mut definitions: Map<String, Value> = (0..2_000).map(|n| (format!("d{n}"), next(n))).collect();
        definitions.insert("d2000".into(), json!({}));
        let schema = |definitions: &Map<String, Value>| json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
        assert!(!visit(&schema(&definitions), |_| ()));
        definitions.insert("d2000".into(), json!({"not": {"$ref": "#/properties/a"}}));
        assert!(visit(&schema(&definitions), |_| ()));
    }
}
