//! The answer of an agent's tool, as a transcript stores it.

use super::fits_toml::fits_toml;
use runtime::imports::{AgentError, AgentResult, Content, ContentData, Origin, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ToolReply {
    pub(super) name: String,
    /// An object is the structured result, anything else its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// The text, if it is not the JSON of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The structured result as JSON text, for values that TOML cannot express.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structured: Option<String>,
    /// Who gave the result. If absent, a tool of the client did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    /// The message of a failure, set instead of a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "ErrorKind::is_default")]
    kind: ErrorKind,
}

/// Why there is no result, in the words of the interface `agent-tools`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ErrorKind {
    #[default]
    ToolError,
    Failed,
    Declined,
    InvalidArguments,
    NotSupported,
}

impl ErrorKind {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl ToolReply {
    fn named(name: &str) -> Self {
        let kind = ErrorKind::default();
        Self { name: name.to_owned(), result: None, text: None, structured: None, origin: None, error: None, kind }
    }

    /// Refuses keys that exclude each other.
    pub(super) fn check(&self) -> Result<(), String> {
        let has_result = self.result.is_some() || self.text.is_some() || self.structured.is_some();
        match (&self.error, has_result) {
            (Some(_), true) => {
                Err(format!("the tool `{}` answers with a result or with an `error`, not with both", self.name))
            }
            (None, _) if self.kind != ErrorKind::default() => {
                Err(format!("the tool `{}` has a `kind` of error, and no `error`", self.name))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn answer(self) -> Result<AgentResult, AgentError> {
        let Self { name: _, result, text, structured, origin, error, kind } = self;
        if let Some(error) = error {
            return Err(match kind {
                ErrorKind::ToolError => {
                    let content = vec![Content::text(error)];
                    AgentError::ToolError(ToolResult { content, structured: None, is_error: true })
                }
                ErrorKind::Failed => AgentError::Failed(error),
                ErrorKind::Declined => AgentError::Declined(error),
                ErrorKind::InvalidArguments => AgentError::InvalidArguments(error),
                ErrorKind::NotSupported => AgentError::NotSupported(error),
            });
        }
        let (said, object) = match result {
            Some(object @ Value::Object(_)) => (None, Some(object.to_string())),
            Some(Value::String(text)) => (Some(text), None),
            None | Some(Value::Null) => (None, None),
            Some(other) => (Some(other.to_string()), None),
        };
        let structured = structured.or(object);
        let text = text.or(said).or_else(|| structured.clone()).unwrap_or_default();
        let origin = origin.unwrap_or(Origin::Client);
        Ok(AgentResult { content: vec![Content::text(text)], structured, origin, edited: None })
    }

    /// Converts the answer to a live call. The error says why a transcript cannot store it.
    pub(super) fn from_live(name: &str, answer: &Result<AgentResult, AgentError>) -> Result<Self, String> {
        let new = Self::named(name);
        let failed = |kind, error: &str| Ok(Self { error: Some(error.to_owned()), kind, ..Self::named(name) });
        match answer {
            Ok(AgentResult { content, structured, origin, .. }) => {
                let text = one_text(name, content)?;
                let new = Self { origin: (*origin != Origin::Client).then(|| origin.clone()), ..new };
                let Some(structured) = structured else { return Ok(Self { result: Some(text.into()), ..new }) };
                let text = (text != structured).then(|| text.to_owned());
                let object = serde_json::from_str::<Value>(structured).ok().filter(|it| is_plain(it, structured));
                Ok(match object {
                    Some(object) => Self { result: Some(object), text, ..new },
                    None => Self { structured: Some(structured.clone()), text, ..new },
                })
            }
            Err(AgentError::ToolError(ToolResult { content, structured: None, .. })) => {
                failed(ErrorKind::ToolError, one_text(name, content)?)
            }
            Err(AgentError::Failed(error)) => failed(ErrorKind::Failed, error),
            Err(AgentError::Declined(error)) => failed(ErrorKind::Declined, error),
            Err(AgentError::InvalidArguments(error)) => failed(ErrorKind::InvalidArguments, error),
            Err(AgentError::NotSupported(error)) => failed(ErrorKind::NotSupported, error),
            Err(other) => {
                Err(format!("the tool `{name}` ended with `{}` in a way that a transcript cannot repeat", other.name()))
            }
        }
    }
}

fn one_text<'a>(name: &str, content: &'a [Content]) -> Result<&'a str, String> {
    match content {
        [] => Ok(""),
        [Content { data: ContentData::Text(text), .. }] => Ok(text),
        _ => Err(format!("the tool `{name}` answered with more than one text, which a transcript cannot have")),
    }
}

/// Whether an object that is written as a TOML table has the same JSON text when it is read again.
fn is_plain(value: &Value, text: &str) -> bool {
    value.is_object() && fits_toml(value) && serde_json::to_string(value).is_ok_and(|json| json == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str, structured: Option<&str>) -> Result<AgentResult, AgentError> {
        let structured = structured.map(str::to_owned);
        Ok(AgentResult { content: vec![Content::text(text)], structured, origin: Origin::Client, edited: None })
    }

    #[test]
    fn what_is_recorded_answers_the_same() {
        let told = |words: &str| ToolResult { content: vec![Content::text(words)], structured: None, is_error: true };
        for answer in [
            result("saved", None),
            result("", None),
            result("7", None),
            result(r#"{"id":7}"#, Some(r#"{"id":7}"#)),
            result("Saved as 7.", Some(r#"{"id":7}"#)),
            result(r#"{"b":null,"a":1.0}"#, Some(r#"{"b":null,"a":1.0}"#)),
            result("a list", Some(r#"{ "b": [1, 18446744073709551615] }"#)),
            Ok(AgentResult {
                content: vec![Content::text("x")],
                structured: None,
                origin: Origin::Component("notes".into()),
                edited: None,
            }),
            Err(AgentError::ToolError(told("the disk is full"))),
            Err(AgentError::Failed("it crashed".into())),
            Err(AgentError::Declined("no".into())),
            Err(AgentError::InvalidArguments("n".into())),
            Err(AgentError::NotSupported("nobody".into())),
        ] {
            let reply = ToolReply::from_live("notes.add", &answer).unwrap();
            let text = toml::to_string(&reply).unwrap();
            let read: ToolReply = toml_edit::de::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(read, reply, "{text}");
            assert_eq!(read.answer(), answer, "{text}");
        }
        let plain = ToolReply::from_live("a.b", &result(r#"{"id":7}"#, Some(r#"{"id":7}"#))).unwrap();
        assert_eq!(toml::to_string(&plain).unwrap(), "name = \"a.b\"\n\n[result]\nid = 7\n", "as one would write it");
    }

    #[test]
    fn what_a_transcript_cannot_have_is_refused() {
        let two = Ok(AgentResult {
            content: vec![Content::text("a"), Content::text("b")],
            structured: None,
            origin: Origin::Client,
            edited: None,
        });
        for text in ["name = \"a.b\"\nkind = \"failed\"", "name = \"a.b\"\nresult = 1\nerror = \"no\""] {
            assert!(toml::from_str::<ToolReply>(text).unwrap().check().unwrap_err().contains("`a.b`"), "{text}");
        }
        for answer in [two, Err(AgentError::Timeout(7)), Err(AgentError::Cancelled)] {
            assert!(ToolReply::from_live("a.b", &answer).unwrap_err().contains("`a.b`"), "{answer:?}");
        }
    }
}
