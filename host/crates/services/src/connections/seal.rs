//! Credentials at rest: XChaCha20-Poly1305 under a key file that only this user can read. The principal, the connection
//! and the addresses it may be sent to are authenticated with it: a row that is moved to somebody else does not open, nor
//! one whose connection was pointed elsewhere.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use rustix::rand::{GetRandomFlags, getrandom};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// First byte of what is sealed.
const FORMAT: u8 = 1;
/// Bytes of a nonce, which is random for each seal.
const NONCE: usize = 24;

/// Seals and opens.
pub(super) struct Seal(XChaCha20Poly1305);

impl Seal {
    /// With the key in this file, which is made when it is missing.
    pub(super) fn open(file: &Path) -> io::Result<Self> {
        Ok(Self(XChaCha20Poly1305::new(&key(file)?.into())))
    }

    /// Seals a text so that it opens only with the same `bound`.
    pub(super) fn seal(&self, text: &[u8], bound: &[&str]) -> io::Result<Vec<u8>> {
        let nonce = random::<NONCE>()?;
        let payload = Payload { msg: text, aad: &bytes(bound) };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload).map_err(|_| io::Error::other("sealing failed"))?;
        Ok([&[FORMAT], nonce.as_slice(), &sealed].concat())
    }

    /// What was sealed, if it was with this key and the same `bound`.
    pub(super) fn unseal(&self, sealed: &[u8], bound: &[&str]) -> Option<Vec<u8>> {
        let (&format, rest) = sealed.split_first()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE>()?;
        if format != FORMAT {
            return None;
        }
        self.0.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: &bytes(bound) }).ok()
    }
}

/// Parts that cannot be taken for other parts.
fn bytes(bound: &[&str]) -> Vec<u8> {
    let mut all = b"portcullis connection\0".to_vec();
    for part in bound {
        all.extend((part.len() as u64).to_le_bytes());
        all.extend(part.as_bytes());
    }
    all
}

/// Random bytes, or the reason why there are none.
pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

fn key(path: &Path) -> io::Result<[u8; 32]> {
    match fs::read(path) {
        Ok(bytes) => {
            if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
                return Err(io::Error::other("it is readable by others on this machine; chmod 600 it"));
            }
            bytes.try_into().map_err(|_| io::Error::other("it is not 32 bytes; remove it, and connect accounts again"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = random::<32>()?;
            let folder = path.parent().unwrap_or(Path::new("."));
            let mut file =
                tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o600)).tempfile_in(folder)?;
            file.write_all(&key)?;
            file.as_file().sync_all()?;
            match file.persist_noclobber(path) {
                Ok(_) => Ok(key),
                // Another process was first: its key counts.
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => self::key(path),
                Err(error) => Err(error.error),
            }
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_only_what_it_sealed_for_the_same() {
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
