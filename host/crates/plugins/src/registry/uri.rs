//! URIs of resources, as a plugin may write them.

/// Bytes of one URI. It is a key in maps, logs and clients.
pub(super) const MAX_URI: usize = 2 << 10;
/// The scheme of resources that the host itself makes; no plugin may speak in its name.
const OURS: &str = "portcullis";

/// Whether it is a URI (RFC 3986, as far as its characters go) that a plugin may offer; otherwise what is wrong with it.
///
/// One that merely looks like another never stands for it: URIs are compared byte by byte, and only the lower-case form
/// of a scheme is accepted.
pub(super) fn check(uri: &str) -> Result<(), String> {
    if uri.len() > MAX_URI {
        return Err(format!("is {} bytes, more than {MAX_URI}", uri.len()));
    }
    scheme(uri)?;
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

/// Whether it begins with a scheme that a plugin may use.
pub(super) fn scheme(text: &str) -> Result<(), String> {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
    let letter = scheme.starts_with(|c: char| c.is_ascii_lowercase());
    if !letter || !scheme.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(&b)) {
        return Err("does not begin with a scheme in small letters, such as `notes:`".into());
    }
    if text.len() == scheme.len() + 1 {
        return Err("has nothing after its scheme".into());
    }
    if scheme == OURS {
        return Err(format!("has the scheme `{OURS}:`, which is the host's own"));
    }
    Ok(())
}

/// Characters that stand for themselves everywhere in a URI.
pub(super) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_uris_from_other_text() {
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
