//! Finds what is wrong with a message that cannot be read, or with the parameters of a known method, and whom to tell.

use protocol::json_text::{MAX_DEPTH, is_deeper_than, member_of};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, CompleteRequestParams, GetPromptRequestParams, GetTaskParams,
    InitializeRequestParams, PaginatedRequestParams, ReadResourceRequestParams, RequestId, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionsListenRequestParams, UnsubscribeRequestParams, UpdateTaskParams,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// A text that is not a valid message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unreadable {
    /// The id of the request, if it can be read. Its sender waits for a response to it.
    pub(crate) id: Option<RequestId>,
    pub(crate) code: i32,
    pub(crate) message: String,
    /// Whether it is meant as one request or as several.
    is_request: bool,
}

impl Unreadable {
    pub(crate) fn new(text: &[u8]) -> Self {
        let text = text.trim_ascii();
        let written = member_of(text, "id").and_then(|id| serde_json::from_slice(id).ok());
        let id = written.filter(|id: &Value| !id.is_null());
        let id: Option<RequestId> = id.and_then(|id| serde_json::from_value(id).ok());
        let is_request = id.is_some() && member_of(text, "method").is_some();
        if is_deeper_than(text, MAX_DEPTH) {
            let message = format!("the JSON is nested deeper than {MAX_DEPTH} levels");
            return Self { id, code: INVALID_REQUEST, message, is_request };
        }
        match serde_json::from_slice::<Value>(text) {
            Ok(value) => {
                let is_request = is_request || is_batch_of_requests(&value);
                Self { id, code: INVALID_REQUEST, message: wrong_envelope(&value), is_request }
            }
            Err(error) => {
                let message = format!("this is not JSON: {error}");
                Self { id, code: PARSE_ERROR, message, is_request }
            }
        }
    }

    /// Checks the parameters of a known method. None if they are right, or if the text is anything else.
    pub(crate) fn of_params(text: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Request {
            id: RequestId,
            method: String,
            params: Option<Value>,
        }
        let Request { id, method, params } = serde_json::from_slice(text).ok()?;
        let wrong = wrong_params(&method, params.as_ref(), is_stateless(params.as_ref()))?;
        Some(Self { id: Some(id), code: wrong.code.0, message: wrong.message.into_owned(), is_request: true })
    }

    /// Finds a request for a list with a cursor that is not text. rmcp would drop such parameters and begin the list again.
    pub(crate) fn of_cursor(text: &[u8]) -> Option<Self> {
        let method: String = serde_json::from_slice(member_of(text, "method")?).ok()?;
        if !method.ends_with("/list") {
            return None;
        }
        let cursor = member_of(member_of(text, "params")?, "cursor")?;
        if cursor.starts_with(b"\"") { None } else { Self::of_params(text) }
    }

    /// Whether somebody waits for a response. If errors were sent for other messages, two sides could answer errors with errors
    /// forever.
    pub(crate) fn is_request(&self) -> bool {
        self.is_request
    }

