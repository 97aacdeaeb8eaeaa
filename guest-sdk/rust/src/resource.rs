//! Conversion from a function's result to the contents of a resource, and matching of URIs against templates.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::{EmbeddedResource, Json, ResourceBody, ResourceLink, ToolError};

/// Why a resource was not read. Any other error that implements `Display` becomes [`ReadError::Failed`] with its text.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadError {
    /// No such resource.
    NotFound,
    /// The resource exists, but cannot be read.
    Failed(ToolError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no such resource"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl<E: Into<ToolError>> From<E> for ReadError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Types that a resource's function may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read as a resource",
    label = "not a resource",
    note = "return a string, `Vec<u8>`, `serde_json::Value`, `Json(...)` of your own type, `EmbeddedResource` or several of them, \
            or an `Option` of these, where `None` means that there is no such resource"
)]
pub trait IntoResource {
    /// Converts the value to contents, for the resource with this URI and media type.
    ///
    /// # Errors
    /// [`ReadError::NotFound`] when there are no contents, or a value that cannot be written.
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<EmbeddedResource>, ReadError>;
}

impl EmbeddedResource {
    /// A resource of text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, body: ResourceBody::Text(text.into()) }
    }

    /// A resource of bytes.
    pub fn bytes(uri: impl Into<String>, data: Vec<u8>) -> Self {
        Self { uri: uri.into(), mime_type: None, body: ResourceBody::Blob(data) }
    }

    /// Sets the media type, such as `text/markdown`.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }
}

impl ResourceLink {
    /// A link by URI and name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        let (uri, name) = (uri.into(), name.into());
        Self { uri, name, title: None, description: None, mime_type: None, size: None }
    }
}

fn one(resource: EmbeddedResource, mime_type: Option<&str>) -> Result<Vec<EmbeddedResource>, ReadError> {
    Ok(vec![EmbeddedResource { mime_type: mime_type.map(ToOwned::to_owned).or(resource.mime_type), ..resource }])
}

macro_rules! bodies {
    ($($ty:ty: $make:ident;)+) => {$(
        impl IntoResource for $ty {
            fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<EmbeddedResource>, ReadError> {
                one(EmbeddedResource::$make(uri, self), mime_type)
            }
        }
    )+};
}

bodies! {
    String: text;
    &str: text;
    Cow<'_, str>: text;
    Vec<u8>: bytes;
}

impl IntoResource for &[u8] {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<EmbeddedResource>, ReadError> {
        self.to_vec().into_resource(uri, mime_type)
    }
}

impl<T: Serialize> IntoResource for Json<T> {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<EmbeddedResource>, ReadError> {
        let text = serde_json::to_string(&self.0)?;
        one(EmbeddedResource::text(uri, text).mime_type("application/json"), mime_type)
    }
}

impl IntoResource for Value {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<EmbeddedResource>, ReadError> {
        Json(self).into_resource(uri, mime_type)
    }
}

impl IntoResource for EmbeddedResource {
    fn into_resource(self, _: &str, _: Option<&str>) -> Result<Vec<EmbeddedResource>, ReadError> {
        Ok(vec![self])
    }
}

impl IntoResource for Vec<EmbeddedResource> {
    fn into_resource(self, _: &str, _: Option<&str>) -> Result<Vec<EmbeddedResource>, ReadError> {
        Ok(self)
    }
}

impl<T: IntoResource> IntoResource for Option<T> {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<EmbeddedResource>, ReadError> {
        self.ok_or(ReadError::NotFound)?.into_resource(uri, mime_type)
    }
}

/// A piece of a URI template.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece {
    /// Matches itself.
    Literal(&'static str),
    /// Matches one or more characters other than `/`, `?` and `#`.
    Variable,
}

/// The variables of a URI, decoded, in the order of the template; `None` when the URI does not match.
pub(crate) fn variables(pieces: &[Piece], uri: &str) -> Option<Vec<String>> {
    match pieces {
        [] => uri.is_empty().then(Vec::new),
        [Piece::Literal(literal), rest @ ..] => variables(rest, uri.strip_prefix(literal)?),
        [Piece::Variable, rest @ ..] => {
            let longest = uri.find(['/', '?', '#']).unwrap_or(uri.len());
            // Tries the shortest value first, so that `{name}-{number}` splits at the first dash.
            let mut ends = (1..=longest).filter(|&end| uri.is_char_boundary(end));
            ends.find_map(|end| {
                let mut values = variables(rest, &uri[end..])?;
                values.insert(0, decode(&uri[..end])?);
                Some(values)
            })
        }
    }
}

/// Decodes percent-encoding; `None` when the encoding is invalid.
fn decode(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let hex = part.get(..2).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(hex, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_match_whole_uris() {
        let one = [Piece::Literal("test://template/"), Piece::Variable, Piece::Literal("/data")];
        assert_eq!(variables(&one, "test://template/12%203/data"), Some(vec!["12 3".to_owned()]));
        for wrong in ["test://template//data", "test://template/1/2/data", "test://template/1/data/", "test://", "a"] {
            assert_eq!(variables(&one, wrong), None, "{wrong}");
        }
        let two = [Piece::Literal("a:"), Piece::Variable, Piece::Literal("-"), Piece::Variable, Piece::Literal(".md")];
        assert_eq!(variables(&two, "a:x-y-z.md.md"), Some(vec!["x".to_owned(), "y-z.md".to_owned()]));
    }

    #[test]
    fn only_proper_encoding_is_decoded() {
        assert_eq!(decode("%C3%A4b").as_deref(), Some("\u{e4}b"));
        assert_eq!(decode("a/b").as_deref(), Some("a/b"));
        for broken in ["%", "%4", "%zz", "%+1", "%C3", "%\u{e4}"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }
}
