//! Characters that are unsafe in text for people and models: those that control a terminal, and those that only people or only
//! models can see.

use std::borrow::Cow;
use unicode_properties::{GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};

const TEXT_STYLE: char = '\u{fe0e}';
const EMOJI_STYLE: char = '\u{fe0f}';
const JOINER: char = '\u{200d}';
const KEYCAP: char = '\u{20e3}';

/// Whether it is a control character, or one that changes or hides what a reader sees: formatting (bidirectional, zero-width,
/// tags), line separators, variation selectors, invisible letters, and characters without a meaning (private use, unassigned).
pub fn is_unsafe(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let nothing_to_see = matches!(
        c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    );
    nothing_to_see
        || match c.general_category() {
            GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::Surrogate
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned => true,
            GeneralCategory::UppercaseLetter
            | GeneralCategory::LowercaseLetter
            | GeneralCategory::TitlecaseLetter
            | GeneralCategory::ModifierLetter
            | GeneralCategory::OtherLetter
            | GeneralCategory::NonspacingMark
            | GeneralCategory::SpacingMark
            | GeneralCategory::EnclosingMark
            | GeneralCategory::DecimalNumber
            | GeneralCategory::LetterNumber
            | GeneralCategory::OtherNumber
            | GeneralCategory::ConnectorPunctuation
            | GeneralCategory::DashPunctuation
            | GeneralCategory::OpenPunctuation
            | GeneralCategory::ClosePunctuation
            | GeneralCategory::InitialPunctuation
            | GeneralCategory::FinalPunctuation
            | GeneralCategory::OtherPunctuation
            | GeneralCategory::MathSymbol
            | GeneralCategory::CurrencySymbol
            | GeneralCategory::ModifierSymbol
            | GeneralCategory::OtherSymbol
            | GeneralCategory::SpaceSeparator => false,
        }
}

/// The unsafe characters of a text, each with its byte offset. A selector is safe after an emoji, and a joiner is safe between
/// two emojis. In other places they could hide data.
pub fn unsafe_characters(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut before = None;
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (at, c) = rest.next()?;
            let after = rest.peek().map(|(_, after)| *after);
            let hides = is_unsafe(c) && !is_part_of_emoji(before, c, after);
            before = Some(c);
            if hides {
                return Some((at, c));
            }
        }
    })
}

/// Makes untrusted text safe for a log line or a terminal. Escapes control characters, which could forge records or control the
/// terminal, and invisible formatting characters.
pub fn printable(text: &str) -> Cow<'_, str> {
    let mut unsafe_ones = unsafe_characters(text).peekable();
    if unsafe_ones.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for (at, c) in unsafe_ones {
        safe.push_str(&text[done..at]);
        match c {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            c => safe.extend(c.escape_unicode()),
        }
        done = at + c.len_utf8();
    }
    safe.push_str(&text[done..]);
    Cow::Owned(safe)
}

/// Does the same for JSON, without changing its values: JSON itself escapes only the control characters below U+0020. Line
/// feeds between values are kept.
pub fn escape_json(text: &str) -> Cow<'_, str> {
    let is_unsafe = |c: char| c != '\n' && is_unsafe(c);
    // Nearly all records of the audit log are plain ASCII.
    if text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n')) || !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| safe += &format!("\\u{unit:04x}"));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

fn is_part_of_emoji(before: Option<char>, c: char, after: Option<char>) -> bool {
    let picture = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && c.is_emoji_char());
    let key = before.is_some_and(|c| c.is_ascii() && c.is_emoji_char());
    match c {
        EMOJI_STYLE => picture(before) || (key && after == Some(KEYCAP)),
        TEXT_STYLE => picture(before),
        JOINER => (picture(before) || before == Some(EMOJI_STYLE)) && picture(after),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_found() {
        let bad = "\0 \x1b \x7f \u{9b} \u{ad} \u{34f} \u{61c} \u{115f} \u{180e} \u{200b} \u{200c} \u{200d} \u{200e} \
                   \u{2028} \u{202a} \u{202e} \u{2060} \u{2066} \u{2069} \u{2800} \u{3164} \u{e000} \u{fe00} \u{fe0f} \u{feff} \
                   \u{ffa0} \u{fff9} \u{ffff} \u{1d173} \u{e0001} \u{e0041} \u{e007f} \u{e0100} \u{e01ef} \u{f0000} \u{10fffd}";
        for text in bad.split(' ') {
            assert_eq!(unsafe_characters(text).count(), 1, "{}", text.escape_unicode());
        }
        // All characters of the ranges that are used to smuggle text.
        let ranges = ['\u{e0000}'..='\u{e0fff}', '\u{fe00}'..='\u{fe0f}', '\u{2060}'..='\u{206f}', '\u{0}'..='\u{1f}'];
        assert!(ranges.into_iter().flatten().all(is_unsafe));
    }

    #[test]
    fn json_is_safe_to_show_and_means_the_same() {
        let value = serde_json::json!({"a\u{9b}": "\u{1b}[2J\u{202e}x\u{e0041}é\n"});
        let pretty = format!("{value:#}");
        let text = escape_json(&pretty);
        assert!(text.chars().all(|c| c == '\n' || !is_unsafe(c)), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(matches!(escape_json("{\n\"a\": \"é\"}"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_people_write_is_fine() {
        for good in [
            "Reads a file.",
            "Größe – „x“ …",
            "日本語　テスト",
            "Ünïcödé naïve",
            "नमस्ते",
            "שָׁלוֹם",
            "العربية",
            "1 × 2 ≤ 3",
            "£ € ₿",
            "한국어",
            "warning ⚠️",
            "👩‍👩‍👧",
            "🏳️‍🌈",
            "👍🏽",
            "1️⃣",
            "❤︎",
            "a\u{301}",
            "🇫🇷",
        ] {
            assert_eq!(unsafe_characters(good).next(), None, "{}", good.escape_unicode());
        }
    }

    #[test]
    fn bits_cannot_be_hidden_in_emoji() {
        for bad in [
            "⚠\u{fe0f}\u{fe0f}",
            "a\u{fe0f}",
            "1\u{fe0f}",
            "👍\u{200d}a",
            "a\u{200d}👍",
            "👍\u{200d}\u{200d}👍",
            "🏴\u{e0067}",
        ] {
            assert!(unsafe_characters(bad).next().is_some(), "{}", bad.escape_unicode());
        }
        assert_eq!(unsafe_characters("ab\u{200b}c").collect::<Vec<_>>(), [(2, '\u{200b}')]);
    }

    #[test]
    fn nothing_drives_the_terminal() {
        assert_eq!(printable("héllo"), "héllo");
        assert_eq!(printable("a\n{\"level\":1}\x1b[2J\u{202e}x\u{9b}"), "a\\n{\"level\":1}\\u{1b}[2J\\u{202e}x\\u{9b}");
    }
}
