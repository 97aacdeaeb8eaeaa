//! Lane `retry`: the request ends with the calls as its result, and the client sends it again with their outcomes.
//!
//! rmcp's handlers can only return result types of the protocol. So a handler returns an `input_required` result with
//! another type name and everything else in `_meta`; the transport rewrites it into the extension's form when the
//! message is sent ([`rewrite_message`], [`rewrite_frame`]).

use bytes::Bytes;
use protocol::names::CLIENT_TOOLS;
use rmcp::ErrorData;
use rmcp::model::{
    CustomResult, InputRequiredResult, JsonRpcMessage, MetaObject, ResultType, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The data of a retry in `_meta`.
pub(crate) struct RetryParams {
    pub(crate) continuation: String,
    pub(crate) outcomes: Map<String, Value>,
}

impl RetryParams {
    /// None if the request is not a retry.
    pub(super) fn from_context(context: &RequestContext<RoleServer>) -> Result<Option<Self>, ErrorData> {
        let Some(fields) = context.meta.get(CLIENT_TOOLS) else { return Ok(None) };
        let invalid = |what: &str| ErrorData::invalid_params(format!("_meta[\"{CLIENT_TOOLS}\"] {what}"), None);
        let Some(continuation) = fields.get("continuation") else { return Ok(None) };
        let continuation = continuation.as_str().ok_or_else(|| invalid("has a `continuation` that is not a string"))?;
        let outcomes = match fields.get("results") {
            None => Map::new(),
            Some(Value::Object(outcomes)) => outcomes.clone(),
            Some(_) => return Err(invalid("has `results` that are not an object")),
        };
        Ok(Some(Self { continuation: continuation.to_owned(), outcomes }))
    }
}

/// The result that asks for these calls, as a handler returns it.
pub(crate) fn input_required(
    calls: Map<String, Value>,
    continuation: String,
    mut meta: MetaObject,
) -> Result<InputRequiredResult, ErrorData> {
    let failed = |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
    meta.insert(CLIENT_TOOLS.to_owned(), json!({ "toolCalls": calls, "continuation": continuation }));
    let mut result = InputRequiredResult::new(None, None).with_meta(meta);
    result.result_type = ResultType::deserialize(Value::from(CLIENT_TOOLS)).map_err(failed)?;
    Ok(result)
}

/// Moves the fields from `_meta` into the result. None if the result has another type.
fn to_extension_form(mut result: Value) -> Option<Value> {
    if result.get("resultType")? != CLIENT_TOOLS {
        return None;
    }
    let fields = result.get_mut("_meta")?.as_object_mut()?.remove(CLIENT_TOOLS)?;
    result.as_object_mut()?.extend(fields.as_object()?.clone());
    Some(result)
}

/// Rewrites an outgoing message if it asks for reverse calls.
pub(crate) fn rewrite_message(message: &mut ServerJsonRpcMessage) {
    if let JsonRpcMessage::Response(response) = message
        && let ServerResult::InputRequiredResult(result) = &response.result
        && result.result_type.as_str() == CLIENT_TOOLS
        && let Some(result) = serde_json::to_value(result).ok().and_then(to_extension_form)
    {
        response.result = ServerResult::CustomResult(CustomResult::new(result));
    }
}

/// Whether a message names the extension. Only such a request can be answered with a result that must be rewritten.
pub(crate) fn names_extension(message: &[u8]) -> bool {
    memchr::memmem::find(message, CLIENT_TOOLS.as_bytes()).is_some()
}

/// Rewrites a frame of an HTTP body, which is a whole JSON message or a whole event of a stream.
pub(crate) fn rewrite_frame(frame: Bytes) -> Bytes {
    if !names_extension(&frame) {
        return frame;
    }
    let rewritten = |text: &str| {
        let mut message: Value = serde_json::from_str(text).ok()?;
        let result = to_extension_form(message.get_mut("result")?.take())?;
        message["result"] = result;
        Some(message.to_string())
    };
    let Ok(text) = std::str::from_utf8(&frame) else { return frame };
    if let Some(message) = rewritten(text) {
        return message.into();
    }
    let mut changed = false;
    let line = |line: &str| match line.strip_prefix("data:").and_then(|data| rewritten(data.trim())) {
        Some(message) => {
            changed = true;
            format!("data: {message}\n")
        }
        None => line.to_owned(),
    };
    let lines: String = text.split_inclusive('\n').map(line).collect();
    if changed { lines.into() } else { frame }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{JsonRpcResponse, NumberOrString};

    fn input_required_result() -> InputRequiredResult {
        let calls = Map::from_iter([("call-1".to_owned(), json!({"name": "t"}))]);
        let mut meta = MetaObject::new();
        meta.insert("kept".into(), 1.into());
        input_required(calls, "sealed".into(), meta).unwrap()
    }

    fn expected() -> Value {
        json!({"resultType": CLIENT_TOOLS, "toolCalls": {"call-1": {"name": "t"}}, "continuation": "sealed", "_meta": {"kept": 1}})
    }

    fn message(result: ServerResult) -> ServerJsonRpcMessage {
        let id = NumberOrString::Number(7);
        serde_json::from_value::<JsonRpcResponse<Value>>(json!({"jsonrpc": "2.0", "id": 7, "result": {}})).unwrap();
        ServerJsonRpcMessage::response(result, id)
    }

    #[test]
    fn messages_are_rewritten() {
        let mut calls = message(ServerResult::InputRequiredResult(input_required_result()));
        rewrite_message(&mut calls);
        assert_eq!(serde_json::to_value(&calls).unwrap()["result"], expected());
        let of_protocol = InputRequiredResult::new(None, Some("state".into()));
        let mut questions = message(ServerResult::InputRequiredResult(of_protocol));
        let before = serde_json::to_value(&questions).unwrap();
        rewrite_message(&mut questions);
        assert_eq!(serde_json::to_value(&questions).unwrap(), before);
    }

    #[test]
    fn frames_are_rewritten() {
        let whole = message(ServerResult::InputRequiredResult(input_required_result()));
        let whole = serde_json::to_string(&whole).unwrap();
        let parse = |frame: Bytes| serde_json::from_slice::<Value>(&frame).unwrap();
        assert_eq!(parse(rewrite_frame(whole.clone().into()))["result"], expected());
        let event = rewrite_frame(format!("id: 1\ndata: {whole}\n\n").into());
        let event = std::str::from_utf8(&event).unwrap();
        let data = event.strip_prefix("id: 1\ndata: ").unwrap().strip_suffix("\n\n").unwrap();
        assert_eq!(serde_json::from_str::<Value>(data).unwrap()["result"], expected());
    }

    #[test]
    fn other_frames_stay_unchanged() {
        let chunk = format!("data: {{\"method\":\"x\",\"params\":{{\"text\":\"{CLIENT_TOOLS}\"}}}}\n\n");
        for text in ["", "{}", ": keep alive\n\n", chunk.as_str(), &format!("no JSON {CLIENT_TOOLS}")] {
            assert_eq!(rewrite_frame(text.to_owned().into()), text.as_bytes());
        }
        assert!(names_extension(b"ddev.portcullis/client-tools") && !names_extension(b"dev.portcullis/client-tool"));
    }
}
