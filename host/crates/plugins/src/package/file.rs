//! Reads component files.

use super::error::InspectError;
use platform::folder::Folder;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The largest component. Bounds memory and compile time before anything is known about the bytes.
pub const MAX_COMPONENT: u64 = 32 << 20;

/// A component file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is not a plugin for this host: {error}")]
    Invalid { path: PathBuf, error: InspectError },
}

/// Reads a component from the store. Refuses links and files that another user can write.
pub fn read_stored(path: &Path) -> Result<Vec<u8>, PackageError> {
    let fail = |source| PackageError::Read { path: path.to_owned(), source };
    let wrong = |why: &str| fail(io::Error::other(why));
    let (Some(place), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(wrong("it names no file in a folder"));
    };
    let no_folder = || wrong("its folder must be a folder that only you can write to (chmod 700), and no link");
    let folder = Folder::open_own(place).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => fail(error),
        _ => no_folder(),
    })?;
    let folder_access = folder.access().map_err(fail)?;
    if folder_access.mode & 0o022 != 0 {
        return Err(no_folder());
    }
    let Some(file) = folder.open_file(Path::new(name)).map_err(fail)? else {
        return Err(wrong("it must be a regular file, and no link; remove it and install the plugin again"));
    };
    let metadata = file.metadata().map_err(fail)?;
    if metadata.mode() & 0o022 != 0 || metadata.uid() != folder_access.owner {
        return Err(wrong("others can write to it; remove it and install the plugin again"));
    }
    read(file, path)
}

/// Reads the component file that the operator names, wherever links lead. Refuses large ones before reading them.
pub fn read_file(path: &Path) -> Result<Vec<u8>, PackageError> {
    read(std::fs::File::open(path).map_err(|source| PackageError::Read { path: path.to_owned(), source })?, path)
}

fn read(file: File, path: &Path) -> Result<Vec<u8>, PackageError> {
    let fail = |source| PackageError::Read { path: path.to_owned(), source };
    let metadata = file.metadata().map_err(fail)?;
    if !metadata.is_file() {
        return Err(fail(io::Error::other("it is not a regular file")));
    }
    let too_large = |size| PackageError::Invalid {
        path: path.to_owned(),
        error: InspectError::TooLarge { size, limit: MAX_COMPONENT },
    };
    if metadata.len() > MAX_COMPONENT {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // The file may grow while it is read.
    file.take(MAX_COMPONENT + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_COMPONENT {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_stored_component_is_never_read_through_a_link() {
        let base = tempfile::tempdir().unwrap();
        let store = base.path().join("store");
        fs::create_dir(&store).unwrap();
        fs::set_permissions(&store, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(base.path().join("outside"), "outside").unwrap();
        let (stop, path, link) = (AtomicBool::new(false), store.join("component"), store.join("link"));
        fs::write(&path, "inside").unwrap();
        symlink("../outside", &link).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(CWD, &link, CWD, &path, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let outside = (0..2_000).any(|_| read_stored(&path).is_ok_and(|bytes| bytes != b"inside"));
            stop.store(true, Ordering::Relaxed);
            assert!(!outside, "it was a link");
        });
    }
}
