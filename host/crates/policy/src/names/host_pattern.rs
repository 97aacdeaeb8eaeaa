//! Patterns over host names.

use serde::{Deserialize, Serialize};

/// A host such as `github.com`, or all its subdomains: `*.github.com`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct HostPattern(String);

#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a host: write a name such as `github.com`, or `*.github.com` for all below it, without scheme, port or path"
)]
pub struct HostPatternError(String);

impl HostPattern {
    /// Parses a pattern. A wildcard stands for one or more whole labels below a name of at least two labels.
    pub fn new(text: &str) -> Result<Self, HostPatternError> {
        let name = text.strip_prefix("*.");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let host = name.unwrap_or(text);
        let labels = !host.is_empty() && host.split('.').all(|label| !label.is_empty() && label.chars().all(plain));
        let wide = name.is_some_and(|name| !name.contains('.'));
        if !labels || wide || text.len() > 253 {
            return Err(HostPatternError(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the other pattern covers everything that this one covers.
    pub fn is_within(&self, other: &Self) -> bool {
        match self.0.strip_prefix('*') {
            // `*.a.b` is within `*.b`.
            Some(end) => self == other || other.0.strip_prefix('*').is_some_and(|wide| end.ends_with(wide)),
            None => other.covers(&self.0),
        }
    }

    /// Whether it covers this host; `host` is in lower case, as in parsed URLs.
    pub fn covers(&self, host: &str) -> bool {
        match self.0.strip_prefix('*') {
            Some(end) => host.len() > end.len() && host.ends_with(end),
            None => host == self.0,
        }
    }
}

impl<'de> Deserialize<'de> for HostPattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_whole_labels_only() {
        let below = HostPattern::new("*.github.com").unwrap();
        assert!(below.covers("api.github.com") && !below.covers("github.com") && !below.covers("evilgithub.com"));
        let one = HostPattern::new("github.com").unwrap();
        assert!(one.covers("github.com") && !one.covers("api.github.com") && !one.covers("github.com.evil.org"));
        for bad in
            ["*", "*.com", "https://x.org", "x.org:8080", "x.org/a", "", "a..b", "X.org", "x*.org", "ｇithub.com"]
        {
            assert!(HostPattern::new(bad).is_err(), "{bad}");
        }
    }
}
