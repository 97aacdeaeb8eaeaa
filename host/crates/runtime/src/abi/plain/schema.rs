//! JSON Schemas of types. They use keywords that all clients know and no references, since a model reads each place by itself.
//! Another keyword would change the definition of installed tools, and their users would have to agree to these again.

use super::docs::Docs;
use super::types::{Integer, MAX_EXACT, Ty};
use serde_json::{Map, Value, json};

/// Whether values come from a client or go to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Input,
    Output,
}

/// The floats that no JSON number can be, as strings.
pub(super) const ODD_FLOATS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Writes schemas with what is known of the types.
pub(super) struct SchemaWriter<'a> {
    pub(super) side: Direction,
    pub(super) docs: Docs<'a>,
}

impl SchemaWriter<'_> {
    /// The schema of an object with these members. Those that may be left out are options.
    pub(super) fn object<'t>(&self, fields: impl Iterator<Item = (&'t str, &'t Ty)> + Clone) -> Value {
        let names: Vec<&str> = fields.clone().map(|(name, _)| name).collect();
        let docs = self.docs.of_items(&names);
        let required: Vec<_> = fields.clone().filter(|(_, ty)| !ty.is_nullable()).map(|(name, _)| name).collect();
        let property = |(name, ty): (&str, &Ty)| {
            let mut schema = self.schema(ty);
            if let (Some(text), Some(keywords)) = (docs.item(name), schema.as_object_mut()) {
                keywords.insert("description".into(), text.into());
            }
            (name.to_owned(), schema)
        };
        let properties: Map<_, _> = fields.map(property).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema["additionalProperties"] = false.into();
        schema
    }

    pub(super) fn schema(&self, ty: &Ty) -> Value {
        match ty {
            Ty::Bool => json!({"type": "boolean"}),
            Ty::Integer(integer) => integer_schema(*integer),
            Ty::Float32 | Ty::Float64 => match self.side {
                Direction::Input => json!({"type": "number"}),
                Direction::Output => json!({"anyOf": [{"type": "number"}, {"type": "string", "enum": ODD_FLOATS}]}),
            },
            Ty::Char => json!({"type": "string", "minLength": 1, "maxLength": 1}),
            Ty::String => json!({"type": "string"}),
            Ty::Bytes => json!({"type": "string", "contentEncoding": "base64"}),
            Ty::List(item) => json!({"type": "array", "items": self.schema(item)}),
            Ty::Record(fields) => self.object(fields.iter().map(|(name, ty)| (name.as_str(), ty))),
            Ty::Tuple(items) => {
                let schemas: Vec<_> = items.iter().map(|item| self.schema(item)).collect();
                json!({"type": "array", "prefixItems": schemas, "minItems": items.len(), "maxItems": items.len()})
            }
            Ty::Variant(cases) => {
                let names: Vec<&str> = cases.iter().map(|(name, _)| name.as_str()).collect();
                let docs = self.docs.of_items(&names);
                let case = |(name, payload): &(String, Option<Ty>)| {
                    let mut schema = self.case(name, payload.as_ref());
                    if let Some(text) = docs.item(name) {
                        schema["description"] = text.into();
                    }
                    schema
                };
                json!({"oneOf": cases.iter().map(case).collect::<Vec<_>>()})
            }
            Ty::Enum(names) => {
                let mut schema = json!({"type": "string", "enum": names});
                self.add_meanings(&mut schema, names);
                schema
            }
            Ty::Option(some) if some.is_nullable() => {
                let some = json!({
                    "type": "object", "properties": {"some": self.schema(some)}, "additionalProperties": false,
                });
                json!({"anyOf": [some, {"type": "null"}]})
            }
            Ty::Option(some) => json!({"anyOf": [self.schema(some), {"type": "null"}]}),
            Ty::Result(result) => {
                let side = |key: &str, payload: Option<&Ty>| {
                    let schema = payload.map_or_else(|| json!({"type": "null"}), |ty| self.schema(ty));
                    json!({"type": "object", "properties": {key: schema}, "required": [key], "additionalProperties": false})
                };
                json!({"oneOf": [side("ok", result.ok.as_ref()), side("err", result.err.as_ref())]})
            }
            Ty::Flags(names) => {
                let mut items = json!({"type": "string", "enum": names});
                self.add_meanings(&mut items, names);
                json!({"type": "array", "items": items, "uniqueItems": true})
            }
        }
    }

    fn case(&self, name: &str, payload: Option<&Ty>) -> Value {
        let tag = json!({"type": "string", "enum": [name]});
        match payload {
            None => json!({
                "type": "object", "properties": {"tag": tag}, "required": ["tag"], "additionalProperties": false,
            }),
            Some(ty) => {
                let required: &[&str] = if ty.is_nullable() { &["tag"] } else { &["tag", "value"] };
                let properties = json!({"tag": tag, "value": self.schema(ty)});
                json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
            }
        }
    }

    /// Adds what is known of the names of an enum to its description, since JSON Schema has no place for it.
    fn add_meanings(&self, schema: &mut Value, names: &[String]) {
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let docs = self.docs.of_items(&all);
        let known = all.iter().filter_map(|name| Some(format!("{name}: {}", docs.item(name)?)));
        let text = known.collect::<Vec<_>>().join("\n");
        if !text.is_empty() {
            schema["description"] = text.into();
        }
    }
}

fn integer_schema(integer: Integer) -> Value {
    let (least, greatest) = integer.range();
    // Both ends are exact numbers of 53 bits.
    let bound = |value: i128| i64::try_from(value.clamp(-MAX_EXACT, MAX_EXACT)).unwrap_or_default();
    let number = json!({"type": "integer", "minimum": bound(least), "maximum": bound(greatest)});
    match integer.is_wide() {
        false => number,
        true => json!({
            "anyOf": [number, {"type": "string", "description": "The digits of an integer beyond 53 bits", "maxLength": 20}],
        }),
    }
}
