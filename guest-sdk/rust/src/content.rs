//! Pieces of content in results and in chunks.

use std::borrow::Cow;
use std::fmt;

use crate::{Blob, Content, ContentAnnotations, ContentData, EmbeddedResource, ResourceLink, Role};

/// Types that can be sent as one piece of content.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not content",
    note = "send a string, `format_args!(...)`, or a `Content`; for your own types send `Content::text(...)` of what a reader should see"
)]
pub trait IntoContent {
    /// Converts the value to content.
    fn into_content(self) -> Content;
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        ContentData::Text(text.into()).into()
    }

    /// An image, such as `image/png`.
    pub fn image(mime_type: impl Into<String>, data: Vec<u8>) -> Self {
        ContentData::Image(Blob { mime_type: mime_type.into(), data }).into()
    }

    /// Sound, such as `audio/wav`.
    pub fn audio(mime_type: impl Into<String>, data: Vec<u8>) -> Self {
        ContentData::Audio(Blob { mime_type: mime_type.into(), data }).into()
    }

    /// Sets the intended audience.
    #[must_use]
    pub fn for_role(mut self, role: Role) -> Self {
        self.annotations_mut().audience.push(role);
        self
    }

    /// Sets the importance, from 0.0 to 1.0.
    #[must_use]
    pub fn priority(mut self, priority: f64) -> Self {
        self.annotations_mut().priority = Some(priority);
        self
    }

    /// The text, if the content is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            ContentData::Text(text) => Some(text),
            _ => None,
        }
    }

    fn annotations_mut(&mut self) -> &mut ContentAnnotations {
        let none = || ContentAnnotations { audience: Vec::new(), priority: None, last_modified: None };
        self.annotations.get_or_insert_with(none)
    }
}

impl From<ContentData> for Content {
    fn from(data: ContentData) -> Self {
        Self { data, annotations: None }
    }
}

impl IntoContent for Content {
    fn into_content(self) -> Content {
        self
    }
}

impl IntoContent for ContentData {
    fn into_content(self) -> Content {
        self.into()
    }
}

impl IntoContent for ResourceLink {
    fn into_content(self) -> Content {
        ContentData::ResourceLink(self).into()
    }
}

impl IntoContent for EmbeddedResource {
    fn into_content(self) -> Content {
        ContentData::Resource(self).into()
    }
}

impl IntoContent for String {
    fn into_content(self) -> Content {
        Content::text(self)
    }
}

impl IntoContent for &String {
    fn into_content(self) -> Content {
        Content::text(self)
    }
}

impl IntoContent for &str {
    fn into_content(self) -> Content {
        Content::text(self)
    }
}

impl IntoContent for Cow<'_, str> {
    fn into_content(self) -> Content {
        Content::text(self)
    }
}

impl IntoContent for fmt::Arguments<'_> {
    fn into_content(self) -> Content {
        Content::text(self.to_string())
    }
}
