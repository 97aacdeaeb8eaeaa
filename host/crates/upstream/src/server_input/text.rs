//! Text from a server: made safe to show, or what people and models see of it.

use platform::telemetry::{is_unsafe, printable, unsafe_characters};
use platform::text::truncate;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Longest text in one error, report or log message, in bytes.
const MAX_TEXT: usize = 4 << 10;

/// Shortens a server's text and escapes it, so that it fits in one line.
pub(crate) fn single_line(text: &str) -> String {
    printable(truncate(text, MAX_TEXT)).into_owned()
}

/// The text without invisible characters: a model would read them, and a person who looks at the text would not see them.
/// Joiners stay between letters of scripts that are written with them.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let mut hidden = unsafe_characters(text).filter(|(_, c)| !matches!(c, '\n' | '\t')).peekable();
    if hidden.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut done) = (String::with_capacity(text.len()), 0);
    for (at, c) in hidden {
        shown.push_str(&text[done..at]);
        done = at + c.len_utf8();
        match c {
            '\r' if text[done..].starts_with('\n') => {}
            '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => shown.push('\n'),
            '\u{200c}' | '\u{200d}' if joins(shown.chars().next_back()) && joins(text[done..].chars().next()) => {
                shown.push(c);
            }
            _ => {}
        }
    }
    shown.push_str(&text[done..]);
    Cow::Owned(shown)
}

/// Whether a letter is of a script in which a joiner changes how its neighbours are written: Arabic, Indic, Burmese, Khmer, Mongolian.
fn joins(c: Option<char>) -> bool {
    let has_joiners = |c| matches!(c, '\u{600}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{fb50}'..='\u{fefc}');
    c.is_some_and(|c| has_joiners(c) && !is_unsafe(c))
}

fn visible_string(text: String) -> String {
    let shown = match visible(&text) {
        Cow::Owned(shown) => Some(shown),
        Cow::Borrowed(_) => None,
    };
    shown.unwrap_or(text)
}

/// The same for each text and each name of a JSON value. If two names become the same, the first counts.
pub(crate) fn visible_json(value: Value) -> Value {
    // serde_json bounds the recursion at 128.
    match value {
        Value::String(text) => Value::String(visible_string(text)),
        Value::Array(items) => items.into_iter().map(visible_json).collect(),
        Value::Object(members) => Value::Object(visible_members(members)),
        other => other,
    }
}

pub(crate) fn visible_members(members: Map<String, Value>) -> Map<String, Value> {
    let mut shown = Map::with_capacity(members.len());
    for (name, value) in members {
        shown.entry(visible_string(name)).or_insert_with(|| visible_json(value));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_nobody_sees_is_left_out_and_what_people_write_stays() {
        for same in ["", "Reads.\n\tAll.", "می\u{200c}خواهم", "क\u{94d}\u{200d}ष", "👩\u{200d}💻", "读取文件", "é"]
        {
            assert_eq!(visible(same), same);
        }
        for (text, shown) in [
            ("a\u{200b}b", "ab"),
            ("\u{feff}a\u{ad}b", "ab"),
            ("a\u{e0041}\u{e0042}", "a"),
            ("a\u{202e}b\u{202c}", "ab"),
            ("a\u{1b}[2J", "a[2J"),
            ("a\r\nb\rc\u{2028}d", "a\nb\nc\nd"),
            ("a\u{200c}b\u{200d}", "ab"),
            ("می\u{200c}\u{200c}\u{200d}خ", "می\u{200d}خ"),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
        }
        let value = json!({ "a\u{200b}": ["b\u{200b}", 1, { "c": "d\u{ad}" }], "a": 2 });
        assert_eq!(visible_json(value), json!({ "a": ["b", 1, { "c": "d" }] }));
    }
}
