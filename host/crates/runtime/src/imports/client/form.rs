//! Schemas of forms: the flat subset of JSON Schema that MCP allows (elicitation, 2026-07-28 and 2025-11-25), checked
//! before the question is sent.

use super::super::schema::Schema;
use super::typed_fields::TypedFields;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Properties of one form. Bounds what a user is shown.
const MAX_PROPERTIES: usize = 64;
/// Bytes of one schema. Bounds what a question costs on the wire.
const MAX_BYTES: usize = 32 << 10;
/// Words that indicate that a form asks for a secret.
const SECRET_WORDS: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "privatekey",
    "accesskey",
    "credential",
    "pin",
    "cvv",
    "cvc",
    "creditcard",
    "cardnumber",
];

/// A checked schema of a form. Clones share it.
#[derive(Debug, Clone)]
pub struct FormSchema {
    schema: Arc<Schema>,
    text: Arc<str>,
    typed: Arc<TypedFields>,
    has_fields: bool,
}

/// What is wrong with an answer.
pub(super) struct WrongAnswer {
    /// Where and why it does not match.
    pub(super) reason: String,
    /// Whether the client may not have shown the fields that are missing.
    pub(super) lacks_typed: bool,
}

/// Serializes the schema as its text.
impl Serialize for FormSchema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl FormSchema {
    /// Checks JSON text; the error is a sentence.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("the form's schema is {} bytes, more than {MAX_BYTES}", text.len()));
        }
        let schema = Schema::compile(text).map_err(|error| format!("the form's schema is refused: {error}"))?;
        let empty = Map::new();
        let properties = match schema.document().get("properties") {
            None => &empty,
            Some(Value::Object(properties)) => properties,
            Some(_) => return Err("the form's `properties` must be an object".into()),
        };
        if properties.len() > MAX_PROPERTIES {
            return Err(format!("the form has {} properties, more than {MAX_PROPERTIES}", properties.len()));
        }
        for key in schema.document().keys() {
            let known = ["$schema", "type", "title", "description", "properties", "required", "additionalProperties"];
            if !known.contains(&key.as_str()) {
                return Err(format!("the form's schema may not use `{key}`: forms are flat"));
            }
        }
        for (name, property) in properties {
            check(property).map_err(|reason| format!("the form's property `{name}` {reason}"))?;
            let title = property.get("title").and_then(Value::as_str).unwrap_or("");
            let text = property.get("type").and_then(Value::as_str) == Some("string");
            if text && (is_secret_name(name) || is_secret_name(title)) {
                return Err(format!(
                    "the form's property `{name}` asks for a secret; secrets must not pass through the client: use elicit-url"
                ));
            }
        }
        // The document is dropped to save memory, because a form may wait for a long time.
        let has_fields = !properties.is_empty();
        let typed = Arc::new(TypedFields::read(schema.document()));
        Ok(Self { schema: Arc::new(schema.without_document()), text: text.into(), typed, has_fields })
    }

    /// The same form for a client that shows only text fields. Its answers are checked like those to this form.
    pub(super) fn with_texts(&self) -> Self {
        let text = self.typed.as_text(&self.text);
        Self { text: text.map_or_else(|| self.text.clone(), Into::into), ..self.clone() }
    }

    /// The schema as the guest wrote it: the order of the properties is the order of the fields.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the form has fields. Without fields, a form only asks the user to accept it.
    pub fn has_fields(&self) -> bool {
        self.has_fields
    }

    /// Checks an answer; the error says where and why it does not match.
    pub fn check(&self, answer: &Value) -> Result<(), String> {
        self.schema.check(answer)
    }

    /// The answer as the guest gets it: numbers and lists may have been written as text.
    pub(super) fn read(&self, answer: Value) -> Result<Value, WrongAnswer> {
        let Err(reason) = self.check(&answer) else { return Ok(answer) };
        let read = self.typed.read_texts(&answer);
        match self.check(&read) {
            Ok(()) => Ok(read),
            Err(of_read) => {
                let lacks_typed = self.typed.are_all_missing(&answer);
                Err(WrongAnswer { reason: if read == answer { reason } else { of_read }, lacks_typed })
            }
        }
    }
}

