//! Content as text.

use runtime::imports::{Content, ContentData, ResourceBody, Role};

/// The text for a model; none when all content is for the user only.
pub(super) fn text_for_model(content: &[Content]) -> Option<String> {
    let audience = |piece: &&Content| {
        let audience = piece.annotations.as_ref().map_or(&[][..], |hints| &hints.audience);
        audience.is_empty() || audience.contains(&Role::Assistant)
    };
    let pieces: Vec<String> = content.iter().filter(audience).map(content_text).collect();
    (!pieces.is_empty()).then(|| pieces.join("\n"))
}

/// Content as text. Other content than text is shown by its type and size.
pub fn content_text(content: &Content) -> String {
    match &content.data {
        ContentData::Text(text) => text.clone(),
        ContentData::Image(blob) | ContentData::Audio(blob) => {
            format!("[{}, {} bytes]", blob.mime_type, blob.data.len())
        }
        ContentData::ResourceLink(link) => format!("[{}]", link.uri),
        ContentData::Resource(resource) => match &resource.body {
            ResourceBody::Text(text) => format!("[{}]\n{text}", resource.uri),
            ResourceBody::Blob(bytes) => format!("[{}, {} bytes]", resource.uri, bytes.len()),
        },
    }
}
