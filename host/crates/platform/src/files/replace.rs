//! Replaces files atomically: a crash at any moment leaves the old file or the new one.

use super::folder_of;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Creates or replaces a file. The new one is written beside it and synced before it is renamed.
pub fn replace_file(path: &Path, bytes: &[u8], permissions: Permissions) -> io::Result<()> {
    let folder = folder_of(path);
    let mut builder = tempfile::Builder::new();
    // A crash may leave it behind.
    builder.prefix(".portcullis-").permissions(Permissions::from_mode(0o600));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // The rename is durable only when the folder is synced.
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_created_and_replaced_with_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for (text, mode) in [("old", 0o640), ("new", 0o600)] {
            replace_file(&path, text.as_bytes(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace_file(&folder.path().join("none/a"), b"", Permissions::from_mode(0o600)).is_err());
    }
}
