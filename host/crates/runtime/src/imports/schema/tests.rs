//! Hostile and realistic schemas and values.

use super::*;
use serde_json::json;
use std::fmt::Write as _;

fn compile(schema: &Value) -> Result<Schema, SchemaError> {
    Schema::compile(&schema.to_string())
}

fn refused(schema: &Value) -> String {
    compile(schema).unwrap_err().to_string()
}

#[test]
fn errors_say_where_a_value_does_not_match() {
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
fn refuses_remote_references_and_backtracking() {
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

/// Definitions that each name the next one twice.
fn reference_chain(steps: usize, step: impl Fn(Value) -> Value) -> Value {
    let mut definitions = Map::new();
    for number in 0..steps {
        definitions.insert(format!("d{number}"), step(json!({"$ref": format!("#/$defs/d{}", number + 1)})));
    }
    definitions.insert(format!("d{steps}"), json!({"maxProperties": 0}));
    json!({"type": "object", "$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn chains_of_references_are_refused_before_compilation() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let twice = |next: Value| json!({keyword: [next, next]});
        for steps in [14, 30, 60] {
            let why = refused(&reference_chain(steps, twice));
            assert!(why.contains("to one location") || why.contains("nested at one location"), "{why}");
        }
        compile(&reference_chain(8, twice)).unwrap();
    }
    let branches = |next: Value| json!({"if": next, "then": next, "else": next});
    assert!(refused(&reference_chain(12, branches)).contains("to one location"));
    let dependent = |next: Value| json!({"dependentSchemas": {"a": next, "b": next}});
    assert!(refused(&reference_chain(14, dependent)).contains("to one location"));
    let unevaluated = |next: Value| json!({"anyOf": [next], "unevaluatedProperties": false});
    assert!(refused(&reference_chain(10, unevaluated)).contains("to one location"));
    let named = |next: Value| json!({"$dynamicAnchor": "x", "not": {"$dynamicRef": "#y"}, "allOf": [next, next]});
    let mut anchored = reference_chain(13, named);
    anchored["$defs"]["d13"] = json!({"$dynamicAnchor": "y"});
    assert!(refused(&anchored).contains("to one location"));
}

#[test]
fn endless_recursion_is_refused() {
    for own in [
        json!({"type": "object", "anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"type": "object", "$dynamicAnchor": "x", "allOf": [{"$dynamicRef": "#x"}]}),
        json!({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"type": "object", "$ref": "#/$defs/%61", "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}),
        json!({"type": "object", "$ref": "#/x/0", "x": [{"$ref": "#/x/0"}]}),
    ] {
        assert!(refused(&own).contains("never ends"), "{own}");
    }
    assert!(refused(&json!({"type": "object", "$ref": "#/nowhere"})).contains("not in it"));
    assert!(refused(&json!({"type": "object", "properties": {"a": {"$id": "x"}}})).contains("$id"));
}

/// `{"a": {"a": ...}}`.
fn deep(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({"a": inner}))
}

#[test]
fn repeated_visits_of_a_location_end() {
    let own = json!({"$ref": "#"});
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schema = json!({"type": "object", "properties": {"a": {keyword: [own, own]}}});
        compile(&schema).unwrap().check(&deep(100)).unwrap_err();
    }
    let schema = json!({"type": "object", "properties": {"a": own}, "patternProperties": {"a": own, "^.$": own}});
    compile(&schema).unwrap().check(&deep(100)).unwrap_err();
    // Here the library caches nothing: there are 2^60 ways to the innermost place.
    let down = |next: Value| json!({"properties": {"a": {"allOf": [next, next]}}});
    let why = compile(&reference_chain(60, down)).unwrap().check(&deep(60)).unwrap_err();
    assert!(why.contains("too long"), "{why}");
    let inside = |next: Value| json!({"items": {"allOf": [next, next]}, "contains": next});
    let mut schema = reference_chain(60, inside);
    schema["properties"] = json!({"a": {"$ref": "#/$defs/d1"}});
    let value = json!({"a": (0..60).fold(json!([]), |inner, _| json!([inner]))});
    assert!(compile(&schema).unwrap().check(&value).unwrap_err().contains("too long"));
}

#[test]
fn error_messages_are_bounded() {
    let alternatives: Vec<Value> = (0..200).map(|number| json!({"properties": {"a": {"const": number}}})).collect();
    let schema = json!({"type": "object", "additionalProperties": {"anyOf": alternatives}});
    let value: Map<String, Value> = (0..2_000).map(|number| (number.to_string(), json!({"a": "x"}))).collect();
    let why = compile(&schema).unwrap().check(&Value::Object(value)).unwrap_err();
    assert!(why.contains("does not match"), "{why}");
}

#[test]
fn patterns_are_bounded_in_size_number_and_text() {
    let schema = |pattern: &str| json!({"type": "object", "properties": {"a": {"pattern": pattern}}});
    assert!(refused(&schema("(a{1,1000}){1,1000}")).contains("at most 512 KiB"));
    assert!(refused(&schema("(?=a)b")).contains("look-around"));
    let many = |number: usize, pattern: &str| {
        let all: Map<String, Value> = (0..number).map(|n| (format!("{pattern}{n}"), json!({}))).collect();
        json!({"type": "object", "patternProperties": all})
    };
    compile(&many(60, "^x-")).unwrap();
    assert!(refused(&many(70, "^x-")).contains("patterns"));
    assert!(refused(&many(40, "^.{1,256}")).contains("some are large"));
    // A text that is checked against a pattern can be a whole file, not only a name.
    let file = json!({"a": "QUJD".repeat(100_000)});
    compile(&schema("^[A-Za-z0-9+/]*={0,2}$")).unwrap().check(&file).unwrap();
    // As many states as it has repetitions, and each of them alive at each character.
    let slow = compile(&schema("(a|b)*a(a|b){100}c")).unwrap();
    let text: String =
        (0..4 << 20).map(|n: u32| if n.wrapping_mul(2_654_435_761) >> 31 == 0 { 'a' } else { 'b' }).collect();
    assert!(slow.check(&json!({"a": text})).unwrap_err().contains("too long"));
    let names: Map<String, Value> = (0..2_000).map(|n| (format!("{n}{}", "b".repeat(100)), json!(1))).collect();
    assert!(compile(&many(60, "^x-")).unwrap().check(&Value::Object(names)).unwrap_err().contains("too long"));
}

#[test]
fn hash_collisions_are_priced() {
    // Trees of empty arrays are all the same to the library's hash.
    fn tree(number: u32) -> Value {
        match number {
            0 => json!([]),
            _ if number & 1 == 0 => json!([tree(number >> 1)]),
            _ => json!([tree(number >> 1), []]),
        }
    }
    let schema = compile(&json!({"type": "object", "properties": {"a": {"uniqueItems": true}}})).unwrap();
    let trees: Vec<Value> = (1..100_000).map(tree).collect();
    assert!(schema.check(&json!({"a": trees})).unwrap_err().contains("too long"));
    let objects: Vec<Value> = (0..1_000).map(|number| json!({"id": number})).collect();
    schema.check(&json!({"a": objects})).unwrap();
    let texts: Vec<Value> = (0..100_000).map(|number| json!(number.to_string())).collect();
    schema.check(&json!({"a": texts})).unwrap();
}

/// A call inside a call is checked on a fiber's stack, which has 2 MiB.
#[test]
fn deep_values_fit_a_small_stack() {
    let one = |next: Value| json!({"allOf": [next]});
    let mut schema = reference_chain(14, one);
    schema["$defs"]["d14"] = json!({"type": "object", "properties": {"a": {"oneOf": [{"$ref": "#/$defs/d0"}]}}});
    let schema = compile(&schema).unwrap();
    let mut verdicts = String::new();
    for depth in [10, 15, 60, 120] {
        let (schema, value) = (&schema, deep(depth));
        let check = move || schema.check(&value).err().unwrap_or_default();
        let error = std::thread::scope(|scope| {
            std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, check).unwrap().join().unwrap()
        });
        let _ = write!(verdicts, "{error} ");
    }
    assert!(verdicts.contains("oneOf") && verdicts.contains("nested 121 deep"), "{verdicts}");
}

#[test]
fn realistic_schemas_pass() {
    // A tree, as a type that holds a list of itself.
    let tree = json!({"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}}, "required": ["name"]});
    let trees =
        (0..40).fold(json!({"name": "leaf"}), |inner, _| json!({"name": "n", "children": [inner, {"name": "leaf"}]}));
    compile(&tree).unwrap().check(&trees).unwrap();

    // An expression: thirty kinds that are distinguished by a field, all with the same two operands.
    let kind = |number: usize| json!({"type": "object", "properties": {"type": {"const": format!("op{number}")}, "left": {"$ref": "#/$defs/Expr"}, "right": {"$ref": "#/$defs/Expr"}}, "required": ["type"]});
    let kinds: Vec<Value> = (0..30).map(kind).collect();
    let expression =
        json!({"type": "object", "properties": {"e": {"$ref": "#/$defs/Expr"}}, "$defs": {"Expr": {"oneOf": kinds}}});
    let expression = compile(&expression).unwrap();
    let balanced = |depth: usize| {
        (0..depth).fold(
            json!({"type": "op29"}),
            |inner, at| json!({"type": format!("op{at}"), "left": inner, "right": inner}),
        )
    };
    expression.check(&json!({"e": balanced(8)})).unwrap();
    let chain = (0..50).fold(json!({"type": "op29"}), |inner, _| json!({"type": "op7", "left": inner}));
    expression.check(&json!({"e": chain})).unwrap();
    let why = expression.check(&json!({"e": {"type": "op7", "left": {"type": "no such"}}})).unwrap_err();
    assert!(why.contains("oneOf"), "{why}");

    // As large as those made of whole services: three hundred definitions that refer to one another.
    let definition = |number: usize| {
        let other = |step: usize| json!({"$ref": format!("#/$defs/T{}", (number * step + 1) % 300)});
        json!({"type": "object", "properties": {"id": {"type": "string"}, "a": other(3), "b": {"anyOf": [other(7), {"type": "null"}]}}})
    };
    let definitions: Map<String, Value> = (0..300).map(|number| (format!("T{number}"), definition(number))).collect();
    let service = json!({"type": "object", "properties": {"body": {"$ref": "#/$defs/T0"}}, "$defs": definitions});
    let body = (0..40).fold(json!(null), |inner, _| json!({"id": "x", "a": {"id": "y"}, "b": inner}));
    compile(&service).unwrap().check(&json!({"body": body})).unwrap();

    // Large and plain.
    let plain = json!({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "array", "items": {"type": "number", "minimum": 0}}}}});
    let rows: Vec<Value> = (0..2_000).map(|_| Value::Array((0..100).map(Value::from).collect())).collect();
    compile(&plain).unwrap().check(&json!({"rows": rows})).unwrap();

    // Patterns as they are written.
    for (pattern, good) in [
        (r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "01234567-89ab-cdef-0123-456789abcdef"),
        (r"^\w+([-+.']\w+)*@\w+([-.]\w+)*\.\w+$", "some.body@example.com"),
        (r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$", "1.20.3-rc.1"),
        (r"^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$", "a.example"),
        (r"^.{1,256}$", "any words"),
        (r"^[\p{L}\p{N}_ -]+$", "Größe 3"),
        (r"^[A-Za-z0-9+/]*={0,2}$", &"QUJD".repeat(20_000)),
    ] {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern, "maxLength": 100_000}}});
        compile(&schema).unwrap().check(&json!({"a": good})).unwrap_or_else(|why| panic!("{pattern}: {why}"));
    }
    let about = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://a.example/t", "title": "T", "type": "object",
        "properties": {"$id": {"type": "string"}, "p": {"$ref": "#/$defs/Page%3CItem%3E"}}, "$defs": {"Page<Item>": {"type": "array"}},
        "unevaluatedProperties": false, "allOf": [{"properties": {"q": {"type": "string"}}}]});
    compile(&about).unwrap().check(&json!({"$id": "x", "p": [], "q": "z"})).unwrap();
    assert!(compile(&about).unwrap().check(&json!({"other": 1})).is_err());
}
