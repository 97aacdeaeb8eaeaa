//! A server that repeats what it was sent must not hand a secret to the guest: its answer is searched for the secrets
//! that went with the request, and each is overwritten by stars, so that lengths stay true.
//!
//! Found is the value as it was sent. What a server encodes (Base64, percent signs, JSON's escapes) is not: whoever may be
//! told a secret is trusted with it, and this only keeps the careless from passing it on.

use bytes::Bytes;
use http::header::{HeaderMap, HeaderValue};
use memchr::memmem;
use platform::secrets::Secret;
use std::sync::Arc;

/// Overwrites secrets in a stream, wherever it is cut into pieces.
pub(super) struct Mask {
    secrets: Vec<Arc<Secret>>,
    longest: usize,
    /// The end of what came, which may be the beginning of a secret. As it came.
    tail: Vec<u8>,
    /// How much of its beginning belongs to a secret that was found before.
    masked: usize,
}

impl Mask {
    /// For these secrets; none when there are none.
    pub(super) fn new(secrets: &[Arc<Secret>]) -> Option<Self> {
        let longest = secrets.iter().map(|secret| secret.reveal().len()).max()?;
        Some(Self { secrets: secrets.to_vec(), longest, tail: Vec::new(), masked: 0 })
    }

    /// Overwrites them in an answer's headers. A name holds none: it is in lower case, and none of ours is set there.
    pub(super) fn headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let found = self.find(value.as_bytes());
            if !found.is_empty() {
                let mut bytes = value.as_bytes().to_vec();
                stars(&mut bytes, &found);
                // Stars where visible characters were: it stays a value.
                *value = HeaderValue::from_bytes(&bytes).unwrap_or(HeaderValue::from_static("*"));
            }
        }
    }

    /// Takes a piece, and gives what can be passed on.
    pub(super) fn piece(&mut self, piece: &[u8]) -> Bytes {
        self.tail.extend_from_slice(piece);
        self.pass(self.tail.len().saturating_sub(self.longest - 1))
    }

    /// Gives what is left, at the end.
    pub(super) fn end(&mut self) -> Bytes {
        self.pass(self.tail.len())
    }

    /// Passes on this many bytes of the tail.
    fn pass(&mut self, length: usize) -> Bytes {
        let mut found = self.find(&self.tail);
        if self.masked > 0 {
            found.push((0, self.masked));
        }
        let mut out = self.tail.drain(..length).collect::<Vec<u8>>();
        stars(&mut out, &found);
        // A secret that began in what is passed on and ends in what is kept.
        let ends = found.iter().filter(|(start, _)| *start < length).map(|(_, end)| end.saturating_sub(length));
        self.masked = ends.max().unwrap_or(0);
        out.into()
    }

    /// Where secrets are, from and to.
    fn find(&self, bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for secret in &self.secrets {
            let needle = secret.reveal().as_bytes();
            let finder = memmem::Finder::new(needle);
            let mut from = 0;
            // One may begin inside another.
            while let Some(at) = finder.find(&bytes[from..]) {
                found.push((from + at, from + at + needle.len()));
                from += at + 1;
            }
        }
        found
    }
}

/// Overwrites what was found, as far as it is there.
fn stars(bytes: &mut [u8], found: &[(usize, usize)]) {
    let length = bytes.len();
    for (start, end) in found {
        bytes[(*start).min(length)..(*end).min(length)].fill(b'*');
    }
}

impl Drop for Mask {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeroize::Zeroizing;

    fn mask(secrets: &[&str]) -> Mask {
        let secret = |value: &&str| Arc::new(Secret::new("s", Zeroizing::new((*value).to_owned())).unwrap());
        Mask::new(&secrets.iter().map(secret).collect::<Vec<_>>()).unwrap()
    }

    /// Every way to cut a text into pieces of one size.
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
    fn a_secret_is_found_however_the_answer_is_cut() {
        assert_eq!(masked(&["canary-1"], "x canary-1 y canary-1"), ["x ******** y ********"]);
        assert_eq!(masked(&["canary-1"], "canary-canary-1canary-"), ["canary-********canary-"]);
        assert_eq!(masked(&["abababab"], "xababababab!"), ["x**********!"]);
        assert_eq!(masked(&["12345678", "56789abc"], "0123456789abcd"), ["0************d"]);
        assert_eq!(masked(&["12345678", "123456789"], "_1234567890_"), ["_*********0_"]);
        assert_eq!(masked(&["canary-1"], "nothing"), ["nothing"]);
    }

    #[test]
    fn headers_are_searched_too() {
        let mut headers = HeaderMap::from_iter([(http::header::LOCATION, HeaderValue::from_static("/?k=canary-1"))]);
        mask(&["canary-1"]).headers(&mut headers);
        assert_eq!(headers["location"], "/?k=********");
    }
}
