//! The cache of compiled code on disk: written atomically, read as a whole, trusted only with our own MAC.

use hmac::{Hmac, KeyInit, Mac};
use platform::files::{read_or_create_key, replace_file};
use sha2::Sha256;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Length of the MAC before the payload.
const MAC_BYTES: usize = 32;
/// Format of the entries. It is covered by the MAC, so that entries of another format are never trusted.
const FORMAT: &[u8] = b"portcullis compile cache 1\0";

#[derive(Debug, thiserror::Error)]
#[error(
    "the cache folder {path} cannot be used: {source}; set PORTCULLIS_CACHE or server.cache to a folder of your own"
)]
pub struct CacheError {
    path: PathBuf,
    source: io::Error,
}

/// Compiled code that our own compile worker produced.
pub(super) struct TrustedCode(Vec<u8>);

impl TrustedCode {
    /// `bytes` must come directly from the pipe of the compile worker.
    pub(super) fn from_worker(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// One cached component, and what the host found out about it when it was compiled.
pub(super) struct CacheEntry {
    pub(super) code: TrustedCode,
    pub(super) description: Vec<u8>,
}

pub struct CompileCache {
    folder: PathBuf,
    key: [u8; 32],
}

impl CompileCache {
    /// Opens the cache. Creates the folder (accessible to this user only) and its key if they are missing.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        let fail = |source| CacheError { path: folder.to_owned(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail)?;
        let metadata = fs::symlink_metadata(folder).map_err(fail)?;
        if !metadata.is_dir() || metadata.permissions().mode() & 0o022 != 0 {
            return Err(fail(io::Error::other("it must be a folder that only you can write to (chmod 700)")));
        }
        let key = read_or_create_key(&folder.join("key")).map_err(fail)?;
        Ok(Self { folder: folder.to_owned(), key })
    }

    fn path(&self, digest: &str, fingerprint: &str) -> PathBuf {
        self.folder.join(format!("{}-{fingerprint}.bin", digest.replace(':', "-")))
    }

    /// The MAC covers the file name too, so that an entry renamed to another component's name is not trusted.
    fn mac(&self, path: &Path, payload: &[u8]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.key).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.update(FORMAT);
        mac.update(path.file_name().map(|n| n.as_encoded_bytes()).unwrap_or_default());
        mac.update(&[0]);
        mac.update(payload);
        mac
    }

    /// The entry of a component for an engine, if there is one and it is exactly what we wrote.
    pub(super) fn get(&self, digest: &str, fingerprint: &str) -> Option<CacheEntry> {
        let path = self.path(digest, fingerprint);
        let mut bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read a cache entry, compiling again");
                return None;
            }
        };
        let intact = bytes
            .split_at_checked(MAC_BYTES)
            .is_some_and(|(tag, payload)| self.mac(&path, payload).verify_slice(tag).is_ok());
        if !intact {
            tracing::warn!(path = %path.display(), "a cache entry is not what this host wrote, compiling again");
            return None;
        }
        let length = bytes.get(MAC_BYTES..MAC_BYTES + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes)?;
        let code_at = MAC_BYTES + 8 + usize::try_from(length).ok()?;
        let description = bytes.get(MAC_BYTES + 8..code_at)?.to_vec();
        bytes.drain(..code_at);
        Some(CacheEntry { code: TrustedCode(bytes), description })
    }

    /// Writes an entry. A crash at any moment leaves either the old entry or the new one.
    pub(super) fn put(&self, digest: &str, fingerprint: &str, entry: &CacheEntry) -> io::Result<()> {
        let path = self.path(digest, fingerprint);
        let mut bytes = vec![0; MAC_BYTES];
        bytes.extend((entry.description.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&entry.description);
        bytes.extend_from_slice(entry.code.bytes());
        let (tag, payload) = bytes.split_at_mut(MAC_BYTES);
        tag.copy_from_slice(&self.mac(&path, payload).finalize().into_bytes());
        replace_file(&path, &bytes, fs::Permissions::from_mode(0o600))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> CacheEntry {
        CacheEntry { code: TrustedCode(vec![1, 2, 3]), description: b"{}".to_vec() }
    }

    #[test]
    fn an_entry_is_trusted_only_if_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("cache");
        let cache = CompileCache::open(&root).unwrap();
        assert!(cache.get("sha256:aa", "f").is_none());
        cache.put("sha256:aa", "f", &entry()).unwrap();
        let path = cache.path("sha256:aa", "f");
        let read = CompileCache::open(&root).unwrap().get("sha256:aa", "f").unwrap();
        assert_eq!((read.code.bytes(), read.description.as_slice()), (&[1, 2, 3][..], &b"{}"[..]));

        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert!(cache.get("sha256:aa", "f").is_none(), "byte {at}");
        }
        for length in 0..good.len() {
            fs::write(&path, &good[..length]).unwrap();
            assert!(cache.get("sha256:aa", "f").is_none(), "cut to {length}");
        }
        // A valid entry under another component's name.
        fs::write(cache.path("sha256:bb", "f"), &good).unwrap();
        assert!(cache.get("sha256:bb", "f").is_none());
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(CompileCache::open(folder.path()).is_err());
    }
}
