//! Arguments that some clients send as `null` where they mean to leave them out: frameworks that make objects of all parameters, and
//! models that must name each one.

use serde_json::Value;

/// Removes each member that is null, that `schema` does not require, and whose schema names another type. Returns whether there
/// was one. Items of lists are not searched, so that the schema bounds how often its list of required members is read.
pub(super) fn leave_out(schema: &Value, value: &mut Value) -> bool {
    let Value::Object(members) = value else { return false };
    let (known, required) = (&schema["properties"], schema["required"].as_array());
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let before = members.len();
    members.retain(|name, value| !value.is_null() || may_be_null(&known[name.as_str()]) || is_required(name));
    let left_out = members.len() < before;
    members.iter_mut().fold(left_out, |found, (name, value)| leave_out(&known[name.as_str()], value) | found)
}

/// Whether a schema allows null, or does not plainly exclude it.
fn may_be_null(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(name) => name == "null",
        Value::Array(names) => names.iter().any(|name| name == "null"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_nulls_that_can_mean_nothing_else_are_left_out() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "must": {"type": "string"},
                "either": {"type": ["string", "null"]},
                "any": {},
                "inner": {"type": "object", "properties": {"n": {"type": "integer"}}},
                "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            },
            "required": ["must"],
        });
        let given = json!({
            "path": null, "must": null, "either": null, "any": null, "other": null,
            "inner": {"n": null}, "list": [{"n": null}, null, {"n": 1}],
        });
        let mut left = given;
        assert!(leave_out(&schema, &mut left));
        let expected = json!({
            "must": null, "either": null, "any": null, "other": null,
            "inner": {}, "list": [{"n": null}, null, {"n": 1}],
        });
        assert_eq!(left, expected);
        assert!(!leave_out(&schema, &mut left));
        assert!(!leave_out(&json!(true), &mut json!({"a": null})));
    }
}
