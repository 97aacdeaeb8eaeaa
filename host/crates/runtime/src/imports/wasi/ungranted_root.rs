//! The directory `/` of a guest that requests files and is granted other directories or none: it is empty, and the host learns
//! what the guest looks for in it.
//!
//! Libraries of guests compare a path with the directories that they were given. If none matches, they report by themselves
//! that there is no such file. Many programs take that for an empty folder, so nobody would learn that something is not
//! granted. With this directory, every path matches one.

use platform::folder::Folder;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::bindings::filesystem::types::Descriptor;
use wasmtime_wasi::{FsPerms, OpenMode};

/// The path of the directory for guests.
pub(super) const PATH: &str = "/";

/// Shared by all guests, since nothing can ever be in it.
static DIRECTORY: OnceLock<Dir> = OnceLock::new();

/// Makes the directory for all guests of this process, below a folder of the host's own.
pub fn make_ungranted_root(place: &Path) -> io::Result<()> {
    if DIRECTORY.get().is_some() {
        return Ok(());
    }
    let folder = Folder::nameless(place)?;
    // A guest has no right to read it, so it can tell it from a directory that was granted.
    DIRECTORY.get_or_init(|| Dir::new(folder.into_file(), FsPerms::ReadOnly, OpenMode::empty(), false));
    Ok(())
}

/// The directory, or none in a process that has not made it.
pub(super) fn directory() -> Option<Dir> {
    DIRECTORY.get().cloned()
}

/// Whether a descriptor is this directory.
pub(super) fn is_root(descriptor: &Descriptor) -> bool {
    let Descriptor::Dir(directory) = descriptor else { return false };
    DIRECTORY.get().is_some_and(|root| Arc::ptr_eq(&directory.dir, &root.dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_in_the_directory() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::nameless(place.path()).unwrap();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "it has no name");
        assert!(folder.names().unwrap().is_empty());
        assert!(folder.create_file(Path::new("x"), 0o600).is_err());
        assert!(folder.open_below(Path::new("..")).is_err() && folder.open_file(Path::new("../x")).is_err());
    }
}
