//! Which version of a plugin is the newest, by the tags of its repository.

use super::semantic_version::{compare, parse};
use std::cmp::Ordering;

/// Whether a tag names one version, such as `1.2.0`. Publishers move other tags, such as `latest` or `1`, to newer versions.
pub fn is_version(tag: &str) -> bool {
    parse(tag).is_some()
}

/// The highest version among `tags`, if it is higher than `tag`. Pre-releases count only if `tag` is one itself.
pub(super) fn newer_tag<'a>(tag: &str, tags: &'a [String]) -> Option<&'a str> {
    let takes_pre_releases = !parse(tag)?.pre.is_empty();
    let mut newest = None;
    for other in tags {
        let is_wanted = parse(other).is_some_and(|other| takes_pre_releases || other.pre.is_empty());
        if is_wanted && compare(other, newest.unwrap_or(tag)) == Some(Ordering::Greater) {
            newest = Some(other.as_str());
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_release_is_the_newest() {
        let tags = ["latest", "1", "1.2", "1.10.0", "1.9.0", "v1.10.1", "2.0.0-rc.1", "1.10.0-alpine", "sha256-x.sig"];
        let tags = tags.map(str::to_owned);
        for (tag, newest) in [
            ("1.2.0", Some("v1.10.1")),
            ("v1.10.1", None),
            ("3.0.0", None),
            ("2.0.0-beta", Some("2.0.0-rc.1")),
            ("1.10.2-rc.1", Some("2.0.0-rc.1")),
            ("latest", None),
            ("1", None),
        ] {
            assert_eq!(newer_tag(tag, &tags), newest, "{tag}");
        }
        assert_eq!(newer_tag("1.0.0", &[]), None);
        assert!(is_version("v1.0.0") && !is_version("1.0") && !is_version("latest"));
    }
}
