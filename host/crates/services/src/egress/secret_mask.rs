//! Masks secrets in responses, so that a server that echoes requests does not hand a secret to the guest. Secrets that
//! the server may have are replaced by asterisks of the same length, whichever request of whichever call has sent them.
//!
//! Only the plain value is found, not encoded forms (Base64, percent-encoding, JSON escapes): a host that may receive a
//! secret is trusted with it, and this only guards against careless ones.

use bytes::Bytes;
use http::header::{HeaderMap, HeaderValue};
use memchr::memmem;
use platform::secrets::Secret;
use std::sync::Arc;

/// Masks secrets in a stream, wherever it is split.
pub(super) struct SecretMask {
    secrets: Vec<Arc<Secret>>,
    longest: usize,
    /// The unmasked end of the input, which may be the start of a secret.
    tail: Vec<u8>,
    /// How many bytes at its start belong to a secret that was found earlier.
    masked: usize,
}

impl SecretMask {
    /// `None` without secrets.
    pub(super) fn new(secrets: &[Arc<Secret>]) -> Option<Self> {
        let longest = secrets.iter().map(|secret| secret.reveal().len()).max()?;
        Some(Self { secrets: secrets.to_vec(), longest, tail: Vec::new(), masked: 0 })
    }

    /// Whether the bytes contain a secret.
    pub(super) fn finds(&self, bytes: &[u8]) -> bool {
        !self.find(bytes).is_empty()
    }

    /// Masks header values. Names are lower case and never contain secrets.
    pub(super) fn headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let found = self.find(value.as_bytes());
            if !found.is_empty() {
                let mut bytes = value.as_bytes().to_vec();
                overwrite(&mut bytes, &found);
                // Asterisks keep it a valid value.
                *value = HeaderValue::from_bytes(&bytes).unwrap_or(HeaderValue::from_static("*"));
            }
        }
    }

    /// Takes a piece and returns what can be passed on.
    pub(super) fn piece(&mut self, piece: &[u8]) -> Bytes {
        self.tail.extend_from_slice(piece);
        self.pass(self.tail.len().saturating_sub(self.longest - 1))
    }

    /// Returns the rest at the end.
    pub(super) fn end(&mut self) -> Bytes {
        self.pass(self.tail.len())
    }

    fn pass(&mut self, length: usize) -> Bytes {
        let mut found = self.find(&self.tail);
        if self.masked > 0 {
            found.push((0, self.masked));
        }
        let mut out = self.tail.drain(..length).collect::<Vec<u8>>();
        overwrite(&mut out, &found);
        // A secret may start in what is passed on and end in what is kept.
        let ends = found.iter().filter(|(start, _)| *start < length).map(|(_, end)| end.saturating_sub(length));
        self.masked = ends.max().unwrap_or(0);
        out.into()
    }

    /// Start and end of each secret.
    fn find(&self, bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for secret in &self.secrets {
            let needle = secret.reveal().as_bytes();
            let finder = memmem::Finder::new(needle);
            let mut from = 0;
            // One secret may start inside another.
            while let Some(at) = finder.find(&bytes[from..]) {
                found.push((from + at, from + at + needle.len()));
                from += at + 1;
            }
        }
        found
    }
}

/// Masks what was found, as far as it is in range.
fn overwrite(bytes: &mut [u8], found: &[(usize, usize)]) {
    let length = bytes.len();
    for (start, end) in found {
        bytes[(*start).min(length)..(*end).min(length)].fill(b'*');
    }
}

impl Drop for SecretMask {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeroize::Zeroizing;

    fn mask(secrets: &[&str]) -> SecretMask {
        let secret = |value: &&str| Arc::new(Secret::new("s", Zeroizing::new((*value).to_owned())).unwrap());
        SecretMask::new(&secrets.iter().map(secret).collect::<Vec<_>>()).unwrap()
    }

    /// All results of splitting a text into pieces of one size.
    fn masked(secrets: &[&str], text: &str) -> Vec<String> {
        let sizes = 1..=text.len();
        let whole = sizes.map(|size| {
            let mut mask = mask(secrets);
            let mut out: Vec<u8> = text.as_bytes().chunks(size).flat_map(|piece| mask.piece(piece)).collect();
            out.extend(mask.end());
            String::from_utf8(out).unwrap()
        });
        let mut all: Vec<_> = whole.collect();
        all.dedup();
        all
    }

    #[test]
    fn a_secret_is_masked_however_the_response_is_split() {
        assert_eq!(masked(&["canary-1"], "x canary-1 y canary-1"), ["x ******** y ********"]);
        assert_eq!(masked(&["canary-1"], "canary-canary-1canary-"), ["canary-********canary-"]);
        assert_eq!(masked(&["abababab"], "xababababab!"), ["x**********!"]);
        assert_eq!(masked(&["12345678", "56789abc"], "0123456789abcd"), ["0************d"]);
        assert_eq!(masked(&["12345678", "123456789"], "_1234567890_"), ["_*********0_"]);
        assert_eq!(masked(&["canary-1"], "nothing"), ["nothing"]);
    }

    #[test]
    fn header_values_are_masked() {
        let mut headers = HeaderMap::from_iter([(http::header::LOCATION, HeaderValue::from_static("/?k=canary-1"))]);
        mask(&["canary-1"]).headers(&mut headers);
        assert_eq!(headers["location"], "/?k=********");
    }
}
