//! Versions as authors write them.

use semver::Version;
use std::cmp::Ordering;

/// None if it is not a semantic version. Many authors write a `v` before it.
pub(super) fn parse(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

/// None if one of the two is not a semantic version. Build metadata does not affect the order.
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    Some(parse(one)?.cmp_precedence(&parse(other)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered() {
        let ordered = [
            "0.9.0",
            "1.0.0-1",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0",
            "1.0.1",
            "1.2.0",
            "1.10.0",
            "2.0.0",
        ];
        for pair in ordered.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Some(Ordering::Less), "{pair:?}");
        }
        assert_eq!(compare("1.0.0+a", "v1.0.0+b"), Some(Ordering::Equal));
        for none in
            ["", "1", "1.0", "1.0.0.0", "one", "1.0.x", "1.0.0-", "1.0.0-a..b", "+1.0.0", "99999999999999999999.0.0"]
        {
            assert_eq!(compare(none, "1.0.0"), None, "{none}");
        }
    }
}
