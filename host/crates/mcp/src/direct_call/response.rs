//! The answer of a request that is served directly, written once.

use crate::client::chunk_record::ChunkRecord;
use crate::requests::call_result::{CallMeta, check_capabilities};
use axum::http::StatusCode;
use plugins::calls::{CallAnswer, FinishedCall};
use protocol::content::to_blocks;
use rmcp::ErrorData;
use rmcp::model::{ContentBlock, JsonRpcError, RequestId};
use runtime::engine::CallError;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// A JSON-RPC message.
pub(crate) struct DirectResponse {
    pub(crate) status: StatusCode,
    pub(crate) json: Vec<u8>,
}

#[derive(Serialize)]
struct Message<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: ToolResult<'a>,
}

/// As `rmcp::model::CallToolResult`.
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

/// Room for the message around an answer.
const AROUND: usize = 768;
/// Room for an answer at first. What a call has put out may have been chunks.
const MAX_ROOM: u64 = 64 << 10;

/// What an answer says besides the result.
pub(super) struct About {
    pub(super) id: RequestId,
    pub(super) call: Arc<str>,
    pub(super) correlation: Option<String>,
    pub(super) record: ChunkRecord,
}

pub(super) fn write(finished: Result<FinishedCall, CallError>, about: &About, server_info: &Value) -> DirectResponse {
    let About { id, call, correlation, record } = about;
    let failed = |error: CallError| refuse(id, StatusCode::OK, ErrorData::internal_error(error.to_string(), None));
    let FinishedCall { result, usage, .. } =
        match finished.map(|finished| (check_capabilities(true, &finished), finished)) {
            Ok((Ok(()), finished)) => finished,
            Ok((Err(error), _)) => return refuse(id, StatusCode::BAD_REQUEST, error),
            Err(error) => return failed(error),
        };
    let (content, structured, is_error, error) = match result {
        Ok(CallAnswer::Tool(answer)) => (to_blocks(answer.content), answer.structured, answer.is_error, None),
        // A tool answers as a tool.
        Ok(_) => return failed(CallError::Internal),
        Err(error) => (vec![ContentBlock::text(error.to_string())], None, true, Some(error)),
    };
    let meta = CallMeta {
        server_info,
        call,
        correlation: correlation.as_deref(),
        usage: &usage,
        error: error.as_ref(),
        stream: record.summary(),
    };
    let structured_content = structured.map(|structured| structured.value);
    let result = ToolResult { result_type: "complete", content, structured_content, is_error, meta };
    let mut json = Vec::with_capacity(AROUND + usize::try_from(usage.output_bytes.min(MAX_ROOM)).unwrap_or(0));
    match serde_json::to_writer(&mut json, &Message { jsonrpc: "2.0", id, result }) {
        Ok(()) => DirectResponse { status: StatusCode::OK, json },
        Err(error) => refuse(id, StatusCode::OK, ErrorData::internal_error(error.to_string(), None)),
    }
}

fn refuse(id: &RequestId, status: StatusCode, error: ErrorData) -> DirectResponse {
    let json = serde_json::to_vec(&JsonRpcError::new(Some(id.clone()), error)).unwrap_or_default();
    DirectResponse { status, json }
}
