//! The arguments of a tool call, parsed once and used by all stages of the call.

use serde_json::{Map, Value};

/// Arguments as a value and as text. The text is always made from the value, so what a guest reads is what the host checked:
/// no key occurs twice.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    value: Value,
    text: String,
}

impl Arguments {
    /// Parses JSON text of any type, not only an object; the error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str::<Value>(text).map(Self::from).map_err(|error| format!("they are not JSON: {error}"))
    }

    /// The error is a sentence.
    pub fn into_object(self) -> Result<Map<String, Value>, String> {
        match self.value {
            Value::Object(fields) => Ok(fields),
            _ => Err("they are not a JSON object".into()),
        }
    }

    /// Changes the arguments in place, without a second copy in memory. `change` returns whether it has changed something; if
    /// it fails, it counts as having done so.
    pub fn change<E>(&mut self, change: impl FnOnce(&mut Value) -> Result<bool, E>) -> Result<(), E> {
        let changed = change(&mut self.value);
        if !matches!(changed, Ok(false)) {
            self.text = to_text(&self.value);
        }
        changed.map(drop)
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn into_text(self) -> String {
        self.text
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        let text = to_text(&value);
        Self { value, text }
    }
}

fn to_text(value: &Value) -> String {
    // A value can always be written to memory.
    serde_json::to_string(value).unwrap_or_default()
}

impl From<Map<String, Value>> for Arguments {
    fn from(fields: Map<String, Value>) -> Self {
        Value::Object(fields).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_guest_reads_is_what_was_checked() {
        let arguments = Arguments::parse(r#"{"path": "/etc", "n": 1.50, "path": "/tmp"}"#).unwrap();
        assert_eq!(arguments.value()["path"], "/tmp");
        assert_eq!(arguments.text(), r#"{"path":"/tmp","n":1.5}"#);
        let mut changed = arguments.clone();
        changed.change(|value| Ok::<_, ()>(value.as_object_mut().unwrap().remove("path").is_some())).unwrap();
        assert_eq!(changed.text(), r#"{"n":1.5}"#);
        assert!(Arguments::parse("{").unwrap_err().starts_with("they are not JSON"));
        assert_eq!(arguments.into_object().unwrap().len(), 2);
        assert_eq!(Arguments::parse("[]").unwrap().into_object().unwrap_err(), "they are not a JSON object");
    }
}
