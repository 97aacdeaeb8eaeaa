//! Requests that are built once and then only get their number filled in, and the check of the answers.

use std::borrow::Cow;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// The placeholder for the request's number in a template.
const NUMBER: &str = "#NUMBER#";

/// What an echo says before and after the number.
const ECHO: [&str; 2] = ["request ", ": the quick brown fox jumps over the lazy dog"];

/// A request without its number.
pub(crate) struct Template {
    /// The body, split where the number goes.
    parts: Vec<String>,
    pub(crate) method: &'static str,
    pub(crate) tool: Option<String>,
    reads: Reads,
}

/// The part of an answer that is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// The text of a tool's result.
    Text,
    /// The same, and it must be this with the request's number in the middle.
    Around([&'static str; 2]),
    /// The same, and it must be that of request 0.
    Constant,
    /// The whole result, of any form.
    Whole,
}

/// The content of one answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The text of a tool's result; for `tools/list` and calls that may ask something, the JSON of the result.
    pub(crate) text: String,
}

/// A tool as `tools/list` shows it.
#[derive(Deserialize)]
pub(crate) struct Tool {
    pub(crate) name: String,
}

#[derive(Deserialize)]
struct Message<R> {
    id: Option<u64>,
    method: Option<IgnoredAny>,
    result: Option<R>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct ToolResult<'a> {
    #[serde(borrow)]
    content: Vec<Content<'a>>,
    #[serde(rename = "isError", default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

impl Template {
    pub(crate) fn list_tools() -> Self {
        Self { reads: Reads::Whole, ..Self::new("tools/list", json!({}), json!({})) }
    }

    /// The page of the list after this one.
    pub(crate) fn more_tools(cursor: &str) -> Self {
        Self { reads: Reads::Whole, ..Self::new("tools/list", json!({"cursor": cursor}), json!({})) }
    }

    /// An echo whose text contains the request's number, so that a swapped answer is noticed.
    pub(crate) fn echo(tool: String) -> Self {
        let arguments = json!({"text": format!("request {NUMBER}: the quick brown fox jumps over the lazy dog")});
        Self { reads: Reads::Around(ECHO), ..Self::call(tool, arguments) }
    }

    /// The same for a client of 2025-11-25, whose session knows what other requests say of themselves.
    pub(crate) fn legacy_echo(tool: &str) -> Self {
        let arguments = json!({"text": format!("request {NUMBER}: the quick brown fox jumps over the lazy dog")});
        Self { reads: Reads::Around(ECHO), ..Self::bare("tools/call", &json!({"name": tool, "arguments": arguments})) }
    }

    /// A greeting of somebody with the request's number as a name.
    pub(crate) fn greeting(tool: String, said: &'static str) -> Self {
        Self { reads: Reads::Around([said, "!"]), ..Self::call(tool, json!({"name": format!("no. {NUMBER}")})) }
    }

    /// The same request to a server that always gives the answer to request 0.
    pub(crate) fn with_constant_answer(self) -> Self {
        Self { reads: Reads::Constant, ..self }
    }

    pub(crate) fn call(tool: String, arguments: Value) -> Self {
        Self::new("tools/call", json!({"name": tool, "arguments": arguments}), json!({}))
    }

    /// A call from a client that accepts partial results.
    pub(crate) fn streaming_call(tool: String, arguments: Value) -> Self {
        let capabilities = json!({"extensions": {"dev.portcullis/partial-results": {}}});
        Self::new("tools/call", json!({"name": tool, "arguments": arguments}), capabilities)
    }

    /// A call from a client that can fill in forms. `more` has further parameters, such as the answers.
    pub(crate) fn asking_call(tool: &str, arguments: &Value, more: Value) -> Self {
        let mut params = more;
        params["name"] = json!(tool);
        params["arguments"] = arguments.clone();
        Self { reads: Reads::Whole, ..Self::new("tools/call", params, json!({"elicitation": {"form": {}}})) }
    }

