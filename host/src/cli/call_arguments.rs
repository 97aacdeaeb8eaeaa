//! The arguments of `portcullis call`: a JSON object, `NAME=VALUE`, or either from a file or from stdin.

use super::text::json_error;
use anyhow::{Context, bail};
use serde_json::{Map, Value};
use std::io::Read;

const EXAMPLE: &str = r#"'{"path": "/src", "depth": 2}', or path=/src depth=2"#;

/// The arguments as they were written. What a `VALUE` is depends on the tool's schema.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallArguments(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Object(Map<String, Value>),
    Named(String, String),
}

impl CallArguments {
    /// Parses the words. Reads the files that they name, and stdin for `-`.
    pub(super) fn read(words: &[String]) -> anyhow::Result<Self> {
        words.iter().map(|word| Part::read(word)).collect::<anyhow::Result<_>>().map(Self)
    }

    /// One line: a JSON object, or `NAME=VALUE` words, where a value with spaces is in quotes. No files are read. The error is a
    /// sentence.
    pub(super) fn from_line(line: &str) -> Result<Self, String> {
        let example = "for example: path=\"/a b\" depth=2, or {\"path\": \"/a b\", \"depth\": 2}";
        if line.starts_with(['{', '[', '"']) {
            return match serde_json::from_str(line) {
                Ok(Value::Object(object)) => Ok(Self(vec![Part::Object(object)])),
                Ok(_) => Err(format!("{line:?} is JSON, but no object; {example}")),
                Err(error) => Err(format!("{}\n{example}", json_error(line, &error))),
            };
        }
        let (mut parts, mut rest) = (Vec::new(), line.trim_start());
        while !rest.is_empty() {
            let (name, value) = rest
                .split_once('=')
                .filter(|(name, _)| !name.is_empty() && !name.contains(char::is_whitespace))
                .ok_or_else(|| format!("`{rest}`: write NAME=VALUE; {example}"))?;
            let quote = value.chars().next().filter(|first| ['"', '\''].contains(first));
            let (text, after) = match quote {
                Some(quote) => {
                    let quoted = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote));
                    let (text, after) = quoted.ok_or_else(|| format!("`{value}` has no closing {quote}"))?;
                    if after.starts_with(|next: char| !next.is_whitespace()) {
                        return Err(format!("`{after}` follows a closing {quote}: leave a space before it"));
                    }
                    (text, after)
                }
                None => value.split_once(char::is_whitespace).unwrap_or((value, "")),
            };
            parts.push(Part::Named(name.to_owned(), text.to_owned()));
            rest = after.trim_start();
        }
        Ok(Self(parts))
    }

    /// The arguments of a tool with this schema. Later ones replace earlier ones.
    pub(super) fn for_schema(self, schema: &Value) -> Map<String, Value> {
        let mut arguments = Map::new();
        for part in self.0 {
            match part {
                Part::Object(object) => arguments.extend(object),
                Part::Named(name, text) => {
                    let value = typed(text, &schema["properties"][&name]);
                    arguments.insert(name, value);
                }
            }
        }
        arguments
    }
}

impl Part {
    fn read(word: &str) -> anyhow::Result<Self> {
        if word == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("stdin cannot be read as text")?;
            return object(&text, "stdin");
        }
        if let Some(file) = word.strip_prefix('@') {
            return object(&read_file(file)?, file);
        }
        match word.split_once('=') {
            Some((name, value)) if !word.trim_start().starts_with(['{', '[', '"']) && !name.is_empty() => {
                let value = match value.strip_prefix('@') {
                    Some(file) => read_file(file)?,
                    None => value.to_owned(),
                };
                Ok(Self::Named(name.to_owned(), value))
            }
            _ => object(word, "the arguments"),
        }
    }
}

fn read_file(file: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("`@{file}`: the file cannot be read as text"))
}

fn object(text: &str, what: &str) -> anyhow::Result<Part> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(Part::Object(object)),
        Ok(_) => bail!("{what}: a tool takes a JSON object; for example: {EXAMPLE}"),
        Err(error) => bail!("{what}: {}\nfor example: {EXAMPLE}", json_error(text, &error)),
    }
}

/// Text where the schema wants text. Elsewhere JSON, if it is JSON.
fn typed(text: String, schema: &Value) -> Value {
    let wants_text = match &schema["type"] {
        Value::Array(types) => types.iter().any(|it| it == "string"),
        one => one == "string",
    };
    if wants_text { Value::String(text) } else { serde_json::from_str(&text).unwrap_or(Value::String(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(words: &[&str]) -> anyhow::Result<Value> {
        let schema = json!({"properties": {
            "path": {"type": "string"}, "maybe": {"type": ["string", "null"]}, "n": {"type": "integer"}, "list": {"type": "array"},
        }});
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        Ok(CallArguments::read(&words)?.for_schema(&schema).into())
    }

    #[test]
    fn a_line_has_words_or_an_object() {
        let schema = json!({"properties": {"path": {"type": "string"}}});
        let of = |line: &str| CallArguments::from_line(line).map(|it| Value::from(it.for_schema(&schema)));
        assert_eq!(of(""), Ok(json!({})));
        assert_eq!(of("{\"n\": 1}"), Ok(json!({"n": 1})));
        let words = json!({"path": "12", "n": 3, "text": "a b", "x": "y=z", "all": true});
        assert_eq!(of("path=12  n=3 text=\"a b\" x='y=z' all=true"), Ok(words));
        assert_eq!(of("path=\"\" n="), Ok(json!({"path": "", "n": ""})));
        for (bad, why) in [
            ("[1]", "no object"),
            ("{\"n\": 1 2}", "^"),
            ("walk", "NAME=VALUE"),
            ("a=1 walk b=2", "NAME=VALUE"),
            ("=x", "NAME=VALUE"),
            ("a=\"b", "no closing"),
            ("a=\"b\"c=1", "leave a space"),
            ("a\tb=1", "NAME=VALUE"),
        ] {
            let error = of(bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn the_schema_says_what_a_value_is() {
        let words = ["path=12", "maybe=true", "n=3", "list=[1]", "other=x=y", "flag=true"];
        let expected = json!({"path": "12", "maybe": "true", "n": 3, "list": [1], "other": "x=y", "flag": true});
        assert_eq!(read(&words).unwrap(), expected);
        assert_eq!(read(&["n=three"]).unwrap(), json!({"n": "three"}), "the schema refuses it with a sentence");
        assert_eq!(read(&[]).unwrap(), json!({}));
        assert_eq!(read(&[r#"{"n": 1, "path": "a=b"}"#, "n=2"]).unwrap(), json!({"n": 2, "path": "a=b"}));
    }

    #[test]
    fn files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        std::fs::write(&file, r#"{"path": "p"}"#).unwrap();
        let file = file.display();
        assert_eq!(read(&[&format!("@{file}"), &format!("maybe=@{file}")]).unwrap()["maybe"], r#"{"path": "p"}"#);
        assert!(read(&["@nowhere.json"]).unwrap_err().to_string().contains("`@nowhere.json`"));
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        let error = read(&[r#"{"n": 3 "m": 4}"#]).unwrap_err().to_string();
        assert!(error.contains("\n  {\"n\": 3 \"m\": 4}\n          ^\n") && error.contains("for example"), "{error}");
        assert!(read(&["[1]"]).unwrap_err().to_string().contains("a tool takes a JSON object"));
        assert!(read(&["walk"]).is_err() && read(&["=x"]).is_err());
    }
}
