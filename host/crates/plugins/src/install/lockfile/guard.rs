//! Exclusive access to a lock file, for commands that change it.

use super::document::{Lockfile, LockfileError};
use super::read::split;
use crate::install::atomic_file::{self, WriteStep};
use platform::folder::Folder;
use std::ops::{Deref, DerefMut};
use std::path::Path;

/// An exclusively locked lock file: no other process changes it until this is dropped.
pub struct LockfileGuard {
    lock: Lockfile,
    /// The folder is locked, because the file itself is replaced, and a separate lock file would be left behind.
    folder: Folder,
}

impl LockfileGuard {
    /// Waits for the lock, then reads the file. Blocks.
    pub fn load(path: &Path) -> Result<Self, LockfileError> {
        let fail = |reason: String| LockfileError { path: path.to_owned(), reason };
        let (place, _) = split(path).map_err(fail)?;
        let open = Folder::open_readable(place).and_then(|folder| {
            folder.lock()?;
            Ok(folder)
        });
        let folder = open.map_err(|error| fail(format!("its folder {} cannot be locked: {error}", place.display())))?;
        Ok(Self { lock: Lockfile::load_from(&folder, path)?, folder })
    }

    /// Replaces the file atomically.
    pub fn save(&self) -> Result<(), LockfileError> {
        let fail = |reason: String| LockfileError { path: self.path().to_owned(), reason };
        let text = self.to_text().map_err(|error| fail(error.to_string()))?;
        // Never write a file that could not be read again.
        Lockfile::parse(&text, self.path())?;
        let (_, name) = split(self.path()).map_err(fail)?;
        let (written, renamed) = (WriteStep::LockfileWritten, WriteStep::LockfileRenamed);
        atomic_file::replace(&self.folder, name, text.as_bytes(), 0o644, written, renamed)
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
