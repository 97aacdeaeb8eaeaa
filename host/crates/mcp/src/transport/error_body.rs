//! Gives every error of HTTP a JSON-RPC body with a sentence. Clients show the body; some take only one with an id.

use super::response::json_response;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use rmcp::model::RequestId;
use serde_json::json;

/// Bytes of an error of rmcp.
const MAX_TEXT: usize = 4 << 10;
const INVALID_REQUEST: i32 = -32600;
const INTERNAL_ERROR: i32 = -32603;

/// An error's response. Without an id, the request's own was not read.
pub(super) fn error_response(status: StatusCode, id: Option<&RequestId>, code: i32, message: &str) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    json_response(status, body.to_string())
}

/// The layer. Errors of other kinds, such as pages, stay as they are.
pub(super) async fn explain_errors(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    if is_error && is_bare(response.headers()) { explain(response).await } else { response }
}

fn is_bare(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"))
}

async fn explain(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let text = to_bytes(body, MAX_TEXT).await.unwrap_or_default();
    let message = sentence(parts.status, &String::from_utf8_lossy(&text));
    let code = if parts.status.is_server_error() { INTERNAL_ERROR } else { INVALID_REQUEST };
    let explained = error_response(parts.status, None, code, &message);
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
        parts.headers.remove(name);
    }
    parts.headers.extend(explained.headers().clone());
    Response::from_parts(parts, Body::new(explained.into_body()))
}

/// What is wrong and what to do. `text` is `STATUS: REASON`, or nothing.
fn sentence(status: StatusCode, text: &str) -> String {
    let reason = text.split_once(": ").map_or(text, |(_, reason)| reason).trim();
    match (status, reason) {
        (StatusCode::NOT_ACCEPTABLE, _) => {
            "the Accept header must name application/json and text/event-stream, for GET the latter".to_owned()
        }
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, _) => "the Content-Type must be application/json".to_owned(),
        (StatusCode::METHOD_NOT_ALLOWED, _) => {
            "this HTTP method is not served here; the Allow header names those that are".to_owned()
        }
        (StatusCode::BAD_REQUEST, "Session ID is required") => {
            "this request belongs to no session: send `initialize` first, and then the Mcp-Session-Id of its answer; or send MCP-Protocol-Version: 2026-07-28, which has no sessions"
                .to_owned()
        }
        (_, "") => status.canonical_reason().unwrap_or("unknown error").to_lowercase(),
        (_, reason) => reason.to_owned(),
    }
}
