//! Patterns over names of servers, tools and events.

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

/// A pattern such as `calendar.*`; `*` stands for any characters.
#[derive(Debug, Clone)]
pub struct Glob {
    text: String,
    matcher: GlobMatcher,
}

/// Why a text is not a pattern.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a pattern: {reason}; write a name, with `*` for any characters")]
pub struct GlobError {
    text: String,
    pub(super) reason: String,
}

impl Glob {
    /// Checks a pattern.
    pub fn new(text: &str) -> Result<Self, GlobError> {
        let fail = |reason: String| GlobError { text: text.to_owned(), reason };
        if text.is_empty() || text.len() > 256 {
            return Err(fail("it must have 1 to 256 bytes".into()));
        }
        let glob = GlobBuilder::new(text).build().map_err(|error| fail(error.kind().to_string()))?;
        Ok(Self { text: text.to_owned(), matcher: glob.compile_matcher() })
    }

    /// Whether it covers a name.
    pub fn covers(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
