//! Attacks on folders: links, replaced folders, pipes, deep nesting, and changes between a check and its use.

use super::*;
use rustix::fs::{CWD, RenameFlags, mkdirat, openat, renameat_with};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

const NO_LIMIT: u64 = u64::MAX;

fn size(path: &Path) -> u64 {
    Folder::open_own(path).unwrap().size(NO_LIMIT, 4096).unwrap()
}

/// Nests folders, as a guest can: each is created through the descriptor of the one before. Returns the innermost.
fn nest(at: &Path, depth: usize, name: &str) -> OwnedFd {
    let mut folder = OwnedFd::from(fs::File::open(at).unwrap());
    for _ in 0..depth {
        mkdirat(&folder, name, Mode::from_raw_mode(0o700)).unwrap();
        folder = openat(&folder, name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    }
    folder
}

#[test]
fn a_link_is_no_folder_of_the_host_own() {
    let base = tempfile::tempdir().unwrap();
    let (real, link, new) = (base.path().join("real"), base.path().join("link"), base.path().join("a/b"));
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    assert!(Folder::open_own(&link).unwrap_err().to_string().contains("it is a link"));
    assert!(Folder::create_own(&link).unwrap_err().to_string().contains("it is a link"));
    assert!(Folder::open(&link).is_ok() && Folder::open_readable(&link).is_ok(), "the operator may name links");
    assert_eq!(Folder::create_own(&new).unwrap().access().unwrap().mode, 0o700);
    fs::write(base.path().join("file"), "").unwrap();
    assert!(Folder::open_own(&base.path().join("file")).is_err());
}

#[test]
fn a_folder_stays_the_one_that_was_opened() {
    let base = tempfile::tempdir().unwrap();
    let (own, other) = (base.path().join("own"), base.path().join("other"));
    fs::create_dir(&other).unwrap();
    let folder = Folder::create_own(&own).unwrap();
    fs::rename(&own, base.path().join("moved")).unwrap();
    symlink(&other, &own).unwrap();
    folder.create_file(Path::new("new"), 0o600).unwrap();
    folder.rename(Path::new("new"), Path::new("name")).unwrap();
    assert_eq!(folder.names().unwrap(), ["name"]);
    assert!(base.path().join("moved/name").exists() && !other.join("name").exists());
}

#[test]
fn nothing_outside_is_reached_through_a_folder() {
    let base = tempfile::tempdir().unwrap();
    let (own, outside) = (base.path().join("own"), base.path().join("outside"));
    fs::create_dir_all(own.join("inner/deeper")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "secret").unwrap();
    symlink("../outside", own.join("out")).unwrap();
    symlink("inner", own.join("in")).unwrap();
    let folder = Folder::open(&own).unwrap();
    for path in ["out", "../outside", "inner/../../outside", "/", outside.to_str().unwrap()] {
        assert!(folder.open_below(Path::new(path)).is_err(), "{path}");
        assert!(folder.open_file(&Path::new(path).join("file")).is_err(), "{path}");
    }
    assert!(folder.open_below(Path::new("in/deeper")).is_ok(), "a link that stays inside");
}

#[test]
fn only_regular_files_are_opened() {
    let base = tempfile::tempdir().unwrap();
    let folder = Folder::open_own(base.path()).unwrap();
    fs::write(base.path().join("file"), "text").unwrap();
    symlink("file", base.path().join("link")).unwrap();
    fs::create_dir(base.path().join("folder")).unwrap();
    rustix::fs::mkfifoat(CWD, base.path().join("pipe"), Mode::from_raw_mode(0o600)).unwrap();
    assert!(folder.open_file(Path::new("file")).unwrap().is_some());
    for name in ["link", "folder", "pipe"] {
        assert!(folder.open_file(Path::new(name)).unwrap().is_none(), "{name}");
    }
    assert_eq!(folder.open_file(Path::new("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_is_nested_too_deep_to_be_measured_has_no_end() {
    let base = tempfile::tempdir().unwrap();
    let name = "d".repeat(250);
    let innermost = nest(base.path(), 12, &name);
    openat(&innermost, "file", OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o600)).unwrap();
    assert_eq!(size(base.path()), 13 * 4096);
    let base = tempfile::tempdir().unwrap();
    let innermost = nest(base.path(), 20, &name);
    let file = openat(&innermost, "file", OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o600)).unwrap();
    rustix::fs::ftruncate(&file, 1 << 30).unwrap();
    assert_eq!(size(base.path()), u64::MAX, "a path cannot be this long, so its end is hidden from paths");
    Folder::open_own(base.path()).unwrap().remove_all(Path::new(&name)).unwrap();
}

#[test]
fn measuring_stays_inside_while_folders_become_links() {
    let base = tempfile::tempdir().unwrap();
    let (own, outside) = (base.path().join("own"), base.path().join("outside"));
    fs::create_dir_all(own.join("a/b")).unwrap();
    fs::create_dir_all(outside.join("b")).unwrap();
    for file in ["huge", "b/huge"] {
        fs::File::create(outside.join(file)).unwrap().set_len(1 << 40).unwrap();
    }
    symlink("../outside", own.join("link")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, own.join("a"), CWD, own.join("link"), RenameFlags::EXCHANGE).unwrap();
            }
        });
        let most = (0..2_000).map(|_| size(&own)).max().unwrap();
        stop.store(true, Ordering::Relaxed);
        assert!(most < 1 << 40, "measured what is outside: {most}");
    });
}

/// Runs in a child process, in the folder with this file. Without the file it does nothing.
const CHILD: &str = "removes-with-few-descriptors";

#[test]
fn removes_with_few_descriptors() {
    if !Path::new(CHILD).exists() {
        return;
    }
    let few = Rlimit { current: Some(32), maximum: Some(32) };
    setrlimit(Resource::Nofile, few).unwrap();
    Folder::open_own(Path::new(".")).unwrap().remove_all(Path::new("own")).unwrap();
}

#[test]
fn a_folder_of_any_depth_can_be_removed() {
    let (base, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let own = base.path().join("own");
    fs::create_dir_all(own.join("wide/with files")).unwrap();
    fs::write(own.join("wide/with files/file"), "").unwrap();
    fs::write(outside.path().join("file"), "").unwrap();
    symlink(outside.path(), own.join("wide/link")).unwrap();
    nest(&own, 100, "d");
    fs::write(base.path().join(CHILD), "").unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "folder::tests::removes_with_few_descriptors"]).current_dir(base.path());
    let ended = child.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let folder = Folder::open_own(base.path()).unwrap();
    symlink(outside.path(), base.path().join("link")).unwrap();
    folder.remove_all(Path::new("link")).unwrap();
    assert_eq!(folder.names().unwrap(), [CHILD]);
    assert!(outside.path().join("file").exists(), "links are removed, not followed");
    assert!(folder.remove_all(Path::new("none")).is_err());
}

#[test]
fn access_is_that_of_the_descriptor() {
    let base = tempfile::tempdir().unwrap();
    let folder = Folder::open_own(base.path()).unwrap();
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(folder.access().unwrap().mode, 0o777);
    folder.set_mode(0o700).unwrap();
    assert_eq!(folder.access().unwrap(), Folder::open(base.path()).unwrap().access().unwrap());
    assert_eq!(fs::metadata(base.path()).unwrap().permissions().mode() & 0o777, 0o700);
}
