//! Finds the operator's secrets in what is about to be written to a file that others read.
//!
//! Unlike [`SecretMask`](super::secret_mask), it knows the usual encodings, and it only reports which secret it found: an
//! encoded secret cannot be masked without changing the meaning of the text.

use base64::Engine;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::NO_PAD;
use memchr::memmem;
use platform::secrets::{Secret, SecretStore};
use std::fmt::Write as _;
use std::sync::Arc;
use zeroize::Zeroizing;

/// All secrets of a host.
pub struct SecretSearch(Vec<KnownSecret>);

struct KnownSecret {
    secret: Arc<Secret>,
    /// The forms in which the secret may appear in a file.
    forms: Vec<Zeroizing<Vec<u8>>>,
}

impl SecretSearch {
    pub fn new(store: &SecretStore) -> Self {
        Self(store.all().cloned().map(KnownSecret::new).collect())
    }

    /// The name of a secret that the bytes contain, plain, escaped, or encoded in base64, hexadecimal digits or percent signs.
    pub fn find(&self, bytes: &[u8]) -> Option<&str> {
        let is_in = |known: &&KnownSecret| known.forms.iter().any(|form| memmem::find(bytes, form).is_some());
        self.0.iter().find(is_in).map(|known| known.secret.name())
    }
}

impl KnownSecret {
    fn new(secret: Arc<Secret>) -> Self {
        let forms = forms(secret.reveal());
        Self { secret, forms }
    }
}

fn forms(secret: &str) -> Vec<Zeroizing<Vec<u8>>> {
    let json = Zeroizing::new(serde_json::Value::from(secret).to_string());
    let mut forms = vec![secret.as_bytes().to_vec(), json.as_bytes()[1..json.len() - 1].to_vec()];
    let hexadecimal = |each: fn(&mut String, u8) -> std::fmt::Result| {
        // Writing to a String cannot fail.
        secret.bytes().fold(String::new(), |mut text, byte| each(&mut text, byte).map(|()| text).unwrap_or_default())
    };
    forms.push(hexadecimal(|text, byte| write!(text, "{byte:02x}")).into_bytes());
    forms.push(hexadecimal(|text, byte| write!(text, "{byte:02X}")).into_bytes());
    let form = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect::<String>();
    forms.push(form.replace('+', "%20").into_bytes());
    forms.push(form.into_bytes());
    for alphabet in [&STANDARD, &URL_SAFE] {
        forms.extend((0..3).map(|before| base64_within(secret.as_bytes(), before, alphabet)));
    }
    forms.into_iter().map(Zeroizing::new).collect()
}

/// The part of the secret's base64 that does not depend on the text around it, if `before` bytes of a group of three precede
/// the secret.
fn base64_within(secret: &[u8], before: usize, alphabet: &Alphabet) -> Vec<u8> {
    let bytes = Zeroizing::new([&[0; 3][..before], secret].concat());
    let encoded = Zeroizing::new(GeneralPurpose::new(alphabet, NO_PAD).encode(&*bytes));
    let (first, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    encoded.as_bytes()[first..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose;

    fn search(secret: &str) -> SecretSearch {
        let secret = Secret::new("key", Zeroizing::new(secret.to_owned())).unwrap();
        SecretSearch(vec![KnownSecret::new(Arc::new(secret))])
    }

    #[test]
    fn a_secret_is_found_in_every_form() {
        let secret = r#"can?ry>~"1\2 /b52f"#;
        let search = search(secret);
        let found = |text: &str| search.find(text.as_bytes()) == Some("key");
        assert!(found(&format!("a {secret} b")));
        assert!(found(&serde_json::json!({"a": [secret]}).to_string()));
        assert!(found("x=can%3Fry%3E%7E%221%5C2%20%2Fb52f&") && found("x=can%3Fry%3E%7E%221%5C2+%2Fb52f&"));
        assert!(found("63616e3f72793e7e22315c32202f62353266") && found("63616E3F72793E7E22315C32202F62353266"));
        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "x", "xy", "xyz"] {
                let text = format!("{before}{secret}{after}");
                for engine in [general_purpose::STANDARD, general_purpose::URL_SAFE_NO_PAD] {
                    assert!(found(&format!("Basic {}", engine.encode(&text))), "{text}");
                }
            }
        }
    }

    #[test]
    fn other_text_is_not_taken_for_one() {
        let search = search("canary-b52f");
        for text in ["", "canary", "canary-b52", "CANARY-B52F", "Y2FuYXJ5", "63616e617279"] {
            assert_eq!(search.find(text.as_bytes()), None, "{text}");
        }
    }
}
