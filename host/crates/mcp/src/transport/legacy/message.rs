//! Messages as they are stored, and the ids of events.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::model::{
    CustomNotification, CustomRequest, CustomResult, ErrorData, RequestId, ServerJsonRpcMessage, ServerNotification,
    ServerRequest, ServerResult,
};
use serde_json::{Map, Value, json};

/// Where in which stream. The token of a stream is random: who does not know it cannot name its events.
#[derive(Debug, PartialEq)]
pub(super) struct EventId {
    pub(super) token: String,
    /// 0 stands before the first event.
    pub(super) number: u32,
}

impl EventId {
    /// As the client sends it back; none when it is none of ours.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (token, number) = text.rsplit_once('.')?;
        let ours = token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') && token.len() == 22;
        ours.then_some(Self { token: token.to_owned(), number: number.parse().ok()? })
    }

    pub(super) fn text(token: &str, number: u32) -> String {
        format!("{token}.{number}")
    }
}

/// 128 random bits: the name of a session or a stream. None when the system has no randomness.
pub(super) fn random_name() -> Option<String> {
    let mut bytes = [0u8; 16];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(16) => Some(URL_SAFE_NO_PAD.encode(bytes)),
        _ => None,
    }
}

/// A message, and the words in which it is stored.
pub(super) struct Worded {
    pub(super) message: ServerJsonRpcMessage,
    /// None when it has no words; then it cannot be sent either.
    pub(super) text: Option<String>,
}

impl From<ServerJsonRpcMessage> for Worded {
    fn from(message: ServerJsonRpcMessage) -> Self {
        Self { text: serde_json::to_string(&message).ok(), message }
    }
}

/// A stored message. What was a typed result stays the JSON it was: reading it as a type again could lose some of it.
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
    // Without any, rmcp would write null, which is no object.
    let params = Some(message.remove("params").unwrap_or_else(|| Value::Object(Map::new())));
    Some(match id {
        Some(id) => ServerJsonRpcMessage::request(ServerRequest::CustomRequest(CustomRequest::new(method, params)), id),
        None => ServerJsonRpcMessage::notification(ServerNotification::CustomNotification(CustomNotification::new(
            method, params,
        ))),
    })
}

/// The last word on a request that nobody will answer any more.
pub(super) fn interrupted(id: Option<RequestId>) -> ServerJsonRpcMessage {
    let text = "the server ended while this request ran; what it had done by then is not known. Send it again if doing it twice does no harm";
    ServerJsonRpcMessage::error(ErrorData::internal_error(text, Some(json!({"kind": "interrupted"}))), id)
}

/// The same to be stored, for a request whose id is noted as JSON.
pub(super) fn interrupted_text(id: &str) -> String {
    serde_json::to_string(&interrupted(serde_json::from_str(id).ok())).unwrap_or_default()
}
