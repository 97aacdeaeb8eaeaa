//! The response to a request that is served directly, serialized once.

use crate::client::chunk_record::ChunkRecord;
use crate::requests::call_result::{CallMeta, note};
use crate::requests::text_copy::shorten_copy;
use axum::http::StatusCode;
use plugins::calls::{CallAnswer, CleanUp, FinishedCall};
use protocol::content::to_blocks;
use rmcp::ErrorData;
use rmcp::model::{ContentBlock, ErrorCode, JsonRpcError, RequestId};
use runtime::engine::CallError;
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// A JSON-RPC message.
pub(crate) struct DirectResponse {
    pub(crate) status: StatusCode,
    pub(crate) json: Vec<u8>,
    /// CPU time of the call.
    pub(crate) cpu: Duration,
    /// Work that is left to do after the response is sent.
    pub(crate) clean_up: Option<CleanUp>,
}

impl DirectResponse {
    fn new(status: StatusCode, json: Vec<u8>) -> Self {
        Self { status, json, cpu: Duration::ZERO, clean_up: None }
    }

    /// The response to a request that failed inside this host.
    pub(crate) fn failed(id: &RequestId) -> Self {
        refuse(id, ErrorData::internal_error(CallError::Internal.to_string(), None))
    }
}

#[derive(Serialize)]
struct Message<'a, R> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a R,
}

/// The same form as `rmcp::model::CallToolResult`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'a> {
    result_type: &'static str,
    content: Vec<ContentBlock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Value>,
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: CallMeta<'a>,
}

/// Room for the message around a result.
const AROUND: usize = 768;
/// The most room that is reserved for a result. A call may have put out much more, but as chunks.
const MAX_ROOM: u64 = 64 << 10;

/// Makes the response of a call that has finished.
pub(super) fn write_result(
    id: &RequestId,
    finished: FinishedCall,
    record: &ChunkRecord,
    server_info: &Value,
    asks_usage: bool,
) -> DirectResponse {
    let FinishedCall { result, usage, clean_up, refused_files, .. } = finished;
    let mut said = Map::new();
    let (mut content, structured, is_error, error) = match result {
        Ok(CallAnswer::Tool(answer)) => {
            said = answer.meta;
            (to_blocks(answer.content), answer.structured, answer.is_error, None)
        }
        // A tool call has only results of tools.
        Ok(_) => return DirectResponse::failed(id),
        Err(error) => (vec![ContentBlock::text(error.to_string())], None, true, Some(error)),
    };
    shorten_copy(&mut content, structured.as_ref().map(|structured| &structured.value));
    content.extend(note(is_error, record, &refused_files).map(ContentBlock::text));
    let meta = CallMeta {
        server_info,
        call: record.call_id(),
        correlation: record.correlation(),
        usage: asks_usage.then_some(&usage),
        error: error.as_ref(),
        stream: record.summary(),
        said: &said,
    };
    let structured_content = structured.map(|structured| structured.value);
    let result = ToolResult { result_type: "complete", content, structured_content, is_error, meta };
    DirectResponse { cpu: usage.spent.cpu, clean_up, ..write_with_room(id, &result, usage.output_bytes) }
}

pub(super) fn write(id: &RequestId, result: &impl Serialize) -> DirectResponse {
    write_with_room(id, result, 0)
}

fn write_with_room(id: &RequestId, result: &impl Serialize, bytes: u64) -> DirectResponse {
    let mut json = Vec::with_capacity(AROUND + usize::try_from(bytes.min(MAX_ROOM)).unwrap_or(0));
    match serde_json::to_writer(&mut json, &Message { jsonrpc: "2.0", id, result }) {
        Ok(()) => DirectResponse::new(StatusCode::OK, json),
        Err(error) => refuse(id, ErrorData::internal_error(error.to_string(), None)),
    }
}

/// The response for an error, with the same status as from rmcp's HTTP service.
pub(super) fn refuse(id: &RequestId, error: ErrorData) -> DirectResponse {
    let status = match error.code {
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    let json = serde_json::to_vec(&JsonRpcError::new(Some(id.clone()), error)).unwrap_or_default();
    DirectResponse::new(status, json)
}
