//! Shortens the text copy of a large structured result, so that clients accept the message.
//!
//! A tool with structured content should return the same as text, for clients that know only text (2026-07-28, tools,
//! "structured content"). For a large result that is one copy too many: over HTTP, the Python SDK refuses an event of more than
//! 1 MiB.

use crate::json_size::take_json_size;
use bytesize::ByteSize;
use rmcp::model::ContentBlock;
use serde_json::Value;

/// The size of a message that every client accepts.
const MAX_MESSAGE: usize = 1 << 20;
/// Room for `_meta` and everything else around a result.
const AROUND: usize = 64 << 10;
/// The size of a shortened copy, in bytes.
const BEGINNING: usize = 16 << 10;

/// Shortens the copy if the message would be too large for some clients.
pub(crate) fn shorten_copy(content: &mut [ContentBlock], structured: Option<&Value>) {
    let Some(structured) = structured else { return };
    let long = |block: &ContentBlock| matches!(block, ContentBlock::Text(text) if text.text.len() > BEGINNING);
    // Most results are small, and their size need not be measured.
    if !content.iter().any(long) {
        return;
    }
    let mut left = MAX_MESSAGE - AROUND;
    if content.iter().all(|block| take_json_size(block, &mut left)) && take_json_size(structured, &mut left) {
        return;
    }
    for block in content {
        let ContentBlock::Text(text) = block else { continue };
        if text.text.len() > BEGINNING && serde_json::from_str::<Value>(&text.text).is_ok_and(|it| it == *structured) {
            let (whole, end) = (text.text.len(), text.text.floor_char_boundary(BEGINNING));
            text.text.truncate(end);
            let (shown, whole) = (ByteSize(end as u64), ByteSize(whole as u64));
            text.text += &format!("\n[These are the first {shown} of {whole}. The whole is in structuredContent.]");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(content: &[ContentBlock]) -> Vec<usize> {
        content.iter().filter_map(|block| block.as_text()).map(|text| text.text.len()).collect()
    }

    #[test]
    fn only_a_copy_is_shortened_and_only_if_it_must_be() {
        for (size, shortened) in [(10, false), (400_000, false), (600_000, true), (5_000_000, true)] {
            let structured = json!({"text": "é".repeat(size / 2)});
            let copy = serde_json::to_string_pretty(&structured).unwrap();
            let mut content = vec![ContentBlock::text("a summary"), ContentBlock::text(copy.clone())];
            shorten_copy(&mut content, Some(&structured));
            assert_eq!(texts(&content)[0], 9);
            assert_eq!(texts(&content)[1] < copy.len(), shortened, "{size}");
            assert!(!shortened || content[1].as_text().unwrap().text.contains("The whole is in structuredContent"));
        }
        let other = "x".repeat(2_000_000);
        let mut content = vec![ContentBlock::text(other.clone())];
        shorten_copy(&mut content, Some(&json!({"n": 1})));
        shorten_copy(&mut content, None);
        assert_eq!(texts(&content), [other.len()]);
    }
}
