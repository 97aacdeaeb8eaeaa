//! The log's folder: the current file, closed files, the archive, the noted head and the lock.

use super::line::Head;
use crate::files::create_private_folder;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The current file.
pub(super) const CURRENT: &str = "audit.jsonl";
/// The file that holds the noted head.
const HEAD: &str = "head";
const LOCK: &str = "lock";
/// The file with the records that are kept from removed files.
const ARCHIVE: &str = "archive.jsonl";

/// A folder of log files.
#[derive(Debug, Clone)]
pub(super) struct AuditFolder {
    path: PathBuf,
    current: PathBuf,
    lock: PathBuf,
    head: PathBuf,
    /// The new file with the head, until it replaces the old one.
    new_head: PathBuf,
    archive: PathBuf,
    /// The new archive, until the record with its hash is written.
    new_archive: PathBuf,
}

pub(super) struct LockGuard(#[allow(dead_code, reason = "closing it gives the lock back")] File);

impl AuditFolder {
    /// The folder need not exist.
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            current: path.join(CURRENT),
            lock: path.join(LOCK),
            head: path.join(HEAD),
            new_head: path.join("head.new"),
            archive: path.join(ARCHIVE),
            new_archive: path.join("archive.new"),
        }
    }

    /// Creates the folder, accessible only to its user.
    pub(super) fn create(&self) -> io::Result<()> {
        create_private_folder(&self.path)
    }

    /// Waits for the exclusive lock. The system releases it when the process ends.
    pub(super) fn lock(&self) -> io::Result<LockGuard> {
        let file = private().create(true).truncate(false).write(true).open(&self.lock)?;
        file.lock()?;
        Ok(LockGuard(file))
    }

    /// Waits for a shared lock, for reading; `None` if there is no lock file or it cannot be locked.
    pub(super) fn lock_shared(&self) -> Option<LockGuard> {
        let file = File::open(&self.lock).ok()?;
        file.lock_shared().ok()?;
        Some(LockGuard(file))
    }

    /// The current file.
    pub(super) fn current(&self) -> &Path {
        &self.current
    }

    /// Opens the current file, creating it if it is missing.
    pub(super) fn open_current(&self) -> io::Result<File> {
        private().create(true).read(true).append(true).open(self.current())
    }

    /// The closed files, oldest first, with their numbers.
    pub(super) fn closed(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path)? {
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

    pub(super) fn archive(&self) -> &Path {
        &self.archive
    }

    pub(super) fn new_archive(&self) -> &Path {
        &self.new_archive
    }

    /// Creates an empty file for a new archive.
    pub(super) fn create_archive(&self) -> io::Result<File> {
        private().create(true).truncate(true).read(true).write(true).open(&self.new_archive)
    }

    /// All files with records, oldest first: the archive, then the chain.
    pub(super) fn all(&self) -> io::Result<Vec<PathBuf>> {
        let archive = self.archive.exists().then(|| self.archive.clone());
        Ok(archive.into_iter().chain(self.chain()?).collect())
    }

    /// The files of the chain, oldest first; the current file last.
    pub(super) fn chain(&self) -> io::Result<Vec<PathBuf>> {
        let mut files: Vec<PathBuf> = self.closed()?.into_iter().map(|(_, path)| path).collect();
        if self.current().exists() {
            files.push(self.current.clone());
        }
        Ok(files)
    }

    /// Closes the current file.
    pub(super) fn rotate(&self) -> io::Result<()> {
        let next = self.closed()?.last().map_or(1, |(number, _)| number + 1);
        fs::rename(self.current(), self.path.join(format!("audit-{next:06}.jsonl")))?;
        self.sync()
    }

    /// Makes renames and removals durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    /// The noted head; `None` if it is missing or cannot be parsed.
    pub(super) fn noted(&self) -> Option<Head> {
        fs::read_to_string(&self.head).ok()?.parse().ok()
    }

    /// Notes the head atomically.
    pub(super) fn note(&self, head: Head) -> io::Result<()> {
        writeln!(private().create(true).truncate(true).write(true).open(&self.new_head)?, "{head}")?;
        fs::rename(&self.new_head, &self.head)
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}
