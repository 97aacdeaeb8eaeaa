//! Folders that the host uses: each is opened once by its path, and then checked and used through its descriptor.
//!
//! Granted, scratch and installed folders are opened here and nowhere else. Everything below a folder is reached through it by
//! a relative path, and links that lead out of it are refused. So nothing can change between a check and the use of what was
//! checked.

mod remove;
mod size;

use crate::files::check_access;
use crate::random::random_id;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// An open folder.
#[derive(Debug)]
pub struct Folder(Dir);

impl Folder {
    /// Opens a folder that the operator names. A link is followed: the operator decides where it leads. The folder itself
    /// need not be readable.
    pub fn open(path: &Path) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority()).map(Self)
    }

    /// Like [`Folder::open`], for a folder that will be locked or synced.
    pub fn open_readable(path: &Path) -> io::Result<Self> {
        open(path, OFlags::empty())
    }

    /// Opens a folder that belongs to the host. A link is refused: a person who places one would choose the folder.
    pub fn open_own(path: &Path) -> io::Result<Self> {
        open(path, OFlags::NOFOLLOW).map_err(|error| if path.is_symlink() { is_a_link() } else { error })
    }

    /// Creates a folder of the host if it is missing, accessible to this user only, and opens it.
    pub fn create_own(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Self::open_own(path)
    }

    /// An empty folder in which nothing can ever be created, because it has no name any more. It is made in `place`.
    pub fn nameless(place: &Path) -> io::Result<Self> {
        let path = place.join(format!(".empty-{}", random_id()?));
        DirBuilder::new().mode(0o700).create(&path)?;
        let opened = open(&path, OFlags::NOFOLLOW);
        std::fs::remove_dir(&path)?;
        opened
    }

    /// Opens a folder below this one. Links are followed unless they lead out of this folder.
    pub fn open_below(&self, path: &Path) -> io::Result<Self> {
        self.0.open_dir(path).map(Self)
    }

    /// The permission bits.
    pub fn mode(&self) -> io::Result<u32> {
        Ok(self.0.dir_metadata()?.mode() & 0o7777)
    }

    /// Refuses a folder that somebody else could have filled or could still fill.
    pub fn check_owner(&self) -> io::Result<()> {
        let metadata = self.0.dir_metadata()?;
        check_access(metadata.uid(), metadata.mode())
    }

    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(fchmod(&self.0, Mode::from_raw_mode(mode))?)
    }

    /// Waits for the exclusive lock, and holds it until the folder is closed.
    pub fn lock(&self) -> io::Result<()> {
        Ok(flock(&self.0, FlockOperation::LockExclusive)?)
    }

    /// The names of the entries in this folder.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        self.0.entries()?.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Opens a regular file for reading; `None` if it is something else, such as a link.
    pub fn open_file(&self, name: &Path) -> io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        // Opening a named pipe must not block.
        options.read(true).custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK));
        let file = match self.0.open_with(name, &options) {
            Ok(file) => file.into_std(),
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(file.metadata()?.is_file().then_some(file))
    }

    /// Creates a file for writing, which must not exist.
    pub fn create_file(&self, name: &Path, mode: u32) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        self.0.open_with(name, &options).map(cap_std::fs::File::into_std)
    }

    /// Renames within this folder. Replaces a file that already has the new name.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, &self.0, to)
    }

    pub fn remove_file(&self, name: &Path) -> io::Result<()> {
        self.0.remove_file(name)
    }

    /// Makes new names, renames and removals durable.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.0)?)
    }

    /// The descriptor, for other libraries.
    pub fn into_file(self) -> File {
        self.0.into_std_file()
    }
}

fn open(path: &Path, more: OFlags) -> io::Result<Folder> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).custom_flags(flags(OFlags::DIRECTORY | more));
    options.open(path).map(Dir::from_std_file).map(Folder)
}

/// Options that open a folder for listing, but no link.
fn plain_folder() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags(OFlags::DIRECTORY | OFlags::NOFOLLOW));
    options
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

fn is_a_link() -> io::Error {
    io::Error::other("it is a link; put the folder itself here")
}

#[cfg(test)]
mod tests;
