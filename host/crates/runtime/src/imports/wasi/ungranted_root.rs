//! The directory `/` of a guest that requests files and is granted other directories or none: empty, and the host hears what is
//! looked for in it.
//!
//! Libraries of guests compare a path with the directories that they were given. Where none fits, they say themselves that there is
//! no such file, and many programs take that for an empty folder: nobody would learn that something is not granted. With this
//! directory every path fits one.

use super::files::WasiHost;
use platform::folder::Folder;
use policy::Access;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Dir, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, ErrorCode};
use wasmtime_wasi::{FsPerms, OpenMode};

/// Where it is for guests.
pub(super) const PATH: &str = "/";

/// Different paths of one call that are recorded. Bounds what a guest makes the host keep.
const MAX_PATHS: usize = 32;
/// Bytes of a path that are kept.
const MAX_PATH: usize = 512;

/// What libraries look for wherever they run, with what is below. Some names are where componentize-py had the
/// modules of a plugin in Python: `python`, `world`, `bundled` and numbers. An import and a traceback look there.
const LOOKED_FOR_BY_LIBRARIES: [&str; 24] = [
    "0",
    "1",
    "2",
    "bundled",
    "dev",
    "etc/apache",
    "etc/apache2",
    "etc/gitconfig",
    "etc/hosts",
    "etc/httpd",
    "etc/localtime",
    "etc/mime.types",
    "etc/nsswitch.conf",
    "etc/resolv.conf",
    "etc/services",
    "etc/ssl",
    "etc/timezone",
    "etc/zoneinfo",
    "proc",
    "python",
    "usr/lib/zoneinfo",
    "usr/local",
    "usr/share",
    "world",
];

/// Shared by all guests, since nothing can ever be in it.
static DIRECTORY: OnceLock<Dir> = OnceLock::new();

/// Makes the directory for all guests of this process, below a folder of the host's own.
pub fn make_ungranted_root(place: &Path) -> io::Result<()> {
    let folder = Folder::nameless(place)?;
    // Without a right to read it, a guest can tell it from a directory that was granted.
    DIRECTORY.get_or_init(|| Dir::new(folder.into_file(), FsPerms::ReadOnly, OpenMode::empty(), false));
    Ok(())
}

/// None in a process that has not made it.
pub(super) fn directory() -> Option<Dir> {
    DIRECTORY.get().cloned()
}

/// Paths that a call has looked for outside of its directories.
#[derive(Debug, Default)]
pub struct UngrantedPaths(BTreeMap<String, Access>);

impl UngrantedPaths {
    /// Returns whether it is new.
    pub(super) fn add(&mut self, path: &str, access: Access) -> bool {
        if path.len() > MAX_PATH || self.0.len() >= MAX_PATHS {
            return false;
        }
        let known = self.0.get(path).copied();
        self.0.insert(path.to_owned(), known.map_or(access, |known| known.max(access)));
        known.is_none()
    }

    pub fn contains(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    fn iter(&self) -> impl Iterator<Item = (&str, Access)> {
        self.0.iter().map(|(path, access)| (path.as_str(), *access))
    }

    /// Without those that are below another one, which has the highest access of them.
    pub fn topmost(&self) -> Vec<(&str, Access)> {
        let mut all: Vec<(&str, Access)> = Vec::new();
        for (path, access) in self.iter() {
            match all.iter_mut().find(|(above, _)| is_below(path, above)) {
                Some((_, most)) => *most = access.max(*most),
                None => all.push((path, access)),
            }
        }
        all
    }
}

fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/') || above.ends_with('/'))
}

/// The refusal of a path of this directory, which is outside of all that the guest is granted; none for a path of another one. It
/// is recorded, once the guest's call has begun. `path` is as the guest named it there.
pub(super) fn refuse<T: WasiHost>(data: &mut T, directory: u32, path: &str, access: Access) -> Option<ErrorCode> {
    if !has_root(data, directory) {
        return None;
    }
    if is_looked_for_by_libraries(path) {
        return Some(ErrorCode::NoEntry);
    }
    let full = format!("{PATH}{}", if path == "." { "" } else { path });
    data.record_ungranted_path(&full, access);
    // As for a link that leads out of a granted directory.
    Some(ErrorCode::NotPermitted)
}

/// Whether a descriptor is this directory.
pub(super) fn is_root(descriptor: &Descriptor) -> bool {
    let Descriptor::Dir(directory) = descriptor else { return false };
    DIRECTORY.get().is_some_and(|root| Arc::ptr_eq(&directory.dir, &root.dir))
}

/// The same for the number of a descriptor.
pub(super) fn has_root<T: WasiHost>(data: &mut T, descriptor: u32) -> bool {
    data.filesystem().table.get(&Resource::<Descriptor>::new_borrow(descriptor)).is_ok_and(is_root)
}

/// Whether libraries look for this path wherever they run, and do without. Many go on only if there is no such file, and not if it
/// is refused. That the path is looked for says nothing of their program.
fn is_looked_for_by_libraries(path: &str) -> bool {
    let is_setting = path.starts_with('.') && path.len() > 1 && !path.starts_with("..");
    is_setting || LOOKED_FOR_BY_LIBRARIES.iter().any(|known| path == *known || is_below(path, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kept_once_and_bounded() {
        let mut paths = UngrantedPaths::default();
        assert!(paths.add("/a/b", Access::Read) && paths.add("/a", Access::Read) && paths.add("/ab", Access::Read));
        assert!(!paths.add("/a/b", Access::Write), "it is known");
        assert_eq!(paths.topmost(), [("/a", Access::Write), ("/ab", Access::Read)]);
        assert!(!paths.add(&"x".repeat(MAX_PATH + 1), Access::Read));
        let new = (0..100).filter(|number| paths.add(&format!("/{number}"), Access::Read)).count();
        assert_eq!(new, MAX_PATHS - 3);
    }

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
