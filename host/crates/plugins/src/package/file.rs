//! Reads component files.

use super::error::InspectError;
use super::stamp::FileStamp;
use platform::files::check_owner;
use platform::folder::Folder;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The largest component. Bounds memory and compile time before anything is known about the bytes.
pub const MAX_COMPONENT: u64 = 64 << 20;

/// A component file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is not a plugin for this host: {error}")]
    Invalid { path: PathBuf, error: InspectError },
}

/// An open component file, read when its bytes are needed.
pub struct ComponentFile {
    file: File,
    path: PathBuf,
    stamp: FileStamp,
    bytes: Option<Vec<u8>>,
}

impl ComponentFile {
    /// Opens the component file that the operator names. Follows links.
    pub fn open(path: &Path) -> Result<Self, PackageError> {
        let mut options = OpenOptions::new();
        // A named pipe must not block.
        options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        Self::new(options.open(path).map_err(|source| PackageError::Read { path: path.to_owned(), source })?, path)
    }

    /// Opens a component of the store. Refuses links and files that another user can write.
    pub fn open_stored(path: &Path) -> Result<Self, PackageError> {
        let fail = |source| PackageError::Read { path: path.to_owned(), source };
        let wrong = |why: &str| fail(io::Error::other(why));
        let (Some(place), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(wrong("it names no file in a folder"));
        };
        let folder = Folder::open_own(place).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => fail(error),
            _ => wrong("its folder must be a folder, and no link"),
        })?;
        folder.check_owner().map_err(|error| wrong(&format!("its folder: {error}")))?;
        let Some(file) = folder.open_file(Path::new(name)).map_err(fail)? else {
            return Err(wrong("it must be a regular file, and no link; remove it and install the plugin again"));
        };
        let metadata = file.metadata().map_err(fail)?;
        check_owner(&metadata).map_err(|error| wrong(&format!("{error}; or install the plugin again")))?;
        Self::new(file, path)
    }

    fn new(file: File, path: &Path) -> Result<Self, PackageError> {
        let fail = |source| PackageError::Read { path: path.to_owned(), source };
        let metadata = file.metadata().map_err(fail)?;
        if !metadata.is_file() {
            return Err(fail(io::Error::other("it is not a regular file")));
        }
        if metadata.len() > MAX_COMPONENT {
            return Err(too_large(path, metadata.len()));
        }
        let stamp = FileStamp::from_metadata(&metadata);
        Ok(Self { file, path: path.to_owned(), stamp, bytes: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The stamp of the file when it was opened.
    pub fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// The stamp from the opening, if the file still has it after its bytes were read; none if the file changed meanwhile.
    pub fn unchanged_stamp(&self) -> Option<FileStamp> {
        let now = self.file.metadata().ok()?;
        Some(self.stamp).filter(|stamp| *stamp == FileStamp::from_metadata(&now))
    }

    /// Its bytes, read once.
    pub fn bytes(&mut self) -> Result<&[u8], PackageError> {
        let bytes = match self.bytes.take() {
            Some(bytes) => bytes,
            None => self.read()?,
        };
        Ok(self.bytes.insert(bytes))
    }

    fn read(&self) -> Result<Vec<u8>, PackageError> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.stamp.size).unwrap_or(0));
        // The file may grow while it is read.
        let read = (&self.file).take(MAX_COMPONENT + 1).read_to_end(&mut bytes);
        read.map_err(|source| PackageError::Read { path: self.path.clone(), source })?;
        match bytes.len() as u64 {
            size if size > MAX_COMPONENT => Err(too_large(&self.path, size)),
            _ => Ok(bytes),
        }
    }
}

/// Reads a component from the store. Refuses links and files that another user can write.
pub fn read_stored(path: &Path) -> Result<Vec<u8>, PackageError> {
    ComponentFile::open_stored(path)?.read()
}

/// Reads the component file that the operator names. Follows links, and refuses large files before reading them.
pub fn read_file(path: &Path) -> Result<Vec<u8>, PackageError> {
    ComponentFile::open(path)?.read()
}

fn too_large(path: &Path, size: u64) -> PackageError {
    let error = InspectError::TooLarge { size, limit: MAX_COMPONENT };
    PackageError::Invalid { path: path.to_owned(), error }
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
