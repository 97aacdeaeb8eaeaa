//! The cache on disk: compiled code, and notes about components. Entries are written atomically, read as a whole, and
//! trusted only with our own MAC.

use super::cache_pruning::{mark_used, prune};
use hmac::{Hmac, KeyInit, Mac};
use platform::clock::{Clock as _, SystemClock};
use platform::files::{create_private_folder, read_or_create_key, replace_cached_file};
use sha2::Sha256;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Length of the MAC before the payload.
const MAC_BYTES: usize = 32;
/// Format of the entries. It is covered by the MAC, so that entries of another format are never trusted.
const FORMAT: &[u8] = b"portcullis compile cache 2\0";

#[derive(Debug, thiserror::Error)]
#[error(
    "the cache folder {path} cannot be used: {reason}; set PORTCULLIS_CACHE or server.cache to a folder of your own"
)]
pub struct CacheError {
    path: PathBuf,
    reason: io::Error,
}

/// Compiled code that our own compile worker produced.
pub(super) struct TrustedCode {
    bytes: Vec<u8>,
    /// Where the code begins.
    start: usize,
}

impl TrustedCode {
    /// `bytes` must come directly from the pipe of the compile worker.
    pub(super) fn from_worker(bytes: Vec<u8>) -> Self {
        Self { bytes, start: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Replaces the image of a guest's memory, which is data. `place` must be where the compiler has put one. False if `place`
    /// is not within the code or has another length than `image`.
    pub(super) fn replace_image(&mut self, place: &Range<usize>, image: &[u8]) -> bool {
        let found = self.bytes.get_mut(self.start..).and_then(|code| code.get_mut(place.clone()));
        let Some(found) = found.filter(|found| found.len() == image.len()) else { return false };
        found.copy_from_slice(image);
        true
    }
}

#[derive(Clone)]
pub struct CompileCache {
    folder: PathBuf,
    key: [u8; 32],
}

impl CompileCache {
    /// Opens the cache. Creates the folder (accessible to this user only) and its key if they are missing.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        let fail = |reason| CacheError { path: folder.to_owned(), reason };
        create_private_folder(folder).map_err(fail)?;
        let key = read_or_create_key(&folder.join("key")).map_err(fail)?;
        Ok(Self { folder: folder.to_owned(), key })
    }

    /// Removes entries that nobody has used for a long time. Blocks the thread.
    pub fn prune(&self) {
        match prune(&self.folder, SystemClock.wall()) {
            Ok(0) => {}
            Ok(removed) => tracing::debug!(removed, "entries of the cache that nobody has used for long are removed"),
            Err(error) => tracing::warn!(%error, "old entries of the cache cannot be removed"),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that is locked while a process compiles a component for an engine.
    pub(super) fn lock_path(&self, digest: &str, fingerprint: &str) -> PathBuf {
        self.path(&format!("{digest}-{fingerprint}"), "lock")
    }

    fn code_path(&self, digest: &str, fingerprint: &str) -> PathBuf {
        self.path(&format!("{digest}-{fingerprint}"), "bin")
    }

    fn path(&self, name: &str, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")))
    }

    /// The MAC covers the file name too, so that an entry renamed to another one's name is not trusted.
    fn mac(&self, path: &Path, payload: &[u8]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.key).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.update(FORMAT);
        mac.update(path.file_name().map(|n| n.as_encoded_bytes()).unwrap_or_default());
        mac.update(&[0]);
        mac.update(payload);
        mac
    }

    /// Whether there is code of a component for an engine. It may still be damaged.
    pub(super) fn has_code(&self, digest: &str, fingerprint: &str) -> bool {
        self.code_path(digest, fingerprint).is_file()
    }

    /// The code of a component for an engine, if there is any and it is exactly what we wrote.
    pub(super) fn code(&self, digest: &str, fingerprint: &str) -> Option<TrustedCode> {
        let bytes = self.read(&self.code_path(digest, fingerprint))?;
        Some(TrustedCode { bytes, start: MAC_BYTES })
    }

    pub(super) fn put_code(&self, digest: &str, fingerprint: &str, code: &TrustedCode) -> io::Result<()> {
        self.write(&self.code_path(digest, fingerprint), code.bytes())
    }

    /// What was noted under this name, if it is exactly what we wrote.
    pub(super) fn note(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = self.read(&self.path(name, "note"))?;
        bytes.drain(..MAC_BYTES);
        Some(bytes)
    }

    pub(super) fn put_note(&self, name: &str, note: &[u8]) -> io::Result<()> {
        self.write(&self.path(name, "note"), note)
    }

    /// The bytes of an entry, including its MAC, if the MAC is valid.
    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let read = || {
            let mut file = File::open(path)?;
            let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or_default());
            file.read_to_end(&mut bytes)?;
            // If this fails, the entry may be removed as unused, and is made again then.
            let _ = mark_used(&file, SystemClock.wall());
            Ok::<_, io::Error>(bytes)
        };
        let bytes = match read() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read a cache entry, making it again");
                return None;
            }
        };
        let intact = bytes
            .split_at_checked(MAC_BYTES)
            .is_some_and(|(tag, payload)| self.mac(path, payload).verify_slice(tag).is_ok());
        if !intact {
            tracing::warn!(path = %path.display(), "a cache entry is not what this host wrote, making it again");
        }
        intact.then_some(bytes)
    }

    /// Writes an entry. A crash at any moment leaves the old entry, the new one, or one that is not trusted.
    fn write(&self, path: &Path, payload: &[u8]) -> io::Result<()> {
        let mut bytes = self.mac(path, payload).finalize().into_bytes().to_vec();
        bytes.extend_from_slice(payload);
        replace_cached_file(path, &bytes, fs::Permissions::from_mode(0o600))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_trusted_only_if_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("cache");
        let cache = CompileCache::open(&root).unwrap();
        let code = |digest| cache.code(digest, "f");
        assert!(code("sha256:aa").is_none() && !cache.has_code("sha256:aa", "f"));
        cache.put_code("sha256:aa", "f", &TrustedCode::from_worker(vec![1, 2, 3])).unwrap();
        assert!(cache.has_code("sha256:aa", "f") && !cache.has_code("sha256:aa", "g"));
        let path = cache.code_path("sha256:aa", "f");
        let read = CompileCache::open(&root).unwrap().code("sha256:aa", "f").unwrap();
        assert_eq!(read.bytes(), [1, 2, 3]);

        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert!(code("sha256:aa").is_none(), "byte {at}");
        }
        for length in 0..good.len() {
            fs::write(&path, &good[..length]).unwrap();
            assert!(code("sha256:aa").is_none(), "cut to {length}");
        }
        // A valid entry under another component's name.
        fs::write(cache.code_path("sha256:bb", "f"), &good).unwrap();
        assert!(code("sha256:bb").is_none());
    }

    #[test]
    fn a_note_is_no_code() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(&folder.path().join("cache")).unwrap();
        cache.put_note("sha256:aa-f", b"a note").unwrap();
        assert_eq!(cache.note("sha256:aa-f").as_deref(), Some(&b"a note"[..]));
        fs::copy(cache.path("sha256:aa-f", "note"), cache.code_path("sha256:aa", "f")).unwrap();
        assert!(cache.code("sha256:aa", "f").is_none(), "the MAC covers the name");
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(CompileCache::open(folder.path()).is_err());
    }
}
