//! The journal's folder: the file that is written, the closed ones, the head that was noted, and the lock.

use super::line::Head;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The file that is written.
pub(super) const CURRENT: &str = "audit.jsonl";
/// Where the head is noted.
const HEAD: &str = "head";
const LOCK: &str = "lock";

/// A folder of journal files.
#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

/// Held until dropped.
pub(super) struct Locked(#[allow(dead_code, reason = "closing it gives the lock back")] File);

impl Folder {
    /// One that may be there or not.
    pub(super) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Makes it, for its user alone.
    pub(super) fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        if fs::metadata(&self.0)?.permissions().mode() & 0o022 != 0 {
            return Err(io::Error::other("it must be a folder that only you can write to (chmod 700)"));
        }
        Ok(())
    }

    /// Waits until nobody else writes. A process that ends gives the lock back, however it ends.
    pub(super) fn lock(&self) -> io::Result<Locked> {
        let file = private().create(true).truncate(false).write(true).open(self.0.join(LOCK))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(Locked(file))
    }

    /// Waits until nobody writes, for reading; a folder that cannot be locked is nobody's who writes.
    pub(super) fn lock_shared(&self) -> Option<Locked> {
        let file = File::open(self.0.join(LOCK)).ok()?;
        flock(&file, FlockOperation::LockShared).ok()?;
        Some(Locked(file))
    }

    /// The file that is written.
    pub(super) fn current(&self) -> PathBuf {
        self.0.join(CURRENT)
    }

    /// Opens the file that is written, making it when it is missing.
    pub(super) fn open_current(&self) -> io::Result<File> {
        private().create(true).read(true).append(true).open(self.current())
    }

    /// The closed files, oldest first, with their numbers.
    pub(super) fn closed(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("audit-")?.strip_suffix(".jsonl"));
            if let Some(number) = number.and_then(|number| number.parse().ok()) {
                found.push((number, entry.path()));
            }
        }
        found.sort();
        Ok(found)
    }

    /// All files, oldest first; the one that is written last.
    pub(super) fn all(&self) -> io::Result<Vec<PathBuf>> {
        let mut files: Vec<PathBuf> = self.closed()?.into_iter().map(|(_, path)| path).collect();
        if self.current().exists() {
            files.push(self.current());
        }
        Ok(files)
    }

    /// Closes the file that is written.
    pub(super) fn rotate(&self) -> io::Result<()> {
        let next = self.closed()?.last().map_or(1, |(number, _)| number + 1);
        fs::rename(self.current(), self.0.join(format!("audit-{next:06}.jsonl")))?;
        self.sync()
    }

    /// Makes what was renamed or removed last.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }

    /// The head that was noted; none when there is none that can be read.
    pub(super) fn noted(&self) -> Option<Head> {
        fs::read_to_string(self.0.join(HEAD)).ok()?.parse().ok()
    }

    /// Notes the head, all or nothing.
    pub(super) fn note(&self, head: Head) -> io::Result<()> {
        let new = self.0.join("head.new");
        writeln!(private().create(true).truncate(true).write(true).open(&new)?, "{head}")?;
        fs::rename(new, self.0.join(HEAD))
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}
