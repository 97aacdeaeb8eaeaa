//! A declaration as it is stored with a task, for the process that goes on with its call.

use super::declaration::{DeclaredTool, ToolDeclaration};
use runtime::imports::Tool;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(crate) fn serialize<S: Serializer>(
    declaration: &Option<Arc<ToolDeclaration>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    declaration.as_deref().map(to_json).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Arc<ToolDeclaration>>, D::Error> {
    let Some(value) = Option::<Value>::deserialize(deserializer)? else { return Ok(None) };
    ToolDeclaration::from_stored(&value).map(|declaration| Some(Arc::new(declaration))).map_err(D::Error::custom)
}

/// The declaration of the client, without fields that this host does not know.
fn to_json(declaration: &ToolDeclaration) -> Value {
    let ToolDeclaration { tools, lanes, channel, limits, .. } = declaration;
    let names = [("live", lanes.live), ("retry", lanes.retry), ("request", lanes.request)];
    let lanes: Vec<&str> = names.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect();
    let limits = object([
        ("calls", limits.calls.map(Value::from)),
        ("parallel", limits.parallel.map(Value::from)),
        ("argumentBytes", limits.argument_bytes.map(Value::from)),
    ]);
    object([
        ("tools", Some(tools.iter().map(tool_to_json).collect())),
        ("lanes", Some(json!(lanes))),
        ("channel", channel.as_deref().map(Value::from)),
        ("limits", Some(limits)),
    ])
}

fn tool_to_json(declared: &DeclaredTool) -> Value {
    let Tool { name, title, description, input_schema, output_schema, annotations, .. } = &declared.tool;
    // The schemas were made from JSON, so this does not fail.
    let schema = |text: &String| serde_json::from_str::<Value>(text).unwrap_or_default();
    let hints = object([
        ("readOnlyHint", annotations.read_only.map(Value::from)),
        ("destructiveHint", annotations.destructive.map(Value::from)),
        ("idempotentHint", annotations.idempotent.map(Value::from)),
        ("openWorldHint", annotations.open_world.map(Value::from)),
    ]);
    object([
        ("name", Some(name.as_str().into())),
        ("title", title.as_deref().map(Value::from)),
        ("description", Some(description.as_str().into())),
        ("inputSchema", Some(schema(input_schema))),
        ("outputSchema", output_schema.as_ref().map(schema)),
        ("annotations", Some(hints)),
        ("private", declared.private.then_some(Value::Bool(true))),
        ("limits", declared.max_calls.map(|calls| json!({ "calls": calls }))),
    ])
}

/// An object without the fields that have no value.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    Value::Object(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Stored(#[serde(with = "super")] Option<Arc<ToolDeclaration>>);

    fn stored(declaration: &Value) -> Value {
        let parsed = ToolDeclaration::parse(declaration, true).unwrap().map(Arc::new);
        let text = serde_json::to_string(&Stored(parsed)).unwrap();
        let read: Stored = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text, "again the same");
        read.0.as_deref().map(to_json).unwrap_or_default()
    }

    #[test]
    fn what_is_declared_is_stored_and_read_again() {
        let whole = json!({
            "allowServerCalls": true, "channel": "0123456789abcdefABCD-_", "lanes": ["live", "retry"], "later": 1,
            "tools": [{
                "name": "calendar.free_slots", "title": "Slots", "description": "Free time.", "private": true,
                "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
                "outputSchema": {"type": "object"}, "limits": {"calls": 3},
                "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false},
            }],
            "limits": {"calls": 9, "parallel": 2, "argumentBytes": 10},
        });
        let mut expected = whole.clone();
        let fields = expected.as_object_mut().unwrap();
        fields.retain(|field, _| !["allowServerCalls", "later"].contains(&field.as_str()));
        assert_eq!(stored(&whole), expected);
        let least = json!({"allowServerCalls": true, "tools": [{"name": "t", "inputSchema": {}}]});
        let expected = json!({
            "tools": [{"name": "t", "description": "", "inputSchema": {}, "annotations": {}}], "lanes": ["retry"], "limits": {},
        });
        assert_eq!(stored(&least), expected);
        assert!(serde_json::from_value::<Stored>(json!(null)).unwrap().0.is_none());
    }

    /// What is added must not make it too large to be read.
    #[test]
    fn a_declaration_of_the_largest_size_is_read_again() {
        let declares = |bytes| json!({"allowServerCalls": true, "tools": [{"name": "t", "inputSchema": {"description": "x".repeat(bytes)}}]});
        let fits = |bytes: &usize| ToolDeclaration::parse(&declares(*bytes), true).is_ok();
        let largest = (0..300 << 10).collect::<Vec<_>>().partition_point(fits) - 1;
        assert_eq!(stored(&declares(largest))["tools"][0]["name"], "t");
    }
}
