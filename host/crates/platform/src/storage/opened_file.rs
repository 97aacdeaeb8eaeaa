//! Whether the file that a database was opened from still exists. Data that is written into a removed file is lost when the
//! process ends, and SQLite does not notice that.

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

    /// Reports that the file was removed or that another file has its name. It is logged once.
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
