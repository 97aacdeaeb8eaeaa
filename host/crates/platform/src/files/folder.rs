//! Folders that only this user can write to.

use super::owner::check_owner;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Creates the folder if it is missing, accessible to this user only; its name then survives a loss of power. Refuses a folder,
/// or a link to one, that another user has made or that others can write to.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    let is_new = !folder.exists();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if is_new && let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        match File::open(parent) {
            Ok(parent) => parent.sync_all()?,
            // Some parent folders can be written to but not read.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error),
        }
    }
    check_owner(&fs::symlink_metadata(folder)?)?;
    check_owner(&fs::metadata(folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        create_private_folder(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        for (mode, good) in [(0o755, true), (0o720, false), (0o702, false)] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(create_private_folder(&folder).is_ok(), good, "{mode:o}");
        }
    }
}
