//! Reads component files.

use super::error::InspectError;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The largest component. Bounds memory and compile time before anything is known about the bytes.
pub const MAX_COMPONENT: u64 = 32 << 20;

/// A component file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a plugin for this host: {error}")]
    Invalid { path: PathBuf, error: InspectError },
}

/// Reads a component from the store. Refuses links and files that another user can write.
pub fn read_stored(path: &Path) -> Result<Vec<u8>, PackageError> {
    let fail = |source| PackageError::Read { path: path.to_owned(), source };
    let wrong = |why: &str| fail(std::io::Error::other(why));
    let folder = path.parent().unwrap_or(path);
    let folder_metadata = std::fs::symlink_metadata(folder).map_err(fail)?;
    if !folder_metadata.is_dir() || folder_metadata.mode() & 0o022 != 0 {
        return Err(wrong("its folder must be a folder that only you can write to (chmod 700), and no link"));
    }
    let link_metadata = std::fs::symlink_metadata(path).map_err(fail)?;
    if !link_metadata.is_file() {
        return Err(wrong("it must be a regular file, and no link; remove it and install the plugin again"));
    }
    if link_metadata.mode() & 0o022 != 0 || link_metadata.uid() != folder_metadata.uid() {
        return Err(wrong("others can write to it; remove it and install the plugin again"));
    }
    read_file(path)
}

/// Reads a component file. Refuses large ones before reading them.
pub fn read_file(path: &Path) -> Result<Vec<u8>, PackageError> {
    let fail = |source| PackageError::Read { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    if !metadata.is_file() {
        return Err(fail(std::io::Error::other("it is not a regular file")));
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
