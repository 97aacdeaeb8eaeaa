//! Questions of a tool, put to whoever sits at the terminal.

use super::printable_lines;
use crate::imports::{Abilities, Asked, ClientCalls, ClientError, Decision, Inquiry, Reply};
use crate::telemetry::printable;
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::io::{BufRead, IsTerminal, Write};

/// Asks on stderr and reads stdin; answers nothing when that is no terminal.
pub(super) struct Person;

#[async_trait]
impl ClientCalls for Person {
    fn abilities(&self) -> Abilities {
        let there = std::io::stdin().is_terminal();
        Abilities { form: there, url: there, ..Abilities::default() }
    }

    async fn ask(&self, inquiry: Inquiry) -> Result<Vec<Reply>, ClientError> {
        let asking = move || {
            let plugin = &inquiry.plugin.name;
            inquiry.questions.iter().map(|(_, asked)| put(plugin, asked)).collect()
        };
        // A person takes the time a person takes.
        tokio::task::spawn_blocking(asking).await.map_err(|error| ClientError::Failed(error.to_string()))
    }
}

fn put(plugin: &str, asked: &Asked) -> Reply {
    match asked {
        Asked::Form { message, schema } => {
            eprintln!("\n{plugin} asks: {}", printable_lines(message));
            match serde_json::from_str::<Value>(schema.text()) {
                Ok(schema) => form(&schema),
                Err(error) => Reply::Failed(error.to_string()),
            }
        }
        Asked::Url { message, url, .. } => {
            eprintln!("\n{plugin} asks you to open a page: {}\n  {}", printable_lines(message), printable(url));
            match line("Done? (yes / no) ") {
                Some(said) if yes(&said) == Some(true) => Reply::Url(Decision::Accept),
                Some(_) => Reply::Url(Decision::Decline),
                None => Reply::Url(Decision::Cancel),
            }
        }
        Asked::Sample(_) | Asked::Roots => Reply::Failed("nobody at a terminal can answer that".into()),
    }
}

/// One line for each property; an empty one leaves it out. The end of input cancels.
fn form(schema: &Value) -> Reply {
    eprintln!("  (one line each; an empty line takes the default or leaves it out, Ctrl-D cancels)");
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
        let Some(said) = line(&prompt) else { return Reply::Form(Decision::Cancel, None) };
        let value = if said.is_empty() { default.cloned() } else { Some(value(property, &said)) };
        if let Some(value) = value {
            content.insert(name.clone(), value);
        }
    }
    Reply::Form(Decision::Accept, Some(content.into()))
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

fn yes(said: &str) -> Option<bool> {
    match said.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

fn line(prompt: &str) -> Option<String> {
    let mut out = std::io::stderr();
    write!(out, "{prompt}").and_then(|()| out.flush()).ok()?;
    let mut said = String::new();
    let read = std::io::stdin().lock().read_line(&mut said).ok()?;
    (read > 0).then(|| said.trim().to_owned())
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