    /// A request of a client that follows tasks, and answers their questions.
    pub(crate) fn following_tasks(method: &'static str, params: Value) -> Self {
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {"form": {}}});
        Self { reads: Reads::Whole, ..Self::new(method, params, capabilities) }
    }

    fn new(method: &'static str, mut params: Value, capabilities: Value) -> Self {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "portcullis-bench", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        Self::bare(method, &params)
    }

    fn bare(method: &'static str, params: &Value) -> Self {
        let tool = params["name"].as_str().map(String::from);
        let body = json!({"jsonrpc": "2.0", "id": NUMBER, "method": method, "params": params}).to_string();
        // The id is a number on the wire, so its quotes are removed.
        let body = body.replace(&format!("\"{NUMBER}\""), NUMBER);
        Self { parts: body.split(NUMBER).map(String::from).collect(), method, tool, reads: Reads::Text }
    }

    /// Appends the request numbered `number`.
    pub(crate) fn write(&self, number: u64, out: &mut Vec<u8>) {
        let digits = number.to_string();
        for (position, part) in self.parts.iter().enumerate() {
            if position > 0 {
                out.extend_from_slice(digits.as_bytes());
            }
            out.extend_from_slice(part.as_bytes());
        }
    }

    /// Reads the answer to the request numbered `number`, or says why it is wrong.
    pub(crate) fn check(&self, number: u64, message: &[u8]) -> Result<Answer> {
        let (id, answer) = self.read(message)?;
        let expected = if self.reads == Reads::Constant { 0 } else { number };
        ensure!(id == expected, "the answer to request {number} carries the id {id}");
        Ok(answer)
    }

    /// Reads an answer whose number is not known in advance.
    pub(crate) fn read(&self, message: &[u8]) -> Result<(u64, Answer)> {
        if self.reads == Reads::Whole {
            let (id, result) = self.result::<Value>(message)?;
            return Ok((id, Answer { text: result.to_string() }));
        }
        let (id, result) = self.result::<ToolResult<'_>>(message)?;
        let [content] = &result.content[..] else {
            bail!("expected one piece of content, got {}", result.content.len());
        };
        ensure!(!result.is_error, "the tool failed: {}", content.text);
        let around = match self.reads {
            Reads::Around(around) => Some(around),
            Reads::Constant => Some(ECHO),
            Reads::Text | Reads::Whole => None,
        };
        if let Some(around) = around {
            ensure!(says(&content.text, around, id), "request {id} got a wrong answer: {}", content.text);
        }
        Ok((id, Answer { text: content.text.clone().into_owned() }))
    }

    fn result<'a, R: Deserialize<'a>>(&self, message: &'a [u8]) -> Result<(u64, R)> {
        match parse::<Message<R>>(message)? {
            Message { error: Some(error), .. } => bail!("{} was answered with the error {error}", self.method),
            Message { id: Some(id), result: Some(result), .. } => Ok((id, result)),
            _ => bail!("not an answer: {}", String::from_utf8_lossy(message)),
        }
    }
}

fn says(text: &str, [before, after]: [&str; 2], number: u64) -> bool {
    text.strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after))
        .is_some_and(|digits| digits.parse() == Ok(number))
}

/// Whether a message is a notification, that is, has a method.
pub(super) fn is_notification(message: &[u8]) -> Result<bool> {
    Ok(parse::<Message<IgnoredAny>>(message)?.method.is_some())
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T> {
    serde_json::from_slice(text).with_context(|| format!("not the JSON expected: {}", String::from_utf8_lossy(text)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Template;

    fn echo() -> Template {
        Template::echo("bench__echo".into())
    }

    fn answer(id: u64, text: &str, is_error: bool) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}], "isError": is_error}})
            .to_string()
            .into_bytes()
    }

    fn said(number: u64) -> String {
        format!("request {number}: the quick brown fox jumps over the lazy dog")
    }

    #[test]
    fn a_request_holds_its_number_and_is_stateless() {
        let mut body = Vec::new();
        echo().write(7, &mut body);
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        assert_eq!(body["id"], 7);
        assert_eq!(body["params"]["name"], "bench__echo");
        assert_eq!(body["params"]["arguments"]["text"], said(7));
        assert_eq!(body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    }

    #[test]
    fn a_constant_answer_is_that_of_the_first_request() {
        let constant = echo().with_constant_answer();
        assert!(constant.check(7, &answer(0, &said(0), false)).is_ok());
        assert!(constant.check(7, &answer(7, &said(7), false)).is_err());
    }

    #[test]
    fn only_the_right_answer_passes() {
        let refused =
            |message: &[u8]| echo().check(7, message).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(echo().check(7, &answer(7, &said(7), false)).ok().map(|answer| answer.text), Some(said(7)));
        assert_eq!(refused(&answer(8, &said(8), false)), "the answer to request 7 carries the id 8");
        assert!(refused(&answer(7, &said(8), false)).starts_with("request 7 got a wrong answer"));
        assert!(refused(&answer(7, "no", true)).starts_with("the tool failed: no"));
        assert!(refused(br#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602}}"#).contains("-32602"));
        assert!(refused(br#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#).contains("got 0"));
        assert!(refused(b"{").starts_with("not the JSON expected"));
    }
}
