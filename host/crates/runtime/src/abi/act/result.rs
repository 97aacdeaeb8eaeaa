//! The result of a tool: parts of different media types, and an error that ends them.

use super::bindings::act::core::types as core;
use super::bindings::act::tools::types as w;
use super::cbor;
use super::localized::text;
use crate::engine::CallError;
use crate::imports::{Blob, Content, ContentData, ToolError, ToolResult};
use data_encoding::BASE64;
use serde_json::Value;

/// Events of one result. Bounds what nearly empty ones cost.
const MAX_EVENTS: usize = 4_096;

pub(super) fn from_events(events: Vec<w::ToolEvent>) -> wasmtime::Result<Result<ToolResult, ToolError>> {
    if events.len() > MAX_EVENTS {
        return Err(invalid(format!("it has {} parts, and may have {MAX_EVENTS}", events.len())).into());
    }
    let is_single = events.len() == 1;
    let mut result = ToolResult { content: vec![], structured: None, is_error: false };
    let mut read = 0;
    for event in events {
        match event {
            w::ToolEvent::Content(part) => {
                let (content, value) = content(part, &mut read)?;
                result.content.push(content);
                // A single object is the structured result.
                result.structured = value.filter(|_| is_single).filter(Value::is_object).map(|value| value.to_string());
            }
            w::ToolEvent::Error(error) if result.content.is_empty() => return Ok(Err(tool_error(error))),
            w::ToolEvent::Error(error) => {
                result.content.push(Content::text(text(error.message)));
                result.is_error = true;
                break;
            }
        }
    }
    Ok(Ok(result))
}

/// `read` counts the bytes of CBOR that were read so far.
fn content(part: w::ContentPart, read: &mut usize) -> wasmtime::Result<(Content, Option<Value>)> {
    let media = part.mime_type.unwrap_or_default();
    let kind = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let utf8 =
        |data| String::from_utf8(data).map_err(|_| invalid(format!("a part of type {kind:.80} is not valid UTF-8")));
    let blob = |data| Blob { mime_type: media.clone(), data };
    let plain = |data| Ok((Content::plain(data), None));
    match kind.as_str() {
        "application/json" => {
            let json = utf8(part.data)?;
            let value = serde_json::from_str(&json).map_err(|error| invalid(format!("a part is not JSON: {error}")))?;
            Ok((Content::text(json), Some(value)))
        }
        "application/cbor" => {
            *read += part.data.len();
            if *read > cbor::MAX_READ {
                return Err(invalid(format!("its CBOR is more than {} bytes; send JSON", cbor::MAX_READ)).into());
            }
            let value = cbor::to_json(&part.data).map_err(|reason| invalid(format!("a part of it {reason}")))?;
            Ok((Content::text(value.to_string()), Some(value)))
        }
        kind if kind.starts_with("text/") => Ok((Content::text(utf8(part.data)?), None)),
        kind if kind.starts_with("image/") => plain(ContentData::Image(blob(part.data))),
        kind if kind.starts_with("audio/") => plain(ContentData::Audio(blob(part.data))),
        // MCP has no kind of content for these bytes, so they become text.
        _ => Ok((Content::text(BASE64.encode(&part.data)), None)),
    }
}

fn tool_error(error: core::Error) -> ToolError {
    let message = text(error.message);
    match error.kind.as_str() {
        "std:invalid-args" => ToolError::InvalidArguments(message),
        _ => ToolError::Failed(message),
    }
}

fn invalid(reason: String) -> CallError {
    CallError::InvalidOutput { reason }
}
