//! The form that a component describes with types, as JSON Schema. The host checks it as any other form.

use super::super::values::{
    RecordFields, boolean, enumerated, float, full_case, list, mismatch, pair, string_list, text, unsigned_32,
};
use serde_json::{Map, Value, json};
use wasmtime::component::Val;

type Result<T> = wasmtime::Result<T>;

/// The schema of `requested-schema`, as text.
pub(super) fn form_schema(requested: Val) -> Result<String> {
    let mut requested = RecordFields::read(requested)?;
    let mut properties = Map::new();
    let entries = requested.take("properties", |entries| list(entries, pair))?;
    for (name, property) in entries {
        properties.insert(text(name)?, self::property(property)?);
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if let Some(required) = requested.option("required", string_list)? {
        schema["required"] = json!(required);
    }
    Ok(schema.to_string())
}

fn property(definition: Val) -> Result<Value> {
    let (case, value) = full_case(definition)?;
    let mut fields = match (case.as_str(), value) {
        // The newer dialect tells kinds of choices apart.
        ("enum-schema", choices @ Val::Variant(..)) => return choice(choices),
        (_, value) => RecordFields::read(value)?,
    };
    let mut schema = described(&mut fields)?;
    match case.as_str() {
        "string-schema" => {
            schema.insert("type".into(), "string".into());
            set(&mut schema, "format", fields.option("format", enumerated)?);
            set(&mut schema, "minLength", fields.option("min-length", unsigned_32)?);
            set(&mut schema, "maxLength", fields.option("max-length", unsigned_32)?);
            set(&mut schema, "default", fields.option("default", text)?);
        }
        "number-schema" => {
            let kind = fields.take("type", enumerated)?;
            for name in ["minimum", "maximum", "default"] {
                set(&mut schema, name, fields.option(name, float)?.map(|value| number(value, &kind)));
            }
            schema.insert("type".into(), kind.into());
        }
        "boolean-schema" => {
            schema.insert("type".into(), "boolean".into());
            set(&mut schema, "default", fields.option("default", boolean)?);
        }
        "enum-schema" => {
            schema.insert("type".into(), "string".into());
            schema.insert("enum".into(), fields.take("enum", string_list)?.into());
            set(&mut schema, "enumNames", fields.option("enum-names", string_list)?);
        }
        _ => return Err(mismatch("a kind of property that this host knows")),
    }
    Ok(schema.into())
}

/// Clients expect bounds of an integer without a fraction.
fn number(value: f64, kind: &str) -> Value {
    let is_exact = value.fract() == 0.0 && value.abs() < 9e15;
    #[allow(clippy::cast_possible_truncation, reason = "it is a whole number that fits")]
    match kind == "integer" && is_exact {
        true => (value as i64).into(),
        false => value.into(),
    }
}

/// The schema of a choice of one or several texts, with titles or without.
fn choice(choices: Val) -> Result<Value> {
    let (case, value) = full_case(choices)?;
    let mut fields = RecordFields::read(value)?;
    let mut schema = described(&mut fields)?;
    let (is_multiple, is_titled) = match case.as_str() {
        "untitled-single-select" => (false, false),
        "titled-single-select" => (false, true),
        "untitled-multi-select" => (true, false),
        "titled-multi-select" => (true, true),
        _ => return Err(mismatch("a kind of choice that this host knows")),
    };
    let options: Value = match is_titled {
        true => fields.take("one-of", |options| list(options, option))?.into(),
        false => fields.take("enum", string_list)?.into(),
    };
    match is_multiple {
        true => {
            let words = if is_titled { "anyOf" } else { "enum" };
            let mut items = Map::new();
            if !is_titled {
                items.insert("type".into(), "string".into());
            }
            items.insert(words.into(), options);
            schema.insert("type".into(), "array".into());
            schema.insert("items".into(), items.into());
            set(&mut schema, "default", fields.option("default", string_list)?);
        }
        false => {
            schema.insert("type".into(), "string".into());
            schema.insert(if is_titled { "oneOf" } else { "enum" }.into(), options);
            set(&mut schema, "default", fields.option("default", text)?);
        }
    }
    Ok(schema.into())
}

fn option(value: Val) -> Result<Value> {
    let mut option = RecordFields::read(value)?;
    Ok(json!({"const": option.take("const-value", text)?, "title": option.take("title", text)?}))
}

/// The title and the description, which all kinds of properties have.
fn described(fields: &mut RecordFields) -> Result<Map<String, Value>> {
    let mut schema = Map::new();
    set(&mut schema, "title", fields.option("title", text)?);
    set(&mut schema, "description", fields.option("description", text)?);
    Ok(schema)
}

fn set(schema: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        schema.insert(name.into(), value.into());
    }
}
