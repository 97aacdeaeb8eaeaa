//! Content blocks and the contents of resources.

use super::super::values::{RecordFields, bytes, full_case, mismatch, text, unsigned};
use super::offer::annotations;
use super::streams::Streams;
use crate::engine::CallError;
use crate::imports as h;
use wasmtime::component::Val;

type Result<T> = wasmtime::Result<T>;

pub(super) fn content(value: Val, streams: &mut Streams) -> Result<h::Content> {
    let (case, value) = full_case(value)?;
    let mut block = RecordFields::read(value)?;
    let mut options = block.options("options")?;
    let data = match case.as_str() {
        "text" => h::ContentData::Text(block.take("text", |value| text_data(value, streams))?),
        "image" => h::ContentData::Image(blob(&mut block, streams)?),
        "audio" => h::ContentData::Audio(blob(&mut block, streams)?),
        "resource-link" => h::ContentData::ResourceLink(h::ResourceLink {
            uri: block.take("uri", text)?,
            name: block.take("name", text)?,
            title: options.option("title", text)?,
            description: options.option("description", text)?,
            mime_type: options.option("mime-type", text)?,
            size: options.option("size", unsigned)?,
        }),
        "embedded-resource" => h::ContentData::Resource(block.take("resource", |value| resource(value, streams))?),
        _ => return Err(mismatch("a kind of content that this host knows")),
    };
    Ok(h::Content { annotations: options.option("annotations", annotations)?, ..h::Content::plain(data) })
}

pub(super) fn resource(value: Val, streams: &mut Streams) -> Result<h::EmbeddedResource> {
    let (case, value) = full_case(value)?;
    let mut contents = RecordFields::read(value)?;
    let mime_type = contents.options("options")?.option("mime-type", text)?;
    let body = match case.as_str() {
        "text" => h::ResourceBody::Text(contents.take("text", |value| text_data(value, streams))?),
        _ => h::ResourceBody::Blob(contents.take("blob", |value| blob_data(value, streams))?),
    };
    Ok(h::EmbeddedResource { uri: contents.take("uri", text)?, mime_type, body, meta: None })
}

fn blob(block: &mut RecordFields, streams: &mut Streams) -> Result<h::Blob> {
    Ok(h::Blob {
        mime_type: block.take("mime-type", text)?,
        data: block.take("data", |value| blob_data(value, streams))?,
    })
}

fn text_data(value: Val, streams: &mut Streams) -> Result<String> {
    match full_case(value)? {
        (_, Val::String(text)) => Ok(text),
        (_, stream) => String::from_utf8(streams.take(stream)?)
            .map_err(|_| CallError::InvalidOutput { reason: "a stream of text is not valid UTF-8".into() }.into()),
    }
}

fn blob_data(value: Val, streams: &mut Streams) -> Result<Vec<u8>> {
    match full_case(value)? {
        (_, list @ Val::List(_)) => bytes(list),
        (_, stream) => streams.take(stream),
    }
}
