//! Replaces files atomically: a reader sees either the old file or the new one.

use super::folder_of;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// The prefix of a file's name while it is being written. A crash may leave such a file behind.
pub const UNFINISHED: &str = ".portcullis-";

/// Creates or replaces a file. The new file is written beside the old one and synced before it gets the name.
pub fn replace_file(path: &Path, bytes: &[u8], permissions: Permissions) -> io::Result<()> {
    let file = write_beside(path, bytes, permissions)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // The rename is durable only after the folder is synced.
    File::open(folder_of(path))?.sync_all()
}

/// Creates or replaces a file that can be made again, and whose reader notices damage. A power failure may leave it empty or
/// damaged.
pub fn replace_cached_file(path: &Path, bytes: &[u8], permissions: Permissions) -> io::Result<()> {
    write_beside(path, bytes, permissions)?.persist(path)?;
    Ok(())
}

fn write_beside(path: &Path, bytes: &[u8], permissions: Permissions) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED).permissions(Permissions::from_mode(0o600));
    let mut file = builder.tempfile_in(folder_of(path))?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(permissions)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_created_and_replaced_with_its_permissions() {
        for replace in [replace_file, replace_cached_file] {
            check(replace);
        }
    }

    fn check(replace: fn(&Path, &[u8], Permissions) -> io::Result<()>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for (text, mode) in [("old", 0o640), ("new", 0o600)] {
            replace(&path, text.as_bytes(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(&folder.path().join("none/a"), b"", Permissions::from_mode(0o600)).is_err());
    }
}
