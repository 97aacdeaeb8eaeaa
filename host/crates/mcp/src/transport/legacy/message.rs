//! Stored messages and event ids.

use axum::http::request::Parts;
use policy::{Principal, is_name};
use rmcp::model::{
    CustomNotification, CustomRequest, CustomResult, ErrorData, RequestId, ServerJsonRpcMessage, ServerNotification,
    ServerRequest, ServerResult,
};
use serde_json::{Map, Value, json};

/// A position in a stream. The stream's token is random, so nobody else can guess its event ids.
#[derive(Debug, PartialEq)]
pub(super) struct EventId {
    pub(super) token: String,
    /// 0 is the position before the first event.
    pub(super) number: u32,
}

impl EventId {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (token, number) = text.rsplit_once('.')?;
        let ours = token.len() == 22 && is_name(token, 22, "-_");
        ours.then_some(Self { token: token.to_owned(), number: number.parse().ok()? })
    }

    pub(super) fn format(token: &str, number: u32) -> String {
        format!("{token}.{number}")
    }
}

/// A message and its JSON.
pub(super) struct EncodedMessage {
    pub(super) message: ServerJsonRpcMessage,
    /// None if the message cannot be serialized; then it cannot be sent either.
    pub(super) text: Option<String>,
}

impl From<ServerJsonRpcMessage> for EncodedMessage {
    fn from(message: ServerJsonRpcMessage) -> Self {
        Self { text: serde_json::to_string(&message).ok(), message }
    }
}

/// Parses a stored message. Results stay untyped JSON, because parsing them into types could lose fields.
pub(super) fn restore(text: &str) -> Option<ServerJsonRpcMessage> {
    let Value::Object(mut message) = serde_json::from_str(text).ok()? else { return None };
    let id: Option<RequestId> = message.remove("id").and_then(|id| serde_json::from_value(id).ok());
    if let Some(result) = message.remove("result") {
        return Some(ServerJsonRpcMessage::response(ServerResult::CustomResult(CustomResult(result)), id?));
    }
    if let Some(error) = message.remove("error") {
        return Some(ServerJsonRpcMessage::error(serde_json::from_value(error).ok()?, id));
    }
    let Some(Value::String(method)) = message.remove("method") else { return None };
    // rmcp would serialize absent params as null, which is not an object.
    let params = Some(message.remove("params").unwrap_or_else(|| Value::Object(Map::new())));
    Some(match id {
        Some(id) => ServerJsonRpcMessage::request(ServerRequest::CustomRequest(CustomRequest::new(method, params)), id),
        None => ServerJsonRpcMessage::notification(ServerNotification::CustomNotification(CustomNotification::new(
            method, params,
        ))),
    })
}

/// The error response to a request that ended with the server.
pub(super) fn interrupted(id: Option<RequestId>) -> ServerJsonRpcMessage {
    let text = "the server ended while this request ran, so it is unknown what the request did; send it again only if repeating it is harmless";
    ServerJsonRpcMessage::error(ErrorData::internal_error(text, Some(json!({"kind": "interrupted"}))), id)
}

/// The same as JSON, for a request id that is stored as JSON.
pub(super) fn interrupted_text(id: &str) -> String {
    serde_json::to_string(&interrupted(serde_json::from_str(id).ok())).unwrap_or_default()
}

/// The HTTP parts of a request that no client sent.
pub(super) fn request_parts(principal: &Principal) -> Parts {
    let mut parts = axum::http::Request::new(()).into_parts().0;
    parts.extensions.insert(principal.clone());
    parts
}
