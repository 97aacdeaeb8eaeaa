//! Which characters a text may have that people and models read: none that drives a terminal, and none that one of them
//! sees and the other does not.

use unicode_properties::{GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};

const TEXT_STYLE: char = '\u{fe0e}';
const EMOJI_STYLE: char = '\u{fe0f}';
const JOINER: char = '\u{200d}';
const KEYCAP: char = '\u{20e3}';

/// Control characters, and characters that change or hide what a reader sees: formatting (bidirectional, zero-width,
/// tags), separators of lines, variation selectors, blanks that are letters, and what has no agreed meaning at all
/// (private use, not assigned).
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

/// The unsafe characters of a text, each with the place where it begins. What makes a picture of emoji is none where it
/// does so: one selector after an emoji, a joiner between two. Elsewhere the same characters are a way to hide bits.
pub fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
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
            assert_eq!(hidden(text).count(), 1, "{}", text.escape_unicode());
        }
        // Every character of the ranges by which text is smuggled.
        let ranges = ['\u{e0000}'..='\u{e0fff}', '\u{fe00}'..='\u{fe0f}', '\u{2060}'..='\u{206f}', '\u{0}'..='\u{1f}'];
        assert!(ranges.into_iter().flatten().all(is_unsafe));
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
            assert_eq!(hidden(good).next(), None, "{}", good.escape_unicode());
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
            assert!(hidden(bad).next().is_some(), "{}", bad.escape_unicode());
        }
        assert_eq!(hidden("ab\u{200b}c").collect::<Vec<_>>(), [(2, '\u{200b}')]);
    }
}
