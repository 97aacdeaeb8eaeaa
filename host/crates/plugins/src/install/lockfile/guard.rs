//! Exclusive access to a lock file, for commands that change it.

use super::document::{Lockfile, LockfileError};
use crate::install::atomic_file::{self, CrashPoint};
use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::path::Path;

/// An exclusively locked lock file: no other process changes it until this is dropped.
pub struct LockfileGuard {
    lock: Lockfile,
    _guard: File,
}

impl LockfileGuard {
    /// Waits for the lock, then reads the file. Blocks.
    pub fn load(path: &Path) -> Result<Self, LockfileError> {
        let fail = |reason: String| LockfileError { path: path.to_owned(), reason };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // The folder is locked because the file itself is replaced, and a separate lock would be left behind.
        let open = File::open(folder).and_then(|guard| {
            guard.lock()?;
            Ok(guard)
        });
        let guard = open.map_err(|error| fail(format!("its folder {} cannot be locked: {error}", folder.display())))?;
        Ok(Self { lock: Lockfile::load(path)?, _guard: guard })
    }

    /// Replaces the file atomically.
    pub fn save(&self) -> Result<(), LockfileError> {
        let fail = |reason: String| LockfileError { path: self.path().to_owned(), reason };
        let text = self.to_text().map_err(|error| fail(error.to_string()))?;
        // Never write a file that could not be read again.
        Lockfile::parse(&text, self.path())?;
        atomic_file::replace(
            self.path(),
            text.as_bytes(),
            0o644,
            CrashPoint::LockfileWritten,
            CrashPoint::LockfileRenamed,
        )
        .map_err(|error| fail(format!("cannot write it: {error}")))
    }
}

impl Deref for LockfileGuard {
    type Target = Lockfile;

    fn deref(&self) -> &Lockfile {
        &self.lock
    }
}

impl DerefMut for LockfileGuard {
    fn deref_mut(&mut self) -> &mut Lockfile {
        &mut self.lock
    }
}
