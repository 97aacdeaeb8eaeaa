//! Removes a folder with everything in it, however deep it is nested.

use super::Folder;
use crate::random::random_bytes;
use cap_std::fs::Dir;
use std::io;
use std::path::Path;

impl Folder {
    /// Removes the entry of this name: a folder with everything below it, or the file or link itself.
    ///
    /// Inner folders are first moved up to the top level, so that a guest that nested them deeply can exhaust neither the
    /// descriptors nor the stack.
    pub fn remove_all(&self, name: &Path) -> io::Result<()> {
        if !self.0.symlink_metadata(name)?.is_dir() {
            return self.0.remove_file(name);
        }
        let top = self.open_plain(name)?;
        // These names are random, so whoever filled the folder cannot have used them.
        let (unique, mut moved) = (u64::from_ne_bytes(random_bytes()?), 0_u64);
        loop {
            let mut folders = 0;
            for entry in top.0.entries()? {
                let entry = entry?;
                if !entry.metadata()?.is_dir() {
                    entry.remove_file()?;
                    continue;
                }
                folders += 1;
                let below = top.open_plain(Path::new(&entry.file_name()))?;
                for inner in below.0.entries()? {
                    let inner = inner?;
                    if inner.metadata()?.is_dir() {
                        moved += 1;
                        below.0.rename(inner.file_name(), &top.0, format!("{unique:x}-{moved}"))?;
                    } else {
                        inner.remove_file()?;
                    }
                }
                entry.remove_dir()?;
            }
            if folders == 0 {
                return self.0.remove_dir(name);
            }
        }
    }

    /// Opens a folder by its name, but no link.
    fn open_plain(&self, name: &Path) -> io::Result<Self> {
        let file = self.0.open_with(name, &super::plain_folder())?;
        Ok(Self(Dir::from_std_file(file.into_std())))
    }
}
