//! The body of a request, bounded in size, time and depth before anybody parses it.

use super::nesting::{MAX_DEPTH, is_deeper_than};
use super::refusal::Refusal;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use bytesize::ByteSize;
use futures::StreamExt;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::time::Duration;

/// How long a body may take to arrive. Bounds how long a peer that trickles holds what it has sent.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much of a body that is too large is read and thrown away, so that its sender gets to read the answer.
const THROWN_AWAY: u64 = 16 << 20;
/// Headers on which this server or one in between decides; given twice, the two might take different ones for true.
/// Those that rmcp compares with the body it checks itself.
const SINGLE: [&str; 3] = ["MCP-Protocol-Version", "Mcp-Session-Id", "Last-Event-ID"];

/// Headers that must be there once at most.
pub(super) fn check_single(headers: &HeaderMap) -> Result<(), Refusal> {
    match SINGLE.into_iter().find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        Some(name) => Err(Refusal::Twice(name)),
        None => Ok(()),
    }
}

/// Reads a whole body, checked but not parsed.
pub(super) async fn read(body: Body, max: ByteSize) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(PATIENCE, collect(body, max)).await {
        Ok(text) => text.and_then(|text| match is_deeper_than(&text, MAX_DEPTH) {
            true => Err(Refusal::TooDeep(MAX_DEPTH)),
            false => Ok(text),
        }),
        Err(_) => Err(Refusal::TooSlow(PATIENCE.as_secs())),
    }
}

async fn collect(body: Body, max: ByteSize) -> Result<Bytes, Refusal> {
    let mut parts = body.into_data_stream();
    let mut text = Vec::new();
    let mut length = 0;
    while let Some(part) = parts.next().await {
        // The sender is gone; so is whoever would read the answer.
        let part = part.map_err(|_| Refusal::NotAMessage)?;
        length += part.len() as u64;
        if length <= max.as_u64() {
            text.extend_from_slice(&part);
        } else {
            text = Vec::new();
            if length > max.as_u64().saturating_add(THROWN_AWAY) {
                break;
            }
        }
    }
    if length > max.as_u64() { Err(Refusal::TooLarge(max)) } else { Ok(text.into()) }
}

/// Whether the text asks for something new, rather than answering, telling or cancelling.
pub(super) fn is_request(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        method: Option<IgnoredAny>,
        id: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Kind>(text).map_or(true, |kind| kind.method.is_some() && kind.id.is_some())
}

/// What rmcp calls an unsupported media type although the type is JSON: it is what the text says that is wrong.
pub(super) fn explain_unreadable(headers: &HeaderMap, text: &[u8]) -> Option<Refusal> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return None;
    }
    Some(match serde_json::from_slice::<IgnoredAny>(text) {
        Ok(_) => Refusal::NotAMessage,
        Err(error) => Refusal::NotJson(error.to_string()),
    })
}
