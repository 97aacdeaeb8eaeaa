//! Converts content to and from MCP content blocks.

use crate::names::OWN_META_PREFIX;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::model::{self as m, ContentBlock, MetaObject, ResourceContents};
use runtime::imports::{
    Annotations, Blob, Content, ContentData, EmbeddedResource, Icon, ResourceBody, ResourceLink, Role,
};
use serde_json::{Map, Value};

/// Members of a block that are passed on unchanged.
const META: &str = "_meta";
const ICONS: &str = "icons";

pub fn to_blocks(content: Vec<Content>) -> Vec<ContentBlock> {
    content.into_iter().map(to_block).collect()
}

pub fn to_block(content: Content) -> ContentBlock {
    let hints = content.annotations.map(to_annotations);
    let mut passed_on = content.passed_on.unwrap_or_default();
    let meta = take_meta(&mut passed_on);
    match content.data {
        ContentData::Text(text) => {
            let mut block = m::TextContent::new(text);
            (block.annotations, block.meta) = (hints, meta);
            ContentBlock::Text(block)
        }
        ContentData::Image(Blob { mime_type, data }) => {
            let mut block = m::ImageContent::new(BASE64.encode(data), mime_type);
            (block.annotations, block.meta) = (hints, meta);
            ContentBlock::Image(block)
        }
        ContentData::Audio(Blob { mime_type, data }) => {
            let mut block = m::AudioContent::new(BASE64.encode(data), mime_type);
            (block.annotations, block.meta) = (hints, meta);
            ContentBlock::Audio(block)
        }
        ContentData::ResourceLink(link) => {
            let mut block = m::Resource::new(link.uri, link.name);
            block.title = link.title;
            block.description = link.description;
            block.mime_type = link.mime_type;
            block.size = link.size;
            block.icons = passed_on.remove(ICONS).and_then(|icons| serde_json::from_value(icons).ok());
            (block.annotations, block.meta) = (hints, meta);
            ContentBlock::ResourceLink(block)
        }
        ContentData::Resource(resource) => {
            let mut block = m::EmbeddedResource::new(to_resource_contents(resource));
            (block.annotations, block.meta) = (hints, meta);
            ContentBlock::Resource(block)
        }
    }
}

fn take_meta(members: &mut Map<String, Value>) -> Option<MetaObject> {
    members.remove(META).and_then(|meta| meta.as_object().cloned()).map(MetaObject)
}

/// If the author names no media type for a text, none is set: the library would call it plain text.
pub fn to_resource_contents(resource: EmbeddedResource) -> ResourceContents {
    let EmbeddedResource { uri, mime_type, body, meta } = resource;
    let meta = meta.map(MetaObject);
    match body {
        ResourceBody::Text(text) => ResourceContents::TextResourceContents { uri, mime_type, text, meta },
        ResourceBody::Blob(bytes) => {
            ResourceContents::BlobResourceContents { uri, mime_type, blob: BASE64.encode(bytes), meta }
        }
    }
}

pub fn to_role(role: Role) -> m::Role {
    match role {
        Role::User => m::Role::User,
        Role::Assistant => m::Role::Assistant,
    }
}

pub fn from_role(role: m::Role) -> Role {
    match role {
        m::Role::Assistant => Role::Assistant,
        _ => Role::User,
    }
}

/// None instead of an empty list.
pub fn to_icons(icons: &[Icon]) -> Option<Vec<m::Icon>> {
    let converted = icons.iter().map(|icon| {
        let mut converted = m::Icon::new(icon.src.clone());
        converted.mime_type = icon.mime_type.clone();
        converted.sizes = (!icon.sizes.is_empty()).then(|| icon.sizes.clone());
        converted
    });
    (!icons.is_empty()).then(|| converted.collect())
}

pub fn to_annotations(hints: Annotations) -> m::Annotations {
    let mut converted = m::Annotations::default();
    converted.audience = (!hints.audience.is_empty()).then(|| hints.audience.into_iter().map(to_role).collect());
    // The priority was checked to be within 0 and 1, where f32 is precise enough.
    converted.priority = hints.priority.map(|priority| priority as f32);
    converted.last_modified = hints.last_modified;
    converted
}

/// Content as plain text, for clients that can show nothing else.
pub fn to_plain_text(content: &[Content]) -> String {
    let piece = |content: &Content| match &content.data {
        ContentData::Text(text) => text.clone(),
        ContentData::Image(blob) | ContentData::Audio(blob) => {
            format!("[{}, {} bytes]", blob.mime_type, blob.data.len())
        }
        ContentData::ResourceLink(link) => format!("[{}]", link.uri),
        ContentData::Resource(resource) => format!("[{}]", resource.uri),
    };
    content.iter().map(piece).collect::<Vec<_>>().join("\n")
}

