//! The arguments of a tool call.

use serde_json::{Map, Value};

/// A JSON object, as a value and as text. The text is always made from the value, so what a guest reads is what the host
/// checked: no key occurs twice.
#[derive(Debug, Clone)]
pub struct Arguments {
    value: Value,
    text: String,
}

impl Arguments {
    /// From JSON text; the error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str::<Value>(text).map(Self::from).map_err(|error| format!("they are not JSON: {error}"))
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        // A value can always be written to memory.
        let text = serde_json::to_string(&value).unwrap_or_default();
        Self { value, text }
    }
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
        assert!(Arguments::parse("{").unwrap_err().starts_with("they are not JSON"));
    }
}
