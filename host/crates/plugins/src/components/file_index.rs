//! Remembers the digests of component files by their stamps, so that a start does not read unchanged files. An entry can only
//! choose among code that the cache has under its own digest: whatever the index says, the code that runs was verified.

use crate::package::{ComponentFile, Digest, FileStamp, PackageError};
use platform::clock::Clock;
use runtime::engine::Compiler;
use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

#[derive(Serialize, Deserialize)]
struct IndexEntry {
    stamp: FileStamp,
    digest: Digest,
}

/// The digest that a file had when it had the stamp that it has now.
pub(super) fn find(compiler: &Compiler, file: &ComponentFile) -> Option<Digest> {
    let entry: IndexEntry = serde_json::from_slice(&compiler.note(&entry_name(file.path()))?).ok()?;
    (entry.stamp == file.stamp()).then_some(entry.digest)
}

/// Reads a file and remembers its digest, unless the file can still change without getting another stamp.
pub(super) fn hash(compiler: &Compiler, clock: &dyn Clock, file: &mut ComponentFile) -> Result<Digest, PackageError> {
    let digest = Digest::sha256(file.bytes()?);
    if let Some(stamp) = file.unchanged_stamp().filter(|stamp| stamp.is_settled(clock.unix())) {
        let entry = IndexEntry { stamp, digest: digest.clone() };
        match serde_json::to_vec(&entry) {
            Ok(entry) => compiler.save_note(&entry_name(file.path()), &entry),
            Err(error) => tracing::warn!(%error, "cannot remember the digest of a component"),
        }
    }
    Ok(digest)
}

fn entry_name(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    format!("file-{}", Digest::sha256(absolute.as_os_str().as_bytes()))
}