/// The error is a sentence that says what is wrong with the block.
pub fn from_block(block: ContentBlock) -> Result<Content, String> {
    let mut passed_on = Map::new();
    let (data, hints, meta) = match block {
        ContentBlock::Text(text) => (ContentData::Text(text.text), text.annotations, text.meta),
        ContentBlock::Image(m::ImageContent { mime_type, data, annotations, meta, .. }) => {
            (ContentData::Image(Blob { mime_type, data: decode(data)? }), annotations, meta)
        }
        ContentBlock::Audio(m::AudioContent { mime_type, data, annotations, meta, .. }) => {
            (ContentData::Audio(Blob { mime_type, data: decode(data)? }), annotations, meta)
        }
        ContentBlock::ResourceLink(link) => {
            let m::Resource { uri, name, title, description, mime_type, size, annotations, icons, meta, .. } = link;
            if let Some(icons) = icons.and_then(|icons| serde_json::to_value(icons).ok()) {
                passed_on.insert(ICONS.to_owned(), icons);
            }
            let link = ResourceLink { uri, name, title, description, mime_type, size };
            (ContentData::ResourceLink(link), annotations, meta)
        }
        ContentBlock::Resource(m::EmbeddedResource { resource, annotations, meta, .. }) => {
            (ContentData::Resource(from_resource_contents(resource)?), annotations, meta)
        }
        _ => return Err("content is of an unknown kind".into()),
    };
    if let Some(meta) = meta.and_then(foreign_meta) {
        passed_on.insert(META.to_owned(), meta.into());
    }
    let annotations = hints.map(|hints| Annotations {
        audience: hints.audience.unwrap_or_default().into_iter().map(from_role).collect(),
        priority: hints.priority.map(f64::from),
        last_modified: hints.last_modified,
    });
    Ok(Content { data, annotations, passed_on: Some(passed_on).filter(|members| !members.is_empty()) })
}

/// The `_meta` of others, without the keys that only this host may write.
fn foreign_meta(mut meta: MetaObject) -> Option<Map<String, Value>> {
    meta.0.retain(|key, _| !key.starts_with(OWN_META_PREFIX));
    Some(meta.0).filter(|meta| !meta.is_empty())
}

pub fn from_resource_contents(contents: ResourceContents) -> Result<EmbeddedResource, String> {
    let (uri, mime_type, body, meta) = match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, meta } => {
            (uri, mime_type, ResourceBody::Text(text), meta)
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, meta } => {
            (uri, mime_type, ResourceBody::Blob(decode(blob)?), meta)
        }
        _ => return Err("content has a resource of an unknown kind".into()),
    };
    Ok(EmbeddedResource { uri, mime_type, body, meta: meta.and_then(foreign_meta) })
}

fn decode(data: String) -> Result<Vec<u8>, String> {
    BASE64.decode(data).map_err(|error| format!("content is not base64: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn passed(block: Value) -> Value {
        let content = from_block(serde_json::from_value(block).unwrap()).unwrap();
        serde_json::to_value(to_block(content)).unwrap()
    }

    #[test]
    fn blocks_keep_what_is_not_read_and_get_nothing_invented() {
        let meta = json!({ "vendor/x": { "a": [1, null] } });
        for block in [
            json!({ "type": "text", "text": "t", "_meta": meta }),
            json!({ "type": "image", "data": "AA==", "mimeType": "image/png", "_meta": meta }),
            json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav", "_meta": meta }),
            json!({ "type": "resource_link", "uri": "a:b", "name": "n", "title": "t", "size": 7, "_meta": meta,
                "icons": [{ "src": "https://a.example/i.svg", "theme": "dark" }], "annotations": { "priority": 0.5 } }),
            json!({ "type": "resource", "resource": { "uri": "a:b", "text": "t", "_meta": meta }, "_meta": meta }),
            json!({ "type": "resource", "resource": { "uri": "a:b", "blob": "AA==" } }),
            json!({ "type": "text", "text": "t" }),
        ] {
            assert_eq!(passed(block.clone()), block);
        }
        let forged = json!({ "dev.portcullis/source": 7 });
        let resource = json!({ "uri": "a:b", "text": "t", "_meta": forged });
        let said = passed(json!({ "type": "resource", "resource": resource, "_meta": forged }));
        assert_eq!(said, json!({ "type": "resource", "resource": { "uri": "a:b", "text": "t" } }));
    }
}
