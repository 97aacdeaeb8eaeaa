//! Patterns over agent tools' names, `<agent plugin>.<tool>` with shell-style globs.

use super::glob::Glob;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A checked pattern such as `notes.*`.
#[derive(Debug, Clone)]
pub struct ToolPattern(Glob);

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
        Glob::new(text).map(Self).map_err(|error| fail(error.reason))
    }

    /// Whether the pattern covers this tool's full name.
    pub fn covers(&self, name: &str) -> bool {
        self.0.covers(name)
    }

    /// Whether the other pattern covers everything that this one covers. Returns false if it cannot tell.
    pub fn is_within(&self, other: &Self) -> bool {
        let literal = !self.as_str().contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
        self == other || (literal && other.covers(self.as_str()))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The requested patterns that no granted one has anything in common with.
pub(crate) fn ungranted_patterns(requested: &[ToolPattern], granted: &[ToolPattern]) -> Vec<ToolPattern> {
    let meet = |one: &ToolPattern, other: &ToolPattern| one.covers(other.as_str()) || other.covers(one.as_str());
    requested.iter().filter(|one| !granted.iter().any(|other| meet(one, other))).cloned().collect()
}

impl PartialEq for ToolPattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
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
        serializer.serialize_str(self.as_str())
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