fn check(property: &Value) -> Result<(), String> {
    let Value::Object(fields) = property else { return Err("must be described by an object".into()) };
    let allowed: &[&str] = match fields.get("type").and_then(Value::as_str) {
        Some("string") => match fields.get("format").map(|format| format.as_str().unwrap_or("")) {
            Some(format) if !["email", "uri", "date", "date-time"].contains(&format) => {
                return Err(format!("has the format {format:?}; there are email, uri, date and date-time"));
            }
            _ => &["minLength", "maxLength", "pattern", "format", "enum", "enumNames", "oneOf"],
        },
        Some("number" | "integer") => &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
        Some("boolean") => &[],
        Some("array") => {
            let items = fields.get("items").and_then(Value::as_object);
            let choices = items.is_some_and(|items| items.contains_key("enum") || items.contains_key("anyOf"));
            if !choices {
                return Err("is a list; lists must be of enumerated strings (`items` with `enum` or `anyOf`)".into());
            }
            &["items", "minItems", "maxItems", "uniqueItems"]
        }
        Some(other) => {
            return Err(format!(
                "has the type {other:?}; forms are flat: string, number, integer, boolean, or a list of enumerated strings"
            ));
        }
        None => return Err("has no `type`".into()),
    };
    match fields.keys().find(|key| {
        !["type", "title", "description", "default"].contains(&key.as_str()) && !allowed.contains(&key.as_str())
    }) {
        Some(key) => Err(format!("uses `{key}`, which forms do not have for its type")),
        None => Ok(()),
    }
}

/// Whether one word of a name, or two adjacent words together, indicate a secret.
fn is_secret_name(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && lower) {
            words.push(String::new());
        }
        lower = c.is_ascii_lowercase();
        if let (true, Some(word)) = (c.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    let is_secret_word =
        |word: &str| SECRET_WORDS.contains(&word.strip_suffix('s').unwrap_or(word)) || SECRET_WORDS.contains(&word);
    words.iter().any(|word| is_secret_word(word)) || words.windows(2).any(|pair| is_secret_word(&pair.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(properties: &str) -> Result<FormSchema, String> {
        FormSchema::new(&format!(r#"{{"type":"object","properties":{properties}}}"#))
    }

    #[test]
    fn flat_forms_pass() {
        form(
            r#"{
            "name":{"type":"string","default":"x"},"mail":{"type":"string","format":"email"},
            "n":{"type":"integer","minimum":1},"p":{"type":"number"},"b":{"type":"boolean","default":true},
            "e":{"type":"string","enum":["a","b"],"enumNames":["A","B"]},
            "o":{"type":"string","oneOf":[{"const":"a","title":"A"}]},
            "l":{"type":"array","items":{"type":"string","enum":["a"]}},
            "m":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"maxItems":2}}"#,
        )
        .unwrap();
        FormSchema::new(r#"{"type":"object"}"#).unwrap();
    }

    #[test]
    fn other_schemas_are_refused() {
        for bad in [
            r#"{"a":{"type":"object","properties":{}}}"#,
            r#"{"a":{"type":"array","items":{"type":"string"}}}"#,
            r#"{"a":{"type":"array","items":{"type":"object"}}}"#,
            r#"{"a":{"type":"string","format":"password"}}"#,
            r#"{"a":{"enum":["x"]}}"#,
            r#"{"a":true}"#,
            r##"{"a":{"type":"string","$ref":"#/x"}}"##,
        ] {
            assert!(form(bad).is_err(), "{bad}");
        }
        assert!(FormSchema::new(r#"{"type":"object","allOf":[{}]}"#).unwrap_err().contains("flat"));
    }

    #[test]
    fn secret_names_are_refused_and_similar_names_are_not() {
        for bad in ["password", "api_key", "apiKey", "API-KEY", "githubToken", "client_secret", "access_keys", "pin"] {
            let error = form(&format!(r#"{{"{bad}":{{"type":"string"}}}}"#)).unwrap_err();
            assert!(error.contains("elicit-url"), "{bad}: {error}");
        }
        assert!(form(r#"{"x":{"type":"string","title":"Your password"}}"#).is_err());
        for good in ["keyboard", "max_tokenized", "opinion", "spin", "key", "username", "tokenizer", "pinned"] {
            form(&format!(r#"{{"{good}":{{"type":"string"}}}}"#)).unwrap();
        }
    }
}
