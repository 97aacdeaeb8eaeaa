//! Measures how deeply a JSON text is nested, before it is parsed: each level costs the parser and everything that later
//! walks the value stack space and memory.

/// No honest message is deeper. serde_json itself stops at 128.
pub(super) const MAX_DEPTH: usize = 64;

/// The most that a value takes in memory besides its text, in bytes.
const VALUE: usize = 64;
/// A text that is shorter is little memory, whatever is in it.
const LITTLE: usize = 1 << 10;

/// About the most memory that a request takes: its text, what it is parsed into, and the text of its arguments. Many small
/// values take much more than their text.
pub(super) fn memory_of(text: &[u8]) -> usize {
    if text.len() <= LITTLE {
        return text.len();
    }
    let values = outside_strings(text).filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    text.len().saturating_mul(2).saturating_add(values.saturating_mul(VALUE))
}

/// The bytes that are not in strings.
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

/// Whether more than `max` brackets outside strings are open at once. For text that is not JSON the result is arbitrary.
pub(super) fn is_deeper_than(text: &[u8], max: usize) -> bool {
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
        let text = format!("\"{}\"", "0,[{\\\"".repeat(1_000));
        assert_eq!(memory_of(text.as_bytes()), 2 * text.len());
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
