//! Bodies of HTTP errors: a JSON-RPC error under the id of the request if that can be read, and otherwise a sentence. Some
//! clients wait forever for the response to a request if they get an error without its id.

use crate::transport::responses::response::json_response;
use crate::transport::responses::sent_text::SentText;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use rmcp::model::RequestId;
use serde_json::json;

/// Bytes that are read of an error of rmcp.
const MAX_TEXT: usize = 4 << 10;
const INVALID_REQUEST: i32 = -32600;
const INTERNAL_ERROR: i32 = -32603;

/// The JSON-RPC code of an error whose body is only a sentence.
#[derive(Debug, Clone, Copy)]
struct ErrorCode(i32);

/// The response for an error. If it has no id, a layer that knows what was sent adds one: see [`answer`].
pub(in crate::transport) fn error_response(
    status: StatusCode,
    id: Option<&RequestId>,
    code: i32,
    message: &str,
) -> Response {
    let Some(id) = id else {
        let mut response = Response::new(Body::from(message.to_owned()));
        *response.status_mut() = status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        response.extensions_mut().insert(ErrorCode(code));
        return response;
    };
    let body = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    json_response(status, body.to_string())
}

/// The layer for requests that are refused before anything of them is read.
pub(in crate::transport) async fn explain_errors(request: Request, next: Next) -> Response {
    answer(next.run(request).await, &SentText::default()).await
}

/// Gives an error that has no body of its own kind, such as a page, a sentence and the id of the request.
pub(in crate::transport) async fn answer(response: Response, sent: &SentText) -> Response {
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    if !is_error || !is_bare(response.headers()) {
        return response;
    }
    let (id, own) = (sent.request_id(), response.extensions().get::<ErrorCode>().copied());
    if id.is_none() && own.is_some() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = to_bytes(body, MAX_TEXT).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let (code, message) = match own {
        Some(ErrorCode(code)) => (code, text.into_owned()),
        None if parts.status.is_server_error() => (INTERNAL_ERROR, sentence(parts.status, &text)),
        None => (INVALID_REQUEST, sentence(parts.status, &text)),
    };
    let explained = error_response(parts.status, id.as_ref(), code, &message);
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
        parts.headers.remove(name);
    }
    let (own, body) = explained.into_parts();
    parts.headers.extend(own.headers);
    parts.extensions.extend(own.extensions);
    Response::from_parts(parts, body)
}

fn is_bare(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"))
}

/// A sentence that says what is wrong and what to do. `text` is `STATUS: REASON` or empty.
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
