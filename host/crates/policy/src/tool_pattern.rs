//! Patterns over agent tools' names, `<agent plugin>.<tool>` with shell-style globs.

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

/// A checked pattern such as `notes.*`.
#[derive(Debug, Clone)]
pub struct ToolPattern {
    text: String,
    matcher: GlobMatcher,
}

#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a tool pattern: {reason}; write `<agent plugin>.<tool>`, with `*` for any characters")]
pub struct ToolPatternError {
    text: String,
    reason: String,
}

impl ToolPattern {
    /// Parses a pattern. It must name both a plugin and a tool, so that nobody grants everything by mistake.
    pub fn new(text: &str) -> Result<Self, ToolPatternError> {
        let fail = |reason: String| ToolPatternError { text: text.to_owned(), reason };
        if text.len() > 128 {
            return Err(fail("it is longer than 128 bytes".into()));
        }
        if !text.contains('.') {
            return Err(fail("it has no `.` between plugin and tool".into()));
        }
        let glob = GlobBuilder::new(text).build().map_err(|e| fail(e.kind().to_string()))?;
        Ok(Self { text: text.to_owned(), matcher: glob.compile_matcher() })
    }

    /// Whether the pattern covers this tool's full name.
    pub fn covers(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }

    /// Whether the other pattern covers everything that this one covers. May say no when it cannot tell.
    pub fn is_within(&self, other: &Self) -> bool {
        let literal = !self.text.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
        self == other || (literal && other.covers(&self.text))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for ToolPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<'de> Deserialize<'de> for ToolPattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

impl Serialize for ToolPattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_only_what_it_says() {
        let all = ToolPattern::new("notes.*").unwrap();
        assert!(all.covers("notes.add") && !all.covers("notesx.add") && !all.covers("calendar.add"));
        let one = ToolPattern::new("notes.add").unwrap();
        assert!(one.covers("notes.add") && !one.covers("notes.add2") && !one.covers("notes.search"));
    }

    #[test]
    fn refuses_what_would_grant_by_a_slip() {
        for bad in ["*", "notes", "", "[.x", &"a.".repeat(100)] {
            assert!(ToolPattern::new(bad).is_err(), "{bad}");
        }
    }
}
