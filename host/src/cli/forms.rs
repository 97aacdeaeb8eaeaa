//! Fills in a form line by line.

use platform::telemetry::printable;
use serde_json::{Map, Value};

/// Shown before the first line.
pub(super) const HINT: &str = "(one line each; an empty line takes the default or leaves it out, Ctrl-D cancels)";

/// Asks for each property. `line` shows a prompt and returns the input; none at the end of input, which cancels.
pub(super) fn fill_form(schema: &Value, line: &mut dyn FnMut(&str) -> Option<String>) -> Option<Map<String, Value>> {
    let mut content = Map::new();
    let empty = Map::new();
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
    for (name, property) in schema["properties"].as_object().unwrap_or(&empty) {
        let title = property["title"].as_str().or(property["description"].as_str()).unwrap_or(name);
        let choices = choices(property);
        let hint = match choices.is_empty() {
            true if property["type"] == "boolean" => " [yes, no]".to_owned(),
            true => String::new(),
            false => format!(" [{}]", choices.join(", ")),
        };
        let default = property.get("default");
        let ending = match default {
            Some(default) => format!(" ({default})"),
            None if required(name) => " (required)".to_owned(),
            None => String::new(),
        };
        let prompt = format!("  {}{}{}: ", printable(title), printable(&hint), printable(&ending));
        let input = line(&prompt)?;
        let value = if input.is_empty() { default.cloned() } else { Some(parse_value(property, &input)) };
        if let Some(value) = value {
            content.insert(name.clone(), value);
        }
    }
    Some(content)
}

/// Converts input to the property's type. Input of another type stays text, which the schema check refuses.
fn parse_value(property: &Value, input: &str) -> Value {
    match property["type"].as_str() {
        Some("boolean") => parse_yes_no(input).map_or_else(|| input.into(), Value::from),
        Some("integer" | "number") => input.parse::<serde_json::Number>().map_or_else(|_| input.into(), Value::Number),
        Some("array") => input.split(',').map(|piece| Value::from(piece.trim())).collect(),
        _ => input.into(),
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

/// Parses yes or no.
pub(super) fn parse_yes_no(input: &str) -> Option<bool> {
    match input.to_ascii_lowercase().as_str() {
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
    fn a_prompt_says_what_may_be_typed() {
        let schema = json!({
            "properties": {"sure": {"type": "boolean", "title": "Sure"}, "size": {"enum": ["s", "m"], "default": "s"}},
            "required": ["sure"],
        });
        let mut prompts = Vec::new();
        let mut line = |prompt: &str| {
            prompts.push(prompt.to_owned());
            Some(if prompts.len() == 1 { "yes" } else { "" }.to_owned())
        };
        let filled = fill_form(&schema, &mut line).map(Value::from);
        assert_eq!(filled, Some(json!({"sure": true, "size": "s"})));
        prompts.sort();
        assert_eq!(prompts, ["  Sure [yes, no] (required): ", "  size [s, m] (\"s\"): "]);
    }

    #[test]
    fn input_is_converted_to_the_property_type() {
        assert_eq!(parse_value(&json!({"type": "boolean"}), "Yes"), json!(true));
        assert_eq!(parse_value(&json!({"type": "integer"}), "3"), json!(3));
        assert_eq!(parse_value(&json!({"type": "integer"}), "three"), json!("three"));
        assert_eq!(parse_value(&json!({"type": "array"}), "a, b"), json!(["a", "b"]));
        assert_eq!(choices(&json!({"type": "array", "items": {"anyOf": [{"const": "a"}]}})), ["a"]);
        assert_eq!(choices(&json!({"type": "string", "enum": ["x", "y"]})), ["x", "y"]);
    }
}
