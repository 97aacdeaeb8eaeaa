//! Reads a request in both ways and compares the results, for the host's fuzz targets: whatever the direct way accepts, the
//! ordinary way must read as the same.

use super::message::{self, Message, Params};
use protocol::questions;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage, RequestId};
use serde_json::{Value, json};

/// What the direct way reads from a body; none if it leaves the body to the ordinary way. The error says how the two differ.
pub fn read_both_ways(body: &[u8]) -> Result<Option<String>, String> {
    let Some(Message { id, params, .. }) = message::parse(body) else { return Ok(None) };
    let Some(abilities) = params.meta.abilities() else { return Ok(None) };
    let Params { name, arguments, request_state, input_responses, meta } = params;
    let declared = format!("{abilities:?}");
    let short = (
        to_value(&id),
        json!([name, arguments, request_state, input_responses, meta.correlation, meta.traceparent, declared]),
    );
    let ordinary = read_as_rmcp(body).ok_or("the ordinary way refuses what the short way takes")?;
    match short == ordinary {
        true => Ok(Some(declared)),
        false => Err(format!("the short way reads {short:?}, the ordinary way {ordinary:?}")),
    }
}

fn read_as_rmcp(body: &[u8]) -> Option<(Value, Value)> {
    let JsonRpcMessage::Request(message) = serde_json::from_slice::<ClientJsonRpcMessage>(body).ok()? else {
        return None;
    };
    let meta = message.request.get_meta().clone();
    let ClientRequest::CallToolRequest(request) = message.request else { return None };
    let call = request.params;
    let declared = meta.client_capabilities().as_ref().map(questions::abilities_from_capabilities).unwrap_or_default();
    let declared = format!("{declared:?}");
    let text = |name: &str| meta.get(name).cloned();
    let (correlation, traceparent) = (text(protocol::names::CORRELATION_META), text("traceparent"));
    let read = json!([
        call.name,
        call.arguments,
        call.request_state,
        call.input_responses,
        correlation,
        traceparent,
        declared
    ]);
    Some((to_value(&message.id), read))
}

fn to_value(id: &RequestId) -> Value {
    serde_json::to_value(id).unwrap_or_default()
}
