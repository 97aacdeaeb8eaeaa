//! Compares versions by the rules of semantic versioning.

use std::cmp::Ordering;

/// None if one of the two is not a semantic version.
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    Some(parse(one)?.cmp(&parse(other)?))
}

/// None if it is not a semantic version.
pub(super) fn is_pre_release(text: &str) -> Option<bool> {
    Some(parse(text)?.1 != PreRelease::None)
}

/// Major, minor, patch; then the pre-release part. A release is higher than its pre-releases.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SemanticVersion([u64; 3], PreRelease);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum PreRelease {
    Identifiers(Vec<Identifier>),
    None,
}

/// Numeric identifiers are lower than alphanumeric ones.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Numeric(u64),
    Alphanumeric(String),
}

fn parse(text: &str) -> Option<SemanticVersion> {
    let text = text.strip_prefix('v').unwrap_or(text);
    // Build metadata does not affect the order.
    let text = text.split_once('+').map_or(text, |(text, _)| text);
    let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
    let mut numbers = core.split('.').map(number);
    let core = [numbers.next()??, numbers.next()??, numbers.next()??];
    if numbers.next().is_some() {
        return None;
    }
    let identifier = |part: &str| match number(part) {
        Some(number) => Some(Identifier::Numeric(number)),
        None if !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') => {
            Some(Identifier::Alphanumeric(part.to_owned()))
        }
        None => None,
    };
    let pre = match pre {
        Some(pre) => PreRelease::Identifiers(pre.split('.').map(identifier).collect::<Option<_>>()?),
        None => PreRelease::None,
    };
    Some(SemanticVersion(core, pre))
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
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
