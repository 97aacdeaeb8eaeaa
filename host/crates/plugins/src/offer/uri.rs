//! URIs of resources.

/// Bytes of one URI, which is a key in maps, logs and clients.
pub(super) const MAX_URI: usize = 2 << 10;
/// The scheme of the host's own resources, which no plugin may use.
const HOST_SCHEME: &str = "portcullis";

/// Checks the characters of a URI (RFC 3986) and that a plugin may use its scheme; the error says what is wrong.
///
/// URIs are compared byte by byte, and only lower-case schemes are accepted, so that no two spellings mean the same.
pub(crate) fn check(uri: &str) -> Result<(), String> {
    if uri.len() > MAX_URI {
        return Err(format!("is {} bytes, more than {MAX_URI}", uri.len()));
    }
    check_scheme(uri)?;
    let mut rest = uri.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let hex = [rest.next(), rest.next()];
                if !hex.iter().flatten().filter(|byte| byte.is_ascii_hexdigit()).count().eq(&2) {
                    return Err("has a `%` without two hexadecimal digits after it".into());
                }
            }
            byte if is_unreserved(byte) || b":/?#[]@!$&'()*+,;=".contains(&byte) => {}
            _ => return Err("has a character that a URI cannot hold; write it as `%` and two digits".into()),
        }
    }
    Ok(())
}

/// Checks that a URI or template begins with a scheme that a plugin may use.
pub(super) fn check_scheme(text: &str) -> Result<(), String> {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
    let starts_with_letter = scheme.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts_with_letter
        || !scheme.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(&b))
    {
        return Err("does not begin with a lower-case scheme, such as `notes:`".into());
    }
    if text.len() == scheme.len() + 1 {
        return Err("has nothing after its scheme".into());
    }
    if scheme == HOST_SCHEME {
        return Err(format!("has the scheme `{HOST_SCHEME}:`, which is the host's own"));
    }
    Ok(())
}

/// The unreserved characters of RFC 3986.
pub(super) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_uris_and_refuses_other_text() {
        for good in ["notes://a", "urn:isbn:1", "test://static-text", "file:///a%20b?x=[1]#top", "a+b.c-1:x"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "notes",
            "notes:",
            ":x",
            "1a:x",
            "Notes:x",
            "a b:x",
            "x:a b",
            "x:é",
            "x:\u{202e}",
            "x:%2",
            "x:%zz",
            "x:%",
            "x:\"",
            "x:{y}",
            "x:\n",
            "portcullis://published/x",
            "portcullis:x",
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        assert!(check(&format!("x:{}", "y".repeat(MAX_URI))).is_err());
    }
}
