//! Measures the size of a folder's contents while others may change them.

use super::Folder;
use rustix::fs::{AtFlags, Dev, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;

/// Flags to open a folder for listing; a link is not opened.
const PLAIN_FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Folder {
    /// The size of everything below this folder, in bytes; each entry counts as at least `entry`. Stops as soon as the size
    /// exceeds `limit`. Links are counted, but not followed. `None` if a folder was moved meanwhile.
    ///
    /// Each folder is opened from the one above it and left through `..`. So deep nesting costs no descriptors, and no path
    /// becomes too long.
    pub fn size(self, limit: u64, entry: u64) -> io::Result<Option<u64>> {
        let mut size = Size { total: 0, limit, entry };
        let mut here = Dir::new(OwnedFd::from(self.0))?;
        let mut levels = vec![size.add(&mut here)?];
        while let Some(level) = levels.last_mut() {
            if size.total > limit {
                break;
            }
            if let Some(name) = level.folders.pop() {
                let mut below = match openat(here.fd()?, &*name, PLAIN_FOLDER, Mode::empty()) {
                    Ok(below) => Dir::new(below)?,
                    // The folder was removed, or something else has its name now.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                    Err(error) => return Err(error.into()),
                };
                let level = size.add(&mut below)?;
                if !level.folders.is_empty() {
                    here = below;
                    levels.push(level);
                }
                continue;
            }
            levels.pop();
            let Some(above) = levels.last() else { break };
            let up = match openat(here.fd()?, "..", PLAIN_FOLDER, Mode::empty()) {
                Ok(up) => up,
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            // A folder that was moved has another folder above it, which may be outside of the measured one.
            if FolderId::from_stat(&fstat(&up)?) != above.id {
                return Ok(None);
            }
            here = Dir::new(up)?;
        }
        Ok(Some(size.total))
    }
}

/// A folder whose inner folders are being measured.
struct Level {
    id: FolderId,
    /// The inner folders that are not measured yet.
    folders: Vec<CString>,
}

#[derive(PartialEq, Eq)]
struct FolderId {
    device: Dev,
    inode: u64,
}

impl FolderId {
    fn from_stat(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

struct Size {
    total: u64,
    limit: u64,
    entry: u64,
}

impl Size {
    /// Adds the entries of a folder, but not what is below them. An entry that cannot be measured is an error, because it may
    /// be large.
    fn add(&mut self, here: &mut Dir) -> io::Result<Level> {
        let mut level = Level { id: FolderId::from_stat(&fstat(here.fd()?)?), folders: Vec::new() };
        while let Some(found) = here.read() {
            let found = found?;
            let name = found.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let stat = match statat(here.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            // The length includes the holes of a file, because filling them later does not make the file longer.
            let length = u64::try_from(stat.st_size).unwrap_or(0);
            let blocks = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
            self.total = self.total.saturating_add(self.entry.max(length).max(blocks));
            if self.total > self.limit {
                break;
            }
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                level.folders.push(name.to_owned());
            }
        }
        Ok(level)
    }
}
