//! Reads the body of a request, limited in size, time and nesting before anything parses it.

use crate::transport::connections::connection_table::ServedConnection;
use crate::transport::responses::refusal::HttpRefusal;
use crate::transport::responses::sent_text::SentText;
use crate::unreadable::Unreadable;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use bytes::Buf as _;
use bytesize::ByteSize;
use futures::StreamExt;
use platform::telemetry::printable;
use platform::text::truncate;
use protocol::json_text::{MAX_DEPTH, is_deeper_than};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::sync::Arc;
use std::time::Duration;

/// How long a body may take to arrive. Bounds how long a slow sender can hold memory.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a body that is too large is read and discarded, so that its sender gets to read the response.
const MAX_DISCARDED: u64 = 16 << 20;
/// The byte order mark that some clients put before JSON.
pub(in crate::transport) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Headers that this server or a proxy acts on; with two values, the two could act on different ones. rmcp checks the
/// headers that it compares with the body.
const SINGLE_HEADERS: [&str; 3] = ["MCP-Protocol-Version", "Mcp-Session-Id", "Last-Event-ID"];

pub(in crate::transport) fn check_headers(headers: &HeaderMap) -> Result<(), HttpRefusal> {
    if let Some(encoding) =
        headers.get(header::CONTENT_ENCODING).filter(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity"))
    {
        let encoding = String::from_utf8_lossy(encoding.as_bytes());
        return Err(HttpRefusal::Encoded(printable(truncate(&encoding, 40)).into_owned()));
    }
    match SINGLE_HEADERS.into_iter().find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        Some(name) => Err(HttpRefusal::DuplicateHeader(name)),
        None => Ok(()),
    }
}

/// Reads a whole body without parsing it. The connection is charged for its memory. `sent` gets what was read, even if the body
/// is refused.
pub(in crate::transport) async fn read(
    body: Body,
    max: ByteSize,
    connection: Option<&Arc<ServedConnection>>,
    sent: &mut SentText,
) -> Result<Bytes, HttpRefusal> {
    match tokio::time::timeout(BODY_TIMEOUT, collect(body, max, connection, sent)).await {
        Ok(text) => text.and_then(|mut text| {
            if text.starts_with(BYTE_ORDER_MARK) {
                text.advance(BYTE_ORDER_MARK.len());
            }
            sent.set_whole(&text);
            match is_deeper_than(&text, MAX_DEPTH) {
                true => Err(HttpRefusal::Unreadable(Unreadable::new(&text))),
                false => Ok(text),
            }
        }),
        Err(_) => Err(HttpRefusal::TooSlow(BODY_TIMEOUT.as_secs())),
    }
}

async fn collect(
    body: Body,
    max: ByteSize,
    connection: Option<&Arc<ServedConnection>>,
    sent: &mut SentText,
) -> Result<Bytes, HttpRefusal> {
    let mut parts = body.into_data_stream();
    // Most bodies are one part, which is not copied.
    let (mut first, mut rest) = (Bytes::new(), Vec::new());
    let mut length = 0;
    while let Some(part) = parts.next().await {
        // On an error the client is gone and does not read the response.
        let part = part.map_err(|_| HttpRefusal::NotAMessage)?;
        length += part.len() as u64;
        if length <= max.as_u64() {
            if !first.is_empty()
                && let Some(connection) = connection
                && !connection.hold_request(usize::try_from(length).unwrap_or(usize::MAX)).await
            {
                return Err(HttpRefusal::NoMemory);
            }
            match first.is_empty() {
                true => first = part,
                false => rest.extend_from_slice(&part),
            }
        } else {
            sent.add_part(&first);
            sent.add_part(&rest);
            sent.add_part(&part);
            (first, rest) = (Bytes::new(), Vec::new());
            if length > max.as_u64().saturating_add(MAX_DISCARDED) {
                break;
            }
        }
    }
    match length > max.as_u64() {
        true => Err(HttpRefusal::TooLarge(max)),
        false if rest.is_empty() => Ok(first),
        false => Ok([first, rest.into()].concat().into()),
    }
}

/// Whether the text is a JSON-RPC request rather than a response or a notification. Unreadable text counts as one.
pub(in crate::transport) fn is_request(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Envelope {
        method: Option<IgnoredAny>,
        id: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Envelope>(text).map_or(true, |envelope| envelope.method.is_some() && envelope.id.is_some())
}

/// rmcp reports a JSON body that it cannot parse as an unsupported media type; this finds the actual reason.
pub(in crate::transport) fn explain_unreadable(media_type: Option<&HeaderValue>, text: &[u8]) -> Option<HttpRefusal> {
    let media_type = media_type?.to_str().ok()?;
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return None;
    }
    Some(HttpRefusal::Unreadable(Unreadable::new(text)))
}
