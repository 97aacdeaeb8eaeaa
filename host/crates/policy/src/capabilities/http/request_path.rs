//! The path of a request, and whether every server reads it in the same way.
//!
//! A grant names the beginning of a path. Proxies and servers decode paths, normalise them and cut parts off, each in its own
//! way: one server reads a path as below `/v1/`, and another reads the same path as `/admin`. So a path that could be read in
//! more than one way is below no prefix except `/`.

use std::fmt;

/// How often a segment of a path is percent-decoded to check it. If the last decoding still changes it, it is nested too
/// deeply.
const MAX_DECODINGS: usize = 4;

/// An absolute path, without query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath {
    text: String,
    checked: Result<(), RequestPathError>,
}

/// Why servers may read a path in different ways: the end of a sentence that begins with "the path".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestPathError {
    #[error("has characters that must be percent-encoded, or a fragment")]
    Characters,
    #[error("has a malformed percent-encoding")]
    Malformed,
    #[error("is percent-encoded too many times")]
    Nested,
    #[error("has percent-encoded bytes that are not UTF-8")]
    Encoding,
    #[error("has a control character in it")]
    Control,
    #[error("has a `.` or `..` in it")]
    Dots,
    #[error("begins with `//`, after which some servers read the name of a server")]
    ServerName,
}

impl RequestPath {
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { checked: check(&text), text }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether every server reads it in the same way.
    pub fn check(&self) -> Result<(), RequestPathError> {
        self.checked
    }

    /// Whether every server reads it as below this prefix. `/v1/` covers everything below it, `/v1` covers itself as well, and
    /// `/` covers every path.
    pub fn is_below(&self, prefix: &str) -> bool {
        let after = |start| self.text.strip_prefix(start);
        let below = match prefix.strip_suffix('/') {
            Some(folder) => after(folder).is_some_and(|rest| rest.starts_with('/')),
            None => after(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        };
        below && (self.checked.is_ok() || prefix == "/")
    }
}

impl fmt::Display for RequestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn check(path: &str) -> Result<(), RequestPathError> {
    if path.chars().any(|c| !c.is_ascii_graphic() || r##"\#?"<>^`"##.contains(c)) {
        return Err(RequestPathError::Characters);
    }
    let escaped = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if !path.split('%').skip(1).all(escaped) {
        return Err(RequestPathError::Malformed);
    }
    if path.starts_with("//") {
        return Err(RequestPathError::ServerName);
    }
    path.split('/').try_for_each(check_segment)
}

/// Checks that a segment is a plain name, however often a server decodes it.
fn check_segment(segment: &str) -> Result<(), RequestPathError> {
    let mut text = segment.to_owned();
    for _ in 0..MAX_DECODINGS {
        if text.contains(char::is_control) {
            return Err(RequestPathError::Control);
        }
        if text.split(is_separator).any(is_dots) {
            return Err(RequestPathError::Dots);
        }
        let decoded = String::from_utf8(decoded(&text)).map_err(|_| RequestPathError::Encoding)?;
        if decoded == text {
            return Ok(());
        }
        text = decoded;
    }
    Err(RequestPathError::Nested)
}

/// The last four look like slashes, and some servers turn them into slashes.
fn is_separator(c: char) -> bool {
    matches!(c, '/' | '\\' | '\u{2044}' | '\u{2215}' | '\u{ff0f}' | '\u{ff3c}')
}

/// Whether some server reads a name as `.` or `..`. Some servers cut off what follows `;`, a decoded `?` or `#`, or white space
/// and more dots. Some turn characters that look like dots into dots.
fn is_dots(name: &str) -> bool {
    let is_dot = |c| matches!(c, '.' | '\u{2024}'..='\u{2026}' | '\u{3002}' | '\u{fe52}' | '\u{ff0e}' | '\u{ff61}');
    let name = name.split([';', '?', '#']).next().unwrap_or_default();
    name.contains(is_dot) && name.chars().all(|c| is_dot(c) || c.is_whitespace())
}

/// Decodes once. A percent sign that encodes nothing stays.
fn decoded(text: &str) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = (*byte == b'%').then(|| after.get(..2)).flatten();
        let escaped = digits.and_then(|digits| {
            let digit = |at: usize| char::from(digits[at]).to_digit(16);
            u8::try_from(digit(0)? * 16 + digit(1)?).ok()
        });
        plain.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_are_below_their_prefixes() {
        for path in [
            "/v1/",
            "/v1/a",
            "/v1/groups/a%2Fb",
            "/v1/..x/x../.x/a...b",
            "/v1/100%25",
            "/v1/caf%C3%A9",
            "/v1/%E2%80%A6more",
            "/v1//double",
            "/v1/@scope/name:1;v=2",
            "/v1/a%20b",
        ] {
            let path = RequestPath::new(path);
            assert_eq!(path.check(), Ok(()), "{path}");
            assert!(path.is_below("/v1/") && path.is_below("/v1") && path.is_below("/"), "{path}");
            assert!(!path.is_below("/v") && !path.is_below("/v1/x/"), "{path}");
        }
        assert!(RequestPath::new("/v1").is_below("/v1") && !RequestPath::new("/v1").is_below("/v1/"));
        assert!(!RequestPath::new("/v10").is_below("/v1"));
    }