    pub(crate) fn error(&self) -> ErrorData {
        ErrorData::new(rmcp::model::ErrorCode(self.code), self.message.clone(), None)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

fn is_batch_of_requests(value: &Value) -> bool {
    let is_request = |message: &Value| message["method"].is_string() && !message["id"].is_null();
    value.as_array().is_some_and(|messages| messages.iter().any(is_request))
}

/// What is wrong with JSON that is not a message.
fn wrong_envelope(value: &Value) -> String {
    let Some(message) = value.as_object() else {
        let kind = if value.is_array() {
            "a list: no version that is served here has batches, so send each message by itself"
        } else {
            "no object"
        };
        return format!("a JSON-RPC message is an object, and this is {kind}");
    };
    let wrong = match (message.get("jsonrpc"), message.get("id"), message.get("method"), message.get("params")) {
        (Some(version), ..) if version != "2.0" => "`jsonrpc` must be \"2.0\"",
        (None, ..) => "`jsonrpc` is missing: write \"jsonrpc\": \"2.0\"",
        (_, Some(id), ..) if !(id.is_string() || id.is_i64() || id.is_u64()) => "`id` must be a string or an integer",
        (_, _, Some(method), _) if !method.is_string() => "`method` must be a string",
        (_, _, Some(_), Some(params)) if !params.is_object() => "`params` must be an object",
        (_, _, Some(_), _) => "something in `params` has another type than the protocol says",
        (_, _, None, _) => "it has no `method`, and is no answer to a request of this server either",
    };
    format!("this is not a complete JSON-RPC message of MCP: {wrong}")
}

/// What is wrong with the parameters of a served method. None if the method is unknown, or nothing is wrong.
pub(crate) fn wrong_params(method: &str, params: Option<&Value>, stateless: bool) -> Option<ErrorData> {
    let check = match method {
        // 2026-07-28 no longer has these methods.
        "initialize" | "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" if stateless => {
            return None;
        }
        "initialize" => check::<InitializeRequestParams>,
        "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list" => {
            check::<PaginatedRequestParams>
        }
        "tools/call" => check::<CallToolRequestParams>,
        "resources/read" => check::<ReadResourceRequestParams>,
        "resources/subscribe" => check::<SubscribeRequestParams>,
        "resources/unsubscribe" => check::<UnsubscribeRequestParams>,
        "prompts/get" => check::<GetPromptRequestParams>,
        "completion/complete" => check::<CompleteRequestParams>,
        "logging/setLevel" => check::<SetLevelRequestParams>,
        "subscriptions/listen" => check::<SubscriptionsListenRequestParams>,
        "tasks/get" => check::<GetTaskParams>,
        "tasks/update" => check::<UpdateTaskParams>,
        "tasks/cancel" => check::<CancelTaskParams>,
        _ => return None,
    };
    let wrong = check(params.unwrap_or(&json!({}))).err()?;
    Some(ErrorData::invalid_params(format!("{method}: {wrong}"), None))
}

/// Whether a request declares the version 2026-07-28.
fn is_stateless(params: Option<&Value>) -> bool {
    params.is_some_and(|params| params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string())
}

fn check<P: DeserializeOwned>(params: &Value) -> Result<(), String> {
    let wrong = |error: serde_path_to_error::Error<serde_json::Error>| {
        let (path, inner) = (error.path().to_string(), error.inner().to_string());
        let place = if path == "." { "params".to_owned() } else { format!("params.{path}") };
        let is_text_of_json = params.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_str);
        let is_text_of_json = is_text_of_json.is_some_and(|text| text.trim_start().starts_with(['{', '[']));
        // Replaces serde's terms by the terms of JSON.
        let words = [("a map", "an object"), ("a sequence", "a list"), (": map", ": object"), (": sequence", ": list")];
        let inner = words.into_iter().fold(inner, |text, (theirs, ours)| text.replace(theirs, ours));
        let hint = if is_text_of_json { "; send the JSON itself, and not a string with it" } else { "" };
        format!("`{place}`: {inner}{hint}")
    };
    serde_path_to_error::deserialize::<_, P>(params).map(drop).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_answered_as_far_as_it_can_be_read() {
        for (text, id, words) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\ud83d"}}"#, Some(json!(7)), "not JSON"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{"a":NaN}}"#, Some(json!("a")), "not JSON"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1e400}}"#, Some(json!(7)), "number out of range"),
            (r#"{"jsonrpc":"2.0","method":"ping","params":{"a":NaN}}"#, None, "not JSON"),
            (r#"{"id":7,"method":"ping"}"#, Some(json!(7)), "`jsonrpc` is missing"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, None, "`id` must be"),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, Some(json!(7)), "`method` must be"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#, Some(json!(7)), "`params` must be"),
            (r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#, None, "batches"),
            (r#"[]"#, None, "batches"),
            ("hello", None, "not JSON"),
        ] {
            let found = Unreadable::new(text.as_bytes());
            assert_eq!(found.id.as_ref().map(|id| serde_json::to_value(id).unwrap()), id, "{text}");
            assert!(found.message.contains(words), "{text}: {found}");
            assert_eq!(found.is_request(), id.is_some(), "{text}");
        }
        let batch = Unreadable::new(br#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":7,"method":"ping"}]"#);
        assert!(batch.is_request() && batch.id.is_none() && batch.message.contains("batches"), "{batch}");
        let latin1 = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{\"a\":\"\xe9\"}}";
        assert!(Unreadable::new(latin1).is_request());
        let deep =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
        let found = Unreadable::new(deep.as_bytes());
        assert!(found.is_request() && found.code == INVALID_REQUEST && found.message.contains("64"), "{found}");
        assert!(
            !Unreadable::new(br#"{"jsonrpc":"2.0","id":7,"result":NaN}"#).is_request(),
            "nobody waits for an answer to one"
        );
    }

    #[test]
    fn a_cursor_is_a_text() {
        let found = |method: &str, params: &str| {
            let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
            Unreadable::of_cursor(text.as_bytes()).map(|wrong| (wrong.id.is_some(), wrong.code, wrong.message))
        };
        for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
            for cursor in ["5", "1.5", "true", "{}", r#"["x"]"#] {
                let (has_id, code, message) = found(method, &format!(r#"{{"a":1,"cursor": {cursor}}}"#)).unwrap();
                assert!(
                    has_id && code == -32602 && message.contains("`params.cursor`"),
                    "{method} {cursor}: {message}"
                );
            }
            for good in [r#"{"cursor":"5"}"#, r#"{"cursor":null}"#, r#"{"_meta":{"cursor":5}}"#, "{}"] {
                assert_eq!(found(method, good), None, "{method} {good}");
            }
        }
        assert_eq!(found("tools/call", r#"{"cursor":5}"#), None);
    }

    #[test]
    fn wrong_parameters_are_named() {
        for (method, params, words) in [
            ("tools/call", json!({}), "tools/call: `params`: missing field `name`"),
            ("tools/call", json!({"name": 5}), "`params.name`: invalid type: integer `5`"),
            ("tools/call", json!({"name": "a", "arguments": "{\"n\":1}"}), "expected an object; send the JSON itself"),
            ("tools/call", json!({"name": "a", "arguments": [1]}), "`params.arguments`: invalid type: list"),
            ("resources/read", json!({"url": "a"}), "missing field `uri`"),
            ("logging/setLevel", json!({"level": "loud"}), "unknown variant `loud`"),
        ] {
            let found = wrong_params(method, Some(&params), false).unwrap_or_else(|| panic!("{method} {params}"));
            assert_eq!(found.code.0, -32602);
            assert!(found.message.contains(words), "{method} {params}: {}", found.message);
        }
        assert!(wrong_params("tools/call", Some(&json!({"name": "a"})), true).is_none());
        assert!(
            wrong_params("logging/setLevel", Some(&json!({"level": "loud"})), true).is_none(),
            "it is unknown there"
        );
        assert!(wrong_params("tools/fly", Some(&json!(5)), false).is_none());
    }
}
