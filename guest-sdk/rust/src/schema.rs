//! JSON Schema 2020-12 of arguments and results.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Schema of a tool's arguments. Always an object, since it comes from the struct that the attribute generates.
pub fn input<T: JsonSchema>() -> String {
    let mut schema = settings().for_deserialize().into_generator().into_root_schema_for::<T>();
    anonymous(&mut schema);
    // schemars leaves it out for a tool without arguments, but some clients insist on it.
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

/// An enum of objects is an object, but schemars says so only of each variant while MCP wants it said at the root.
fn variants_are_objects(schema: &Schema) -> bool {
    let variants = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    variants.is_some_and(|variants| variants.iter().all(is_object))
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|ty| ty == "object")
}

/// Inlined, because many clients hand schemas to models that do not follow references; recursive types still use them.
/// Without `$schema`: 2020-12 is what MCP assumes, and some validators refuse dialects they have not been told of.
fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    })
}

/// Names of Rust types say nothing to a model.
fn anonymous(schema: &mut Schema) {
    schema.remove("title");
}
