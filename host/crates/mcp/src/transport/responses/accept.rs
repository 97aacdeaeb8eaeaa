//! The media types that a client accepts: JSON and events, as MCP demands, or JSON alone, which is enough if the response is
//! one message.

use crate::transport::responses::refusal::HttpRefusal;
use crate::transport::responses::response::json_response;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use futures::StreamExt as _;
use protocol::json_text::member_of;

/// The value that rmcp and the direct path for calls expect.
static BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// Bytes of an event that is still incomplete. No message is larger.
const MAX_EVENT: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transport) enum Accepted {
    /// Any response is fine: the client accepts both types, or rmcp decides from the header.
    AsGiven,
    JsonOnly,
}

/// Reads the header, and completes it to the value that clients should send. A request without the header accepts everything.
pub(in crate::transport) fn complete(headers: &mut HeaderMap) -> Accepted {
    // Nearly all clients send exactly this.
    if headers.get(header::ACCEPT) == Some(&BOTH) {
        return Accepted::AsGiven;
    }
    let (mut json, mut events, mut named) = (false, false, 0);
    let mut entries = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    let is_absent = entries.peek().is_none();
    for entry in entries.flat_map(|value| value.split(',')) {
        let mut parts = entry.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let is_refused =
            parts.any(|it| it.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()).is_some_and(|q| q <= 0.0));
        named += usize::from(!is_refused && ["application/json", "text/event-stream"].contains(&&*kind));
        json |= !is_refused && ["*/*", "application/*", "application/json"].contains(&&*kind);
        events |= !is_refused && ["*/*", "text/*", "text/event-stream"].contains(&&*kind);
    }
    match (json || is_absent, events || is_absent) {
        // The client names both types.
        (true, true) if named > 1 => Accepted::AsGiven,
        (true, events) => {
            headers.insert(header::ACCEPT, BOTH.clone());
            if events { Accepted::AsGiven } else { Accepted::JsonOnly }
        }
        // Left to rmcp to judge.
        (false, _) => Accepted::AsGiven,
    }
}

/// The response of a stream as JSON, without the notifications before it. If the server first asks something in the stream, a
/// client that accepts only JSON cannot get it, and this fails.
pub(in crate::transport) async fn to_json(response: Response) -> Result<Response, HttpRefusal> {
    let is_stream = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    let (mut frames, mut events, mut searched) = (body.into_data_stream(), Vec::new(), 0);
    while let Some(Ok(frame)) = frames.next().await {
        events.extend_from_slice(&frame);
        while let Some(end) = events[searched..].windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = events.drain(..searched + end + 2).collect();
            searched = 0;
            let message = data_of(&event);
            if member_of(&message, "method").is_none() && member_of(&message, "id").is_some() {
                let json = json_response(parts.status, Body::from(message));
                parts.headers.remove(header::CACHE_CONTROL);
                for (name, value) in json.headers() {
                    parts.headers.insert(name, value.clone());
                }
                return Ok(Response::from_parts(parts, json.into_body()));
            }
            if member_of(&message, "method").is_some() && member_of(&message, "id").is_some() {
                return Err(HttpRefusal::NeedsEvents);
            }
        }
        searched = events.len().saturating_sub(1);
        if events.len() > MAX_EVENT {
            break;
        }
    }
    Err(HttpRefusal::NeedsEvents)
}

/// The data of an event, as this server writes it: on one line.
fn data_of(event: &[u8]) -> Vec<u8> {
    let data = event.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    data.map(<[u8]>::trim_ascii).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_json_is_served() {
        for (given, accepted, is_completed) in [
            (None, Accepted::AsGiven, true),
            (Some("*/*"), Accepted::AsGiven, true),
            (Some("application/json"), Accepted::JsonOnly, true),
            (Some("application/json, */*;q=0"), Accepted::JsonOnly, true),
            (Some("application/*;q=0.5"), Accepted::JsonOnly, true),
            (Some("text/event-stream, application/json;q=0.1"), Accepted::AsGiven, false),
            (Some("text/event-stream"), Accepted::AsGiven, false),
            (Some("text/html"), Accepted::AsGiven, false),
            (Some("application/json;q=0"), Accepted::AsGiven, false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(given) = given {
                headers.insert(header::ACCEPT, HeaderValue::from_static(given));
            }
            assert_eq!(complete(&mut headers), accepted, "{given:?}");
            assert_eq!(headers.get(header::ACCEPT) == Some(&BOTH), is_completed, "{given:?}");
        }
    }

    #[tokio::test]
    async fn a_stream_becomes_its_answer() {
        let stream = |events: &'static str| {
            let mut response = Response::new(Body::from(events));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            response
        };
        let answer = "id: 1\ndata: {\"method\":\"notifications/progress\"}\n\ndata: {\"id\":1,\"result\":{}}\n\n";
        let json = to_json(stream(answer)).await.unwrap();
        assert_eq!(json.headers()[header::CONTENT_TYPE], "application/json");
        assert_eq!(axum::body::to_bytes(json.into_body(), 99).await.unwrap(), r#"{"id":1,"result":{}}"#);
        for events in ["data: {\"id\":\"s1\",\"method\":\"elicitation/create\"}\n\n", "data: \n\n"] {
            assert_eq!(to_json(stream(events)).await.unwrap_err(), HttpRefusal::NeedsEvents);
        }
    }
}
