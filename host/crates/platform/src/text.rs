//! Cutting text at character boundaries.

/// The beginning of a text, at most `max` bytes of it.
pub fn truncate(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The beginning of a text, at most `max` characters of it.
pub fn truncate_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// The beginning of a text, at most `max` bytes of it; `ellipsis` follows if something was cut off.
pub fn truncate_with(text: &str, max: usize, ellipsis: &str) -> String {
    let beginning = truncate(text, max);
    if beginning.len() == text.len() { text.to_owned() } else { format!("{beginning}{ellipsis}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_split() {
        assert_eq!([truncate("aé", 2), truncate("aé", 3), truncate("aé", 9), truncate("", 0)], ["a", "aé", "aé", ""]);
        assert_eq!([truncate_chars("éa", 0), truncate_chars("éa", 1), truncate_chars("éa", 2)], ["", "é", "éa"]);
        assert_eq!((truncate_with("aé", 2, "...").as_str(), truncate_with("aé", 3, "...").as_str()), ("a...", "aé"));
    }
}
