//! Pieces of output, as in WIT `types`.

use serde::{Deserialize, Serialize};

/// Whom a piece is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints on a piece.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Annotations {
    /// Whom it is for; empty: everybody.
    pub audience: Vec<Role>,
    /// 0 to 1.
    pub priority: Option<f64>,
    /// RFC 3339.
    pub last_modified: Option<String>,
}

/// Bytes with a media type.
#[derive(Debug, Clone, PartialEq)]
pub struct Blob {
    /// Media type.
    pub mime_type: String,
    /// Raw bytes.
    pub data: Vec<u8>,
}

/// A pointer to a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceLink {
    /// Where.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Media type.
    pub mime_type: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
}

/// Text or bytes of an embedded resource.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A resource sent in full.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedResource {
    /// Its address.
    pub uri: String,
    /// Media type.
    pub mime_type: Option<String>,
    /// The resource itself.
    pub body: ResourceBody,
}

impl EmbeddedResource {
    /// Bytes of payload, as counted against the output limit.
    pub fn size(&self) -> u64 {
        let body = match &self.body {
            ResourceBody::Text(text) => text.len(),
            ResourceBody::Blob(bytes) => bytes.len(),
        };
        (self.uri.len() + self.mime_type.as_ref().map_or(0, String::len) + body) as u64
    }
}

/// What a piece is.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentData {
    /// Text.
    Text(String),
    /// A picture.
    Image(Blob),
    /// Sound.
    Audio(Blob),
    /// A pointer.
    ResourceLink(ResourceLink),
    /// A resource.
    Resource(EmbeddedResource),
}

/// One piece.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// What it is.
    pub data: ContentData,
    /// Hints.
    pub annotations: Option<Annotations>,
}

impl Content {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { data: ContentData::Text(text.into()), annotations: None }
    }

    /// Bytes of payload, as counted against the output limit.
    pub fn size(&self) -> u64 {
        let option = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let bytes = match &self.data {
            ContentData::Text(text) => text.len(),
            ContentData::Image(blob) | ContentData::Audio(blob) => blob.mime_type.len() + blob.data.len(),
            ContentData::ResourceLink(link) => {
                let optional = option(&link.title) + option(&link.description) + option(&link.mime_type);
                link.uri.len() + link.name.len() + optional
            }
            ContentData::Resource(resource) => return resource.size(),
        };
        let hints = self.annotations.as_ref().map_or(0, |hints| option(&hints.last_modified));
        (bytes + hints) as u64
    }

    /// Whether it can be sent; otherwise a sentence that says why not.
    pub fn check(&self) -> Result<(), String> {
        if let Some(priority) = self.annotations.as_ref().and_then(|a| a.priority)
            && !(0.0..=1.0).contains(&priority)
        {
            return Err(format!("priority {priority} is not between 0 and 1"));
        }
        match &self.data {
            ContentData::Image(blob) if !blob.mime_type.starts_with("image/") => {
                Err(format!("{:?} is not the media type of an image", blob.mime_type))
            }
            ContentData::Audio(blob) if !blob.mime_type.starts_with("audio/") => {
                Err(format!("{:?} is not the media type of audio", blob.mime_type))
            }
            ContentData::ResourceLink(ResourceLink { uri, .. })
            | ContentData::Resource(EmbeddedResource { uri, .. })
                if !uri.contains(':') =>
            {
                Err(format!("{uri:?} is not a URI"))
            }
            _ => Ok(()),
        }
    }
}
