//! The modules that a source text names: as much of the language's grammar as it takes to tell them from other strings.

use std::ops::Range;

/// The name of a module in a source text.
pub(crate) struct Specifier {
    /// Where it stands, without its quotes.
    pub(crate) at: Range<usize>,
    /// Whether it is the argument of `require`.
    pub(crate) required: bool,
}

/// All names of modules, in order. Comments, other strings and templates have none.
pub(crate) fn specifiers(text: &str) -> Vec<Specifier> {
    let text = text.as_bytes();
    let mut found = Vec::new();
    let mut before: [&[u8]; 3] = [b""; 3];
    let mut at = 0;
    while at < text.len() {
        let token = &text[at..at + length(&text[at..])];
        let inside = at + 1..at + token.len() - 1;
        at += token.len();
        match (before, token) {
            (_, [b' ' | b'\t' | b'\r' | b'\n', ..] | [b'/', b'/' | b'*', ..]) => continue,
            ([.., b"from" | b"import"] | [_, b"import", b"("], [b'"' | b'\'', _, .., b'"' | b'\'']) => {
                found.push(Specifier { at: inside, required: false });
            }
            ([dot, b"require", b"("], [b'"' | b'\'', _, .., b'"' | b'\'']) if dot != b"." => {
                found.push(Specifier { at: inside, required: true });
            }
            _ => {}
        }
        before = [before[1], before[2], token];
    }
    found
}

/// The length of the token that a text begins with. Of regular expressions nothing is known: a quote in one is taken for the
/// beginning of a string, which ends with its line.
fn length(text: &[u8]) -> usize {
    let while_all = |fits: fn(u8) -> bool| text.iter().position(|&byte| !fits(byte)).unwrap_or(text.len());
    match text {
        [b'/', b'/', ..] => while_all(|byte| byte != b'\n'),
        [b'/', b'*', rest @ ..] => rest.windows(2).position(|pair| pair == b"*/").map_or(text.len(), |end| end + 4),
        [quote @ (b'"' | b'\'' | b'`'), rest @ ..] => 1 + literal(rest, *quote),
        [first, ..] if is_word(*first) => while_all(is_word),
        _ => 1,
    }
}

/// The length of a string or template behind its first quote.
fn literal(text: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'\n' if quote != b'`' => return at,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}
