//! Measures what a folder holds while others may change it.

use super::{Folder, plain_folder};
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

impl Folder {
    /// The size of everything below it, in bytes; each entry counts as `entry` at least. Stops as soon as it exceeds
    /// `limit`. Links are counted, not followed.
    ///
    /// What is nested too deep to be opened by one path counts as without end.
    pub fn size(self, limit: u64, entry: u64) -> io::Result<u64> {
        let mut total: u64 = 0;
        let mut pending: Vec<(Rc<Path>, Box<OsStr>)> = Vec::new();
        // One descriptor for this folder and one for the folder being listed, however many there are.
        let mut root: Option<Dir> = None;
        let mut path: Rc<Path> = Rc::from(Path::new(""));
        let mut listing = rustix::fs::Dir::new(OwnedFd::from(self.0))?;
        loop {
            while let Some(found) = listing.read() {
                let found = found?;
                let name = OsStr::from_bytes(found.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                let Ok(stat) = statat(listing.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                // The length counts the holes of a file too: filling them later does not make it longer.
                let length = u64::try_from(stat.st_size).unwrap_or(0);
                let blocks = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
                total = total.saturating_add(entry.max(length).max(blocks));
                if total > limit {
                    return Ok(total);
                }
                if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                    pending.push((path.clone(), name.into()));
                }
            }
            if pending.is_empty() {
                return Ok(total);
            }
            let root = match &root {
                Some(root) => root,
                None => root.insert(Dir::from_std_file(listing.fd()?.try_clone_to_owned()?.into())),
            };
            listing = loop {
                let Some((parent, name)) = pending.pop() else { return Ok(total) };
                let below = parent.join(&*name);
                match open_listing(root, &below) {
                    Ok(Some(listing)) => {
                        path = below.into();
                        break listing;
                    }
                    Ok(None) => {}
                    Err(error) if error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error()) => {
                        return Ok(u64::MAX);
                    }
                    Err(error) => return Err(error),
                }
            };
        }
    }
}

/// `None` if it is gone, is no folder any more, leads out, or cannot be read: that is not the fault of who measures.
fn open_listing(root: &Dir, path: &Path) -> io::Result<Option<rustix::fs::Dir>> {
    match root.open_with(path, &plain_folder()) {
        Ok(folder) => Ok(Some(rustix::fs::Dir::new(OwnedFd::from(folder.into_std()))?)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied => Ok(None),
            _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(None),
            _ => Err(error),
        },
    }
}
