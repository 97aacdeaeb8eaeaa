//! Whether the file that a database was opened from is still there: what is written into one that was removed is gone with the
//! process, and SQLite does not notice.

use super::error::StorageError;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) struct OpenedFile {
    path: PathBuf,
    identity: (u64, u64),
    is_reported: AtomicBool,
}

impl OpenedFile {
    pub(super) fn new(path: PathBuf) -> Result<Self, StorageError> {
        let identity = identity(&path).ok_or_else(|| StorageError::Removed { path: path.clone() })?;
        Ok(Self { path, identity, is_reported: AtomicBool::new(false) })
    }

    /// That it was removed, or another one has its name. Said once in the log.
    pub(super) fn problem(&self) -> Option<StorageError> {
        if identity(&self.path) == Some(self.identity) {
            return None;
        }
        let error = StorageError::Removed { path: self.path.clone() };
        if !self.is_reported.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "what is kept now ends with the process");
        }
        Some(error)
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}
