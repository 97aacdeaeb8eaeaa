//! Names that may become part of other names, files and URLs.

/// Whether a text is 1 to `max` bytes of ASCII letters, digits and `punctuation`.
pub fn is_name(text: &str, max: usize, punctuation: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || punctuation.contains(c);
    (1..=max).contains(&text.len()) && text.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_plain_and_not_empty() {
        assert!(is_name("a", 2, "") && is_name("A9", 2, "") && is_name("a-_", 3, "-_"));
        for (text, punctuation) in [("", "-_"), ("abcd", ""), ("a-", "_"), ("a b", "-"), ("é", ""), ("a\n", "-_.")] {
            assert!(!is_name(text, 3, punctuation), "{text:?}");
        }
    }
}
