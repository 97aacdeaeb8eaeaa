//! A form, filled in line by line.

use platform::telemetry::printable;
use serde_json::{Map, Value};

/// What to know before the first line.
pub(super) const HINT: &str = "(one line each; an empty line takes the default or leaves it out, Ctrl-D cancels)";

/// Asks for each property; `line` shows a prompt and gives what was typed, or nothing at the end of input, which cancels.
pub(super) fn fill(schema: &Value, line: &mut dyn FnMut(&str) -> Option<String>) -> Option<Map<String, Value>> {
    let mut content = Map::new();
    let empty = Map::new();
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
    for (name, property) in schema["properties"].as_object().unwrap_or(&empty) {
        let title = property["title"].as_str().or(property["description"].as_str()).unwrap_or(name);
        let choices = choices(property);
        let hint = if choices.is_empty() { String::new() } else { format!(" [{}]", choices.join(", ")) };
        let default = property.get("default");
        let ending = match default {
            Some(default) => format!(" ({default})"),
            None if required(name) => " (required)".to_owned(),
            None => String::new(),
        };
        let prompt = format!("  {}{}{}: ", printable(title), printable(&hint), printable(&ending));
        let said = line(&prompt)?;
        let value = if said.is_empty() { default.cloned() } else { Some(value(property, &said)) };
        if let Some(value) = value {
            content.insert(name.clone(), value);
        }
    }
    Some(content)
}

/// What was typed as what the property wants; what does not fit stays text, and is refused with a reason.
fn value(property: &Value, said: &str) -> Value {
    match property["type"].as_str() {
        Some("boolean") => yes(said).map_or_else(|| said.into(), Value::from),
        Some("integer" | "number") => said.parse::<serde_json::Number>().map_or_else(|_| said.into(), Value::Number),
        Some("array") => said.split(',').map(|piece| Value::from(piece.trim())).collect(),
        _ => said.into(),
    }
}

fn choices(property: &Value) -> Vec<String> {
    let items = property.get("items").unwrap_or(property);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let constants =
        |list: &Value| list.as_array().into_iter().flatten().filter_map(|one| text(&one["const"])).collect();
    match (&items["enum"], &items["oneOf"], &items["anyOf"]) {
        (Value::Array(values), ..) => values.iter().filter_map(text).collect(),
        (_, list @ Value::Array(_), _) | (_, _, list @ Value::Array(_)) => constants(list),
        _ => Vec::new(),
    }
}

/// Whether it means yes or no.
pub(super) fn yes(said: &str) -> Option<bool> {
    match said.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_typed_becomes_what_is_wanted() {
        assert_eq!(value(&json!({"type": "boolean"}), "Yes"), json!(true));
        assert_eq!(value(&json!({"type": "integer"}), "3"), json!(3));
        assert_eq!(value(&json!({"type": "integer"}), "three"), json!("three"));
        assert_eq!(value(&json!({"type": "array"}), "a, b"), json!(["a", "b"]));
        assert_eq!(choices(&json!({"type": "array", "items": {"anyOf": [{"const": "a"}]}})), ["a"]);
        assert_eq!(choices(&json!({"type": "string", "enum": ["x", "y"]})), ["x", "y"]);
    }
}
