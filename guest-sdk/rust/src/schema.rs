//! JSON Schema 2020-12 of arguments and results.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Schema of a tool's arguments. It is always an object, since it comes from the struct that the attribute generates.
pub fn input<T: JsonSchema>() -> String {
    let mut schema = settings().for_deserialize().into_generator().into_root_schema_for::<T>();
    anonymous(&mut schema);
    // schemars leaves it out for a tool without arguments, but some clients require it.
    schema.ensure_object().entry("properties").or_insert_with(|| serde_json::json!({}));
    schema.as_value().to_string()
}

/// Schema of a structured result, or `None` for types that are not objects.
pub(crate) fn output<T: JsonSchema>() -> Option<String> {
    let mut schema = settings().for_serialize().into_generator().into_root_schema_for::<T>();
    anonymous(&mut schema);
    if variants_are_objects(&schema) {
        schema.insert("type".to_owned(), "object".into());
    }
    is_object(schema.as_value()).then(|| schema.as_value().to_string())
}

/// An enum of objects is an object, but schemars says so only in each variant, while MCP requires it at the root.
fn variants_are_objects(schema: &Schema) -> bool {
    let variants = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    variants.is_some_and(|variants| variants.iter().all(is_object))
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|ty| ty == "object")
}

/// Subschemas are inlined, because many clients pass schemas to models that do not follow references; recursive types
/// still use them. `$schema` is left out: MCP assumes 2020-12, and some validators refuse dialects that they do not
/// know.
fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        settings.transforms.push(Box::new(RecursiveTransform(without_number_format)));
    })
}

/// JSON Schema defines no formats of numbers, and clients warn of `uint64` and the like at the user's terminal.
fn without_number_format(schema: &mut Schema) {
    let is_number = |kind: &Value| kind == "integer" || kind == "number";
    let kinds = schema.get("type");
    if kinds.is_some_and(|kinds| is_number(kinds) || kinds.as_array().is_some_and(|all| all.iter().any(is_number))) {
        schema.remove("format");
    }
}

/// Removes names of Rust types, which are of no use to a model.
fn anonymous(schema: &mut Schema) {
    schema.remove("title");
}
