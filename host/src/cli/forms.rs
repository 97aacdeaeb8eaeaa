//! Fills in a form line by line.

mod field;
mod yes_no;

pub(super) use yes_no::parse_yes_no;

use field::Field;
use platform::telemetry::printable;
use serde_json::{Map, Value};

/// Shown before the first line.
pub(super) const HINT: &str = "(one line each; an empty line takes the default or leaves it out, Ctrl-D cancels)";

/// Asks for each property, and again for one whose answer is wrong. `line` shows a prompt and returns the input; none at the end of
/// input, which cancels.
pub(super) fn fill_form(schema: &Value, line: &mut dyn FnMut(&str) -> Option<String>) -> Option<Map<String, Value>> {
    let mut content = Map::new();
    let empty = Map::new();
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
    for (name, property) in schema["properties"].as_object().unwrap_or(&empty) {
        let field = Field::new(property);
        let title = property["title"].as_str().or(property["description"].as_str()).unwrap_or(name);
        let default = property.get("default");
        let ending = match default {
            Some(default) => format!(" ({default})"),
            None if required(name) => " (required)".to_owned(),
            None => String::new(),
        };
        let prompt = format!("{}{}{}: ", printable(title), printable(&field.hint()), printable(&ending));
        let mut problem = String::new();
        loop {
            let input = line(&format!("  {problem}{prompt}"))?;
            let parsed = match (input.is_empty(), default) {
                (true, Some(default)) => Ok(Some(default.clone())),
                (true, None) if required(name) => Err("it is required".to_owned()),
                (true, None) => Ok(None),
                (false, _) => field.parse(&input).map(Some),
            };
            match parsed {
                Ok(value) => {
                    content.extend(value.map(|value| (name.clone(), value)));
                    break;
                }
                Err(why) => problem = format!("({}) ", printable(&why)),
            }
        }
    }
    Some(content)
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
    fn only_a_wrong_field_is_asked_again() {
        let schema = json!({
            "properties": {"a": {"type": "string"}, "n": {"type": "integer", "maximum": 9}, "z": {"type": "string"}},
            "required": ["n"],
        });
        let (mut prompts, mut typed) = (Vec::new(), ["x", "", "ten", "10", "9", ""].into_iter());
        let mut line = |prompt: &str| {
            prompts.push(prompt.to_owned());
            typed.next().map(str::to_owned)
        };
        assert_eq!(fill_form(&schema, &mut line).map(Value::from), Some(json!({"a": "x", "n": 9})));
        let asked = [
            "  a: ",
            "  n [at most 9] (required): ",
            "  (it is required) n [at most 9] (required): ",
            "  (type a whole number) n [at most 9] (required): ",
            "  (it must be at most 9) n [at most 9] (required): ",
            "  z: ",
        ];
        assert_eq!(prompts, asked);
        // The end of input cancels, also there.
        let mut typed = ["x", "ten"].into_iter();
        assert_eq!(fill_form(&schema, &mut |_: &str| typed.next().map(str::to_owned)), None);
    }
}
