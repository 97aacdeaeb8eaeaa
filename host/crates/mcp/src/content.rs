//! Content as MCP's content blocks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::model::{self as m, ContentBlock};
use runtime::imports::{
    Annotations, Blob, Content, ContentData, EmbeddedResource, Icon, ResourceBody, ResourceLink, Role,
};

/// For a result or a chunk.
pub fn blocks(content: Vec<Content>) -> Vec<ContentBlock> {
    content.into_iter().map(block).collect()
}

/// One piece.
pub(super) fn block(content: Content) -> ContentBlock {
    let hints = content.annotations.map(annotations);
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
            let mut block = m::EmbeddedResource::new(contents(resource));
            block.annotations = hints;
            ContentBlock::Resource(block)
        }
    }
}

/// A resource in full.
pub(super) fn contents(resource: EmbeddedResource) -> m::ResourceContents {
    let contents = match resource.body {
        ResourceBody::Text(text) => m::ResourceContents::text(text, resource.uri),
        ResourceBody::Blob(bytes) => m::ResourceContents::blob(BASE64.encode(bytes), resource.uri),
    };
    match resource.mime_type {
        Some(mime_type) => contents.with_mime_type(mime_type),
        None => contents,
    }
}

/// Who speaks, or listens.
pub(super) fn role(role: Role) -> m::Role {
    match role {
        Role::User => m::Role::User,
        Role::Assistant => m::Role::Assistant,
    }
}

/// Pictures; none rather than an empty list.
pub(super) fn icons(icons: &[Icon]) -> Option<Vec<m::Icon>> {
    let shown = icons.iter().map(|icon| {
        let mut shown = m::Icon::new(icon.src.clone());
        shown.mime_type = icon.mime_type.clone();
        shown.sizes = (!icon.sizes.is_empty()).then(|| icon.sizes.clone());
        shown
    });
    (!icons.is_empty()).then(|| shown.collect())
}

/// Hints.
pub(super) fn annotations(hints: Annotations) -> m::Annotations {
    let mut shown = m::Annotations::default();
    shown.audience = (!hints.audience.is_empty()).then(|| hints.audience.into_iter().map(role).collect());
    // Checked to be within 0 and 1, where f32 is as good as the wire needs.
    shown.priority = hints.priority.map(|priority| priority as f32);
    shown.last_modified = hints.last_modified;
    shown
}

/// Content in one line of text, for clients that can show nothing else.
pub(super) fn as_text(content: &[Content]) -> String {
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

/// A client's content block; the error says what is wrong with it.
pub fn content(block: ContentBlock) -> Result<Content, String> {
    let (data, hints) = match block {
        ContentBlock::Text(text) => (ContentData::Text(text.text), text.annotations),
        ContentBlock::Image(image) => {
            (ContentData::Image(Blob { mime_type: image.mime_type, data: bytes(image.data)? }), image.annotations)
        }
        ContentBlock::Audio(audio) => {
            (ContentData::Audio(Blob { mime_type: audio.mime_type, data: bytes(audio.data)? }), audio.annotations)
        }
        ContentBlock::ResourceLink(link) => {
            let m::Resource { uri, name, title, description, mime_type, size, annotations, .. } = link;
            let link = ResourceLink { uri, name, title, description, mime_type, size };
            (ContentData::ResourceLink(link), annotations)
        }
        ContentBlock::Resource(resource) => {
            (ContentData::Resource(self::resource(resource.resource)?), resource.annotations)
        }
        _ => return Err("content is of an unknown kind".into()),
    };
    let role = |role| match role {
        m::Role::Assistant => Role::Assistant,
        _ => Role::User,
    };
    let annotations = hints.map(|hints| Annotations {
        audience: hints.audience.unwrap_or_default().into_iter().map(role).collect(),
        priority: hints.priority.map(f64::from),
        last_modified: hints.last_modified,
    });
    Ok(Content { data, annotations })
}

/// A resource in full, as somebody else sent it.
pub fn resource(contents: m::ResourceContents) -> Result<EmbeddedResource, String> {
    let (uri, mime_type, body) = match contents {
        m::ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            (uri, mime_type, ResourceBody::Text(text))
        }
        m::ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            (uri, mime_type, ResourceBody::Blob(bytes(blob)?))
        }
        _ => return Err("content has a resource of an unknown kind".into()),
    };
    Ok(EmbeddedResource { uri, mime_type, body })
}

fn bytes(data: String) -> Result<Vec<u8>, String> {
    BASE64.decode(data).map_err(|error| format!("content is not base64: {error}"))
}