    #[test]
    fn what_servers_could_read_otherwise_is_below_no_prefix() {
        let paths = [
            "/v1/../admin",
            "/v1/./a",
            "/v1/..",
            "/v1/..;/admin",
            "/v1/..;x=y/admin",
            "/v1/.;/admin",
            "/v1/%2e%2e/admin",
            "/v1/%2E%2e/admin",
            "/v1/.%2e/admin",
            "/v1/%252e%252e/admin",
            "/v1/%25252e%25252e/admin",
            "/v1/%2525252525252e/admin",
            "/v1/%2e%2e%3b/admin",
            "/v1/..%2fadmin",
            "/v1/a%2f..%2f..%2fadmin",
            "/v1/..%5cadmin",
            "/v1/..\\admin",
            "/v1/..%3f/admin",
            "/v1/..%23/admin",
            "/v1/..%20/admin",
            "/v1/.../admin",
            "/v1/..%c2%a0/admin",
            // Each of these is one character that looks like a dot or a slash.
            "/v1/%ef%bc%8e%ef%bc%8e/admin",
            "/v1/%e2%80%a5/admin",
            "/v1/%e3%80%82%e3%80%82/admin",
            "/v1/..%ef%bc%8fadmin",
            "/v1/..%e2%88%95admin",
            // Overlong encodings of `.` in UTF-8.
            "/v1/%c0%ae%c0%ae/admin",
            "/v1/%u002e%u002e/admin",
            // Many decoders leave sequences alone that they cannot decode.
            "/v1/%25zz%252f%252e%252e%252fadmin",
            "/v1/..%00/admin",
            "/v1/a%0ab",
            "/v1/a%250d%250ab",
            "/v1/a%",
            "/v1/a%2",
            "/v1/a b",
            "/v1/ä",
            "/v1/a?b",
            "/v1/a#b",
        ];
        for path in paths {
            let path = RequestPath::new(path);
            assert!(path.check().is_err(), "{path}");
            assert!(!path.is_below("/v1/") && !path.is_below("/v1") && path.is_below("/"), "{path}");
        }
        for path in ["//v1", "//v1/", "//v1/a", "///v1/a"] {
            let path = RequestPath::new(path);
            assert!(path.check().is_err(), "{path}");
            assert!(!path.is_below("//v1") && !path.is_below("//v1/") && !path.is_below("//") && path.is_below("/"));
        }
        eprintln!("hostile: paths: {} that could be read otherwise, 0 below a prefix", paths.len());
    }
}
