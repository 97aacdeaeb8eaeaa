//! Content to and from MCP content blocks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::model::{self as m, ContentBlock};
use runtime::imports::{
    Annotations, Blob, Content, ContentData, EmbeddedResource, Icon, ResourceBody, ResourceLink, Role,
};

pub fn to_blocks(content: Vec<Content>) -> Vec<ContentBlock> {
    content.into_iter().map(to_block).collect()
}

pub fn to_block(content: Content) -> ContentBlock {
    let hints = content.annotations.map(to_annotations);
    match content.data {
        ContentData::Text(text) => {
            let mut block = m::TextContent::new(text);
            block.annotations = hints;
            ContentBlock::Text(block)
        }
        ContentData::Image(Blob { mime_type, data }) => {
            let mut block = m::ImageContent::new(BASE64.encode(data), mime_type);
            block.annotations = hints;
            ContentBlock::Image(block)
        }
        ContentData::Audio(Blob { mime_type, data }) => {
            let mut block = m::AudioContent::new(BASE64.encode(data), mime_type);
            block.annotations = hints;
            ContentBlock::Audio(block)
        }
        ContentData::ResourceLink(link) => {
            let mut block = m::Resource::new(link.uri, link.name);
            block.title = link.title;
            block.description = link.description;
            block.mime_type = link.mime_type;
            block.size = link.size;
            block.annotations = hints;
            ContentBlock::ResourceLink(block)
        }
        ContentData::Resource(resource) => {
            let mut block = m::EmbeddedResource::new(to_resource_contents(resource));
            block.annotations = hints;
            ContentBlock::Resource(block)
        }
    }
}

pub fn to_resource_contents(resource: EmbeddedResource) -> m::ResourceContents {
    let contents = match resource.body {
        ResourceBody::Text(text) => m::ResourceContents::text(text, resource.uri),
        ResourceBody::Blob(bytes) => m::ResourceContents::blob(BASE64.encode(bytes), resource.uri),
    };
    match resource.mime_type {
        Some(mime_type) => contents.with_mime_type(mime_type),
        None => contents,
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
    // Checked to be within 0 and 1, where f32 is as good as the wire needs.
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
    let (data, hints) = match block {
        ContentBlock::Text(text) => (ContentData::Text(text.text), text.annotations),
        ContentBlock::Image(image) => {
            (ContentData::Image(Blob { mime_type: image.mime_type, data: decode(image.data)? }), image.annotations)
        }
        ContentBlock::Audio(audio) => {
            (ContentData::Audio(Blob { mime_type: audio.mime_type, data: decode(audio.data)? }), audio.annotations)
        }
        ContentBlock::ResourceLink(link) => {
            let m::Resource { uri, name, title, description, mime_type, size, annotations, .. } = link;
            let link = ResourceLink { uri, name, title, description, mime_type, size };
            (ContentData::ResourceLink(link), annotations)
        }
        ContentBlock::Resource(resource) => {
            (ContentData::Resource(from_resource_contents(resource.resource)?), resource.annotations)
        }
        _ => return Err("content is of an unknown kind".into()),
    };
    let annotations = hints.map(|hints| Annotations {
        audience: hints.audience.unwrap_or_default().into_iter().map(from_role).collect(),
        priority: hints.priority.map(f64::from),
        last_modified: hints.last_modified,
    });
    Ok(Content { data, annotations })
}

pub fn from_resource_contents(contents: m::ResourceContents) -> Result<EmbeddedResource, String> {
    let (uri, mime_type, body) = match contents {
        m::ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            (uri, mime_type, ResourceBody::Text(text))
        }
        m::ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            (uri, mime_type, ResourceBody::Blob(decode(blob)?))
        }
        _ => return Err("content has a resource of an unknown kind".into()),
    };
    Ok(EmbeddedResource { uri, mime_type, body })
}

fn decode(data: String) -> Result<Vec<u8>, String> {
    BASE64.decode(data).map_err(|error| format!("content is not base64: {error}"))
}
