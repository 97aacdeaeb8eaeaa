//! Measures how deeply a JSON text is nested, before it is parsed: each level costs the parser and everything that later
//! walks the value stack space and memory.

/// No honest message is deeper. serde_json itself stops at 128.
pub(super) const MAX_DEPTH: usize = 64;

/// Whether more than `max` brackets outside strings are open at once. For text that is not JSON the result is arbitrary.
pub(super) fn is_deeper_than(text: &[u8], max: usize) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for byte in text {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => quoted = true,
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
