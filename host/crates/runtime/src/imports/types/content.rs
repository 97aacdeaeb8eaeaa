//! Content: text, images, audio, links and embedded resources.

use crate::journal::bytes;
use platform::telemetry::is_unsafe;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Annotations {
    /// Empty: everybody.
    pub audience: Vec<Role>,
    /// 0 to 1.
    pub priority: Option<f64>,
    /// RFC 3339.
    pub last_modified: Option<String>,
}

/// Bytes with a media type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blob {
    pub mime_type: String,
    /// Raw bytes.
    #[serde(with = "bytes")]
    pub data: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceLink {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
}

/// Text or bytes of an embedded resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ResourceBody {
    Text(String),
    /// Bytes.
    Blob(#[serde(with = "bytes")] Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedResource {
    pub uri: String,
    pub mime_type: Option<String>,
    pub body: ResourceBody,
    /// The `_meta` of another server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

impl EmbeddedResource {
    /// Bytes of payload, as counted against the output limit.
    pub fn size(&self) -> u64 {
        let body = match &self.body {
            ResourceBody::Text(text) => text.len(),
            ResourceBody::Blob(bytes) => bytes.len(),
        };
        (self.uri.len() + self.mime_type.as_ref().map_or(0, String::len) + body) as u64 + members_size(&self.meta)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ContentData {
    Text(String),
    Image(Blob),
    Audio(Blob),
    ResourceLink(ResourceLink),
    Resource(EmbeddedResource),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    pub data: ContentData,
    pub annotations: Option<Annotations>,
    /// Members of another server's block that the host passes on and does not read: `_meta`, and the icons of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_on: Option<Map<String, Value>>,
}

impl Content {
    pub fn text(text: impl Into<String>) -> Self {
        Self::plain(ContentData::Text(text.into()))
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            ContentData::Text(text) => Some(text),
            ContentData::Image(_) | ContentData::Audio(_) | ContentData::ResourceLink(_) | ContentData::Resource(_) => {
                None
            }
        }
    }

    /// Without annotations and without members that are passed on.
    pub fn plain(data: ContentData) -> Self {
        Self { data, annotations: None, passed_on: None }
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
            ContentData::Resource(resource) => return resource.size() + members_size(&self.passed_on),
        };
        let hints = self.annotations.as_ref().map_or(0, |hints| option(&hints.last_modified));
        (bytes + hints) as u64 + members_size(&self.passed_on)
    }

    /// Checks that it can be sent; the error is a sentence.
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
            | ContentData::Resource(EmbeddedResource { uri, .. }) => check_link(uri),
            ContentData::Text(_) | ContentData::Image(_) | ContentData::Audio(_) => Ok(()),
        }
    }
}

fn members_size(members: &Option<Map<String, Value>>) -> u64 {
    members.iter().flatten().map(|(key, value)| (key.len() + value.to_string().len()) as u64).sum()
}

/// Schemes whose links are programs: if a user follows one in a client, the plugin acts there as that user.
const SCRIPT_SCHEMES: [&str; 2] = ["javascript", "vbscript"];

/// Checks that a client may show this as a link.
pub fn check_link(uri: &str) -> Result<(), String> {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
        let rest = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(rest)
    });
    let Some(scheme) = scheme else { return Err(format!("{uri:?} is not a URI")) };
    if uri.chars().any(|c| c.is_whitespace() || is_unsafe(c)) {
        return Err(format!("{uri:?} has a character that is not allowed in a URI"));
    }
    match SCRIPT_SCHEMES.iter().find(|script| scheme.eq_ignore_ascii_case(script)) {
        Some(script) => Err(format!("{uri:?} is not a link: `{script}:` runs code when it is followed")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_a_uri_without_a_script_scheme() {
        let check = |uri: &str| {
            let resource =
                EmbeddedResource { uri: uri.into(), mime_type: None, body: ResourceBody::Text("a".into()), meta: None };
            Content::plain(ContentData::Resource(resource)).check()
        };
        for good in [
            "https://a.example/b?c=d#e",
            "file:///a",
            "notes:1",
            "urn:isbn:1",
            "x-a+b.c:javascript:",
            "https://é.example/日本",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let bad =
            ["", "a", ":a", "1:a", "a b:c", "https://a b", "java\nscript:a", "\u{1}javascript:a", "https://a\u{202e}b"];
        for bad in bad.into_iter().chain(["javascript:alert(1)", "JavaScript:alert(1)", "VBSCRIPT:a"]) {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
