//! Finds out about a JSON text before it is parsed: how deeply it is nested, how much memory it will take, and, if it cannot be
//! parsed, the text of one member.

/// No legitimate message is deeper. serde_json itself stops at 128, and every function that walks the value needs stack space
/// for each level.
pub const MAX_DEPTH: usize = 64;

/// The largest size of a value in memory besides its text, in bytes, in an array that has room to grow.
const VALUE: usize = 128;
/// The largest size of an object besides its members: its table has room for some of them from the start.
const OBJECT: usize = 512;
/// A text shorter than this takes little memory, whatever is in it.
const LITTLE: usize = 1 << 10;

/// An estimate of the most memory that a message takes: its text, the parsed value, and the text of its arguments. Many small
/// values take much more than their text: an object `{"a":0}` takes a hundred times as much.
pub fn memory_of(text: &[u8]) -> usize {
    if text.len() <= LITTLE {
        return text.len();
    }
    let cost = |byte| match byte {
        b',' | b'[' => VALUE,
        b'{' => OBJECT,
        _ => 0,
    };
    outside_strings(text).map(cost).fold(text.len().saturating_mul(2), usize::saturating_add)
}

/// How many more brackets a line opens than it closes. No string goes over the end of the line.
pub fn open_brackets(line: &[u8]) -> i64 {
    let step = |byte| match byte {
        b'[' | b'{' => 1,
        b']' | b'}' => -1,
        _ => 0,
    };
    outside_strings(line).map(step).sum()
}

/// The text of a member of the outermost object, without what comes after it. If the text cannot be parsed, this is a guess; it
/// is used only for responses to the sender.
pub fn member_of<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let (mut depth, mut quoted, mut escaped) = (0u32, None, false);
    // Where the wanted value begins, and the text of the last string.
    let (mut begin, mut last) = (None, &text[..0]);
    for (at, byte) in text.iter().copied().enumerate() {
        if let Some(start) = quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    quoted = None;
                    last = &text[start..at];
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => quoted = Some(at + 1),
            b'{' | b'[' => depth += 1,
            b':' if depth == 1 && begin.is_none() && last == name.as_bytes() => begin = Some(at + 1),
            b',' | b'}' | b']' if depth == 1 && begin.is_some() => {
                return begin.map(|begin| text[begin..at].trim_ascii());
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The bytes outside of strings.
fn outside_strings(text: &[u8]) -> impl Iterator<Item = u8> {
    let (mut quoted, mut escaped) = (false, false);
    text.iter().copied().filter(move |byte| {
        if !quoted {
            quoted = *byte == b'"';
            return true;
        }
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = false,
            _ => {}
        }
        false
    })
}

/// Whether more than `max` brackets outside of strings are open at once. For text that is not JSON the result is arbitrary.
pub fn is_deeper_than(text: &[u8], max: usize) -> bool {
    let mut depth = 0usize;
    for byte in outside_strings(text) {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_count_with_what_they_take() {
        let zeros = format!("[{}0]", "0,".repeat(1_000));
        assert_eq!(memory_of(zeros.as_bytes()), 2 * zeros.len() + 1_001 * VALUE);
        let objects = format!("[{}0]", "{},".repeat(1_000));
        assert_eq!(memory_of(objects.as_bytes()), 2 * objects.len() + 1_001 * VALUE + 1_000 * OBJECT);
        let text = format!("\"{}\"", "0,[{\\\"".repeat(1_000));
        assert_eq!(memory_of(text.as_bytes()), 2 * text.len());
    }

    #[test]
    fn members_of_broken_text_are_found() {
        let found = |text: &str| member_of(text.as_bytes(), "id").map(|id| String::from_utf8_lossy(id).into_owned());
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id": 7 ,"method":"x"}"#, Some("7")),
            (r#"{"params":{"id":1,"x":[{"id":2}]},"id":"a\"b","n":NaN}"#, Some(r#""a\"b""#)),
            (r#"{"x":"id","y":{"a":1e400},"id":3}"#, Some("3")),
            (r#"{"x":"\ud83d","id":null}"#, Some("null")),
            (r#"{"params":{"id":1}}"#, None),
            (r#"[{"id":1}]"#, None),
            (r#"{"id":1"#, None),
            ("no JSON", None),
            ("", None),
        ] {
            assert_eq!(found(text).as_deref(), id, "{text}");
        }
        let nested = "[".repeat(1_000_000);
        assert_eq!(found(&nested), None);
    }

    #[test]
    fn brackets_count_outside_strings_only() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(!is_deeper_than(nested(64).as_bytes(), 64));
        assert!(is_deeper_than(nested(65).as_bytes(), 64));
        assert!(is_deeper_than("{\"a\":".repeat(65).as_bytes(), 64));
        assert!(!is_deeper_than("[],".repeat(1_000).as_bytes(), 1));
        assert!(!is_deeper_than(br#"["[[[[\"[[[\\", "[[["]"#, 1));
        assert!(is_deeper_than(br#"["\\", [[]]]"#, 2));
        assert!(!is_deeper_than(b"]]]]][", 1));
        assert!(!is_deeper_than(b"", 0));
    }
}
