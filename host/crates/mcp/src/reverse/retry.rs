//! Lane `retry`: the request ends with the calls as its result, and is sent again with their outcomes.
//!
//! rmcp's handlers can answer a call with a result of the protocol's only. So the calls leave them as an
//! `input_required` of another type with everything in `_meta`, and are brought into the extension's form by the
//! transport, where messages pass as they are sent ([`in_message`], [`in_frame`]).

use super::EXTENSION;
use bytes::Bytes;
use rmcp::ErrorData;
use rmcp::model::{
    CustomResult, InputRequiredResult, JsonRpcMessage, MetaObject, ResultType, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// What a retry brings along.
pub(crate) struct Retry {
    pub(crate) continuation: String,
    pub(crate) outcomes: Map<String, Value>,
}

impl Retry {
    /// Of a request; none when it does not go on with anything.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Result<Option<Self>, ErrorData> {
        let Some(brought) = context.meta.get(EXTENSION) else { return Ok(None) };
        let refused = |what: &str| ErrorData::invalid_params(format!("_meta[\"{EXTENSION}\"] {what}"), None);
        let Some(continuation) = brought.get("continuation") else { return Ok(None) };
        let continuation = continuation.as_str().ok_or_else(|| refused("has a `continuation` that is no text"))?;
        let outcomes = match brought.get("results") {
            None => Map::new(),
            Some(Value::Object(outcomes)) => outcomes.clone(),
            Some(_) => return Err(refused("has `results` that are no object")),
        };
        Ok(Some(Self { continuation: continuation.to_owned(), outcomes }))
    }
}

/// The result that asks for these calls, on its way to [`in_message`] or [`in_frame`].
pub(crate) fn result(
    calls: Map<String, Value>,
    continuation: String,
    mut meta: MetaObject,
) -> Result<InputRequiredResult, ErrorData> {
    let failed = |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
    meta.insert(EXTENSION.to_owned(), json!({ "toolCalls": calls, "continuation": continuation }));
    let mut result = InputRequiredResult::new(None, None).with_meta(meta);
    result.result_type = ResultType::deserialize(Value::from(EXTENSION)).map_err(failed)?;
    Ok(result)
}

/// Brings such a result into the extension's form.
fn of_extension(mut result: Value) -> Option<Value> {
    if result.get("resultType")? != EXTENSION {
        return None;
    }
    let asked = result.get_mut("_meta")?.as_object_mut()?.remove(EXTENSION)?;
    result.as_object_mut()?.extend(asked.as_object()?.clone());
    Some(result)
}

/// The same in a message that leaves.
pub(crate) fn in_message(message: &mut ServerJsonRpcMessage) {
    if let JsonRpcMessage::Response(response) = message
        && let ServerResult::InputRequiredResult(result) = &response.result
        && result.result_type.as_str() == EXTENSION
        && let Some(result) = serde_json::to_value(result).ok().and_then(of_extension)
    {
        response.result = ServerResult::CustomResult(CustomResult::new(result));
    }
}

/// Whether a request may be answered with such a result: it names the extension.
pub(crate) fn may_follow(request: &[u8]) -> bool {
    memchr::memmem::find(request, EXTENSION.as_bytes()).is_some()
}

/// The same in a piece of an HTTP body: a whole JSON message, or a whole event of a stream.
pub(crate) fn in_frame(frame: Bytes) -> Bytes {
    if !may_follow(&frame) {
        return frame;
    }
    let rewritten = |text: &str| {
        let mut message: Value = serde_json::from_str(text).ok()?;
        let result = of_extension(message.get_mut("result")?.take())?;
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

    fn made() -> InputRequiredResult {
        let calls = Map::from_iter([("call-1".to_owned(), json!({"name": "t"}))]);
        let mut meta = MetaObject::new();
        meta.insert("kept".into(), 1.into());
        result(calls, "sealed".into(), meta).unwrap()
    }

    fn wanted() -> Value {
        json!({"resultType": EXTENSION, "toolCalls": {"call-1": {"name": "t"}}, "continuation": "sealed", "_meta": {"kept": 1}})
    }

    fn message(result: ServerResult) -> ServerJsonRpcMessage {
        let id = NumberOrString::Number(7);
        serde_json::from_value::<JsonRpcResponse<Value>>(json!({"jsonrpc": "2.0", "id": 7, "result": {}})).unwrap();
        ServerJsonRpcMessage::response(result, id)
    }

    #[test]
    fn a_message_gets_the_form_of_the_extension() {
        let mut asks = message(ServerResult::InputRequiredResult(made()));
        in_message(&mut asks);
        assert_eq!(serde_json::to_value(&asks).unwrap()["result"], wanted());
        let own = InputRequiredResult::new(None, Some("state".into()));
        let mut questions = message(ServerResult::InputRequiredResult(own));
        let before = serde_json::to_value(&questions).unwrap();
        in_message(&mut questions);
        assert_eq!(serde_json::to_value(&questions).unwrap(), before);
    }

    #[test]
    fn a_body_gets_the_form_of_the_extension() {
        let whole = serde_json::to_string(&message(ServerResult::InputRequiredResult(made()))).unwrap();
        let read = |frame: Bytes| serde_json::from_slice::<Value>(&frame).unwrap();
        assert_eq!(read(in_frame(whole.clone().into()))["result"], wanted());
        let event = in_frame(format!("id: 1\ndata: {whole}\n\n").into());
        let event = std::str::from_utf8(&event).unwrap();
        let data = event.strip_prefix("id: 1\ndata: ").unwrap().strip_suffix("\n\n").unwrap();
        assert_eq!(serde_json::from_str::<Value>(data).unwrap()["result"], wanted());
    }

    #[test]
    fn nothing_else_is_touched() {
        let chunk = format!("data: {{\"method\":\"x\",\"params\":{{\"text\":\"{EXTENSION}\"}}}}\n\n");
        for text in ["", "{}", ": keep alive\n\n", chunk.as_str(), &format!("no JSON {EXTENSION}")] {
            assert_eq!(in_frame(text.to_owned().into()), text.as_bytes());
        }
        assert!(may_follow(b"ddev.portcullis/client-tools") && !may_follow(b"dev.portcullis/client-tool"));
    }
}
