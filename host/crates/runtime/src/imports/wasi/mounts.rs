//! The directories of one call.
//!
//! The host opens them itself, because wasmtime-wasi takes only a path, and would follow links in it that a guest may have
//! made.

use platform::folder::Folder;
use policy::{Access, Authority, Mount, MountOpening};
use std::io;
use std::path::PathBuf;
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::{FsPerms, OpenMode};

/// A granted directory that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("the granted directory {path} cannot be opened: {reason}; make it, or correct `host` in grants.filesystem")]
pub struct MountError {
    path: PathBuf,
    reason: io::Error,
}

/// Opens the directories that are there now, each with its path in the guest.
pub(super) fn open_mounts(authority: &Authority) -> Result<Vec<(Dir, String)>, MountError> {
    let mount = |mount: &Mount| {
        let folder = open(mount).map_err(|reason| MountError { path: mount.host.clone(), reason })?;
        let (perms, mode) = match mount.access {
            Access::Read => (FsPerms::ReadOnly, OpenMode::READ),
            Access::Write => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
        };
        Ok((Dir::new(folder.into_file(), perms, mode, false), mount.guest.clone()))
    };
    authority.mounts().iter().map(mount).collect()
}

/// Checks that all directories can be opened, so that a missing one is found before the first call.
pub fn check_mounts(authority: &Authority) -> Result<(), MountError> {
    open_mounts(authority).map(drop)
}

fn open(mount: &Mount) -> io::Result<Folder> {
    match &mount.opening {
        MountOpening::ByPath => Folder::open(&mount.host),
        MountOpening::Within(outer) => {
            let below = mount.host.strip_prefix(outer).map_err(io::Error::other)?;
            Folder::open(outer)?.open_below(below)
        }
        MountOpening::Own => Folder::open_own(&mount.host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn opens(host: &Path, opening: MountOpening) -> bool {
        open(&Mount { host: host.to_owned(), guest: "/g".into(), access: Access::Write, opening }).is_ok()
    }

    #[test]
    fn a_link_in_place_of_a_directory_of_the_host_own_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let (real, link) = (base.path().join("real"), base.path().join("link"));
        fs::create_dir(&real).unwrap();
        symlink("real", &link).unwrap();
        assert!(opens(&real, MountOpening::Own) && !opens(&link, MountOpening::Own));
        assert!(opens(&link, MountOpening::ByPath), "the operator may name a link");
    }

    #[test]
    fn a_directory_within_another_is_not_opened_outside_of_that() {
        let base = tempfile::tempdir().unwrap();
        let (outer, inner) = (base.path().join("outer"), base.path().join("outer/a/inner"));
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir_all(base.path().join("outside/inner")).unwrap();
        let within = || MountOpening::Within(outer.clone());
        assert!(opens(&inner, within()));
        fs::rename(outer.join("a"), outer.join("b")).unwrap();
        for target in ["../outside", "..", "/"] {
            symlink(target, outer.join("a")).unwrap();
            assert!(!opens(&inner, within()), "{target}");
            fs::remove_file(outer.join("a")).unwrap();
        }
        symlink("b", outer.join("a")).unwrap();
        assert!(opens(&inner, within()), "a link that stays inside");
        assert!(!opens(&base.path().join("outside"), within()));
    }
}
