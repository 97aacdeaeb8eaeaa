//! Credentials at rest: XChaCha20-Poly1305 under a key file that only this user can read. The principal, the connection and its
//! addresses are authenticated too: a row cannot be opened if it was moved to another principal or connection, or if its
//! connection has other addresses by now.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use platform::files::read_or_create_key;
use platform::random::random_bytes;
use std::io;
use std::path::Path;

/// First byte of sealed data.
const FORMAT: u8 = 1;
/// Bytes of the random nonce.
const NONCE: usize = 24;

pub(super) struct Seal(XChaCha20Poly1305);

impl Seal {
    /// Creates the key file if it is missing.
    pub(super) fn open(file: &Path) -> io::Result<Self> {
        Ok(Self(XChaCha20Poly1305::new(&read_or_create_key(file)?.into())))
    }

    /// Seals a text so that it opens only with the same `bound` values.
    pub(super) fn seal(&self, text: &[u8], bound: &[&str]) -> io::Result<Vec<u8>> {
        let nonce = random_bytes::<NONCE>()?;
        let payload = Payload { msg: text, aad: &bytes(bound) };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload).map_err(|_| io::Error::other("sealing failed"))?;
        Ok([&[FORMAT], nonce.as_slice(), &sealed].concat())
    }

    /// The text, if it was sealed with this key and the same `bound` values.
    pub(super) fn unseal(&self, sealed: &[u8], bound: &[&str]) -> Option<Vec<u8>> {
        let (&format, rest) = sealed.split_first()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE>()?;
        if format != FORMAT {
            return None;
        }
        self.0.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: &bytes(bound) }).ok()
    }
}

/// An unambiguous encoding of the parts.
fn bytes(bound: &[&str]) -> Vec<u8> {
    let mut all = b"portcullis connection\0".to_vec();
    for part in bound {
        all.extend((part.len() as u64).to_le_bytes());
        all.extend(part.as_bytes());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn opens_only_with_the_same_key_and_context() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("connections.key");
        let seal = Seal::open(&file).unwrap();
        let sealed = seal.seal(b"a token", &["key:alice", "github"]).unwrap();
        assert!(!sealed.windows(7).any(|part| part == b"a token"));
        let again = Seal::open(&file).unwrap();
        assert_eq!(again.unseal(&sealed, &["key:alice", "github"]).unwrap(), b"a token");
        for other in [&["key:bob", "github"], &["key:alice", "gitlab"], &["key:aliceg", "ithub"]] {
            assert!(again.unseal(&sealed, other).is_none(), "{other:?}");
        }
        for at in 0..sealed.len() {
            let mut bad = sealed.clone();
            bad[at] ^= 1;
            assert!(again.unseal(&bad, &["key:alice", "github"]).is_none(), "byte {at}");
            assert!(again.unseal(&sealed[..at], &["key:alice", "github"]).is_none(), "cut to {at}");
        }
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Seal::open(&file).is_err());
    }
}
