//! Completes requests about tasks whose client leaves out `Mcp-Name`, the header that proxies route by. It must be the id of
//! the task, but FastMCP does not send it. A request that has arrived here was routed without it.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(rename = "taskId")]
    task: &'a str,
}

/// Adds the header from the message. A header that is there is left for rmcp to compare.
pub(in crate::transport) fn complete(headers: &mut HeaderMap, message: &[u8]) {
    let is_about_task = headers.get(&METHOD).is_some_and(|method| method.as_bytes().starts_with(b"tasks/"));
    if !is_about_task || headers.contains_key(&NAME) {
        return;
    }
    if let Ok(Message { params }) = serde_json::from_slice(message)
        && let Ok(name) = HeaderValue::from_str(params.task)
    {
        headers.insert(NAME, name);
    }
}
