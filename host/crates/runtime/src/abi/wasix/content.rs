//! Content blocks, whose bytes are base64.

use super::super::values::{RecordFields, enumerated, full_case, list, mismatch, single_float, text};
use crate::engine::CallError;
use crate::imports as h;
use data_encoding::BASE64;
use wasmtime::component::Val;

type Result<T> = wasmtime::Result<T>;

pub(super) fn content(value: Val) -> Result<h::Content> {
    let (case, value) = full_case(value)?;
    let mut block = RecordFields::read(value)?;
    let data = match case.as_str() {
        "text" => h::ContentData::Text(block.take("text", text)?),
        "image" => h::ContentData::Image(blob(&mut block)?),
        "audio" => h::ContentData::Audio(blob(&mut block)?),
        "resource-link" => {
            let uri = block.take("uri", text)?;
            let title = block.option("title", text)?;
            h::ContentData::ResourceLink(h::ResourceLink {
                // The dialect has no names of links, and MCP wants one.
                name: title.clone().unwrap_or_else(|| uri.clone()),
                uri,
                title,
                description: block.option("description", text)?,
                mime_type: block.option("mime-type", text)?,
                size: None,
            })
        }
        "embedded-resource" | "mcp-resource" => h::ContentData::Resource(embedded(&mut block)?),
        _ => return Err(mismatch("a kind of content that this host knows")),
    };
    Ok(h::Content { annotations: block.option("annotations", annotations)?, ..h::Content::plain(data) })
}

pub(super) fn resource(value: Val) -> Result<h::EmbeddedResource> {
    let (case, value) = full_case(value)?;
    let mut contents = RecordFields::read(value)?;
    let body = match case.as_str() {
        "text" => h::ResourceBody::Text(contents.take("text", text)?),
        _ => h::ResourceBody::Blob(contents.take("blob", bytes)?),
    };
    let (uri, mime_type) = (contents.take("uri", text)?, contents.option("mime-type", text)?);
    Ok(h::EmbeddedResource { uri, mime_type, body, meta: None })
}

/// Only the media type tells whether the data is text or base64.
fn embedded(block: &mut RecordFields) -> Result<h::EmbeddedResource> {
    let mime_type = block.option("mime-type", text)?;
    let is_text = mime_type.as_deref().is_none_or(|media| media.starts_with("text/") || media.contains("json"));
    let body = match is_text {
        true => h::ResourceBody::Text(block.take("data", text)?),
        false => h::ResourceBody::Blob(block.take("data", bytes)?),
    };
    Ok(h::EmbeddedResource { uri: block.take("uri", text)?, mime_type, body, meta: None })
}

fn blob(block: &mut RecordFields) -> Result<h::Blob> {
    Ok(h::Blob { mime_type: block.take("mime-type", text)?, data: block.take("data", bytes)? })
}

fn bytes(value: Val) -> Result<Vec<u8>> {
    let wrong = || CallError::InvalidOutput { reason: "bytes of its content are not base64".into() };
    Ok(BASE64.decode(text(value)?.as_bytes()).map_err(|_| wrong())?)
}

pub(super) fn annotations(value: Val) -> Result<h::Annotations> {
    let mut annotations = RecordFields::read(value)?;
    let audience = annotations.option("audience", |value| list(value, role))?.unwrap_or_default();
    Ok(h::Annotations {
        // Each once: a list of a million roles would take memory that no limit counts.
        audience: [h::Role::User, h::Role::Assistant].into_iter().filter(|role| audience.contains(role)).collect(),
        priority: annotations.option("priority", single_float)?,
        last_modified: annotations.option("timestamp", text)?,
    })
}

pub(super) fn role(value: Val) -> Result<h::Role> {
    Ok(match enumerated(value)?.as_str() {
        "assistant" => h::Role::Assistant,
        _ => h::Role::User,
    })
}
