//! Which of two versions is the higher one, by the rules of semantic versioning.

use std::cmp::Ordering;

/// Compares; none when one of the two is no semantic version.
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    Some(parse(one)?.cmp(&parse(other)?))
}

/// Major, minor, patch; then what comes after a `-`, where nothing is the highest.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Semantic([u64; 3], Pre);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Pre {
    Parts(Vec<Part>),
    Release,
}

/// Numbers come before words.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

fn parse(text: &str) -> Option<Semantic> {
    let text = text.strip_prefix('v').unwrap_or(text);
    // What is built of the same source is the same version.
    let text = text.split_once('+').map_or(text, |(text, _)| text);
    let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
    let mut numbers = core.split('.').map(number);
    let core = [numbers.next()??, numbers.next()??, numbers.next()??];
    if numbers.next().is_some() {
        return None;
    }
    let part = |part: &str| match number(part) {
        Some(number) => Some(Part::Number(number)),
        None if !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') => {
            Some(Part::Word(part.to_owned()))
        }
        None => None,
    };
    let pre = match pre {
        Some(pre) => Pre::Parts(pre.split('.').map(part).collect::<Option<_>>()?),
        None => Pre::Release,
    };
    Some(Semantic(core, pre))
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
