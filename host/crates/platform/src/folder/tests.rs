//! Attacks on folders: links, replaced folders, pipes, deep nesting, and changes between a check and its use.

use super::*;
use rustix::fs::{CWD, RenameFlags, mkdirat, openat, renameat_with};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

const NO_LIMIT: u64 = u64::MAX;

/// The size; `None` if something was moved meanwhile.
fn try_size(path: &Path) -> Option<u64> {
    Folder::open_own(path).unwrap().size(NO_LIMIT, 4096).unwrap()
}

fn size(path: &Path) -> u64 {
    try_size(path).unwrap()
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
    assert_eq!(Folder::create_own(&new).unwrap().mode().unwrap(), 0o700);
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
fn what_no_path_can_name_is_measured() {
    let base = tempfile::tempdir().unwrap();
    let name = "d".repeat(250);
    // The path of the innermost folder has 10,000 bytes, and the kernel accepts 4,096.
    let innermost = nest(base.path(), 40, &name);
    assert_eq!(size(base.path()), 40 * 4096);
    let file = openat(&innermost, "file", OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o600)).unwrap();
    rustix::fs::ftruncate(&file, 1 << 30).unwrap();
    // A sibling, which is found on the way back.
    fs::create_dir_all(base.path().join(&name).join("sibling/below")).unwrap();
    assert_eq!(size(base.path()), (40 + 2) * 4096 + (1 << 30));
    let limited = Folder::open_own(base.path()).unwrap().size(1 << 20, 4096).unwrap();
    assert!(limited > Some(1 << 20), "{limited:?}");
    Folder::open_own(base.path()).unwrap().remove_all(Path::new(&name)).unwrap();
}

/// Runs in a child process, in a folder with this file. Without the file it does nothing.
const UNREADABLE: &str = "measures-what-it-cannot-read";

#[test]
fn measures_what_it_cannot_read() {
    if Path::new(UNREADABLE).exists() {
        let error = Folder::open_own(Path::new(".")).unwrap().size(NO_LIMIT, 4096).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}

#[test]
fn what_cannot_be_measured_is_an_error() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("folder");
    fs::create_dir(&folder).unwrap();
    fs::File::create(folder.join("file")).unwrap().set_len(1 << 30).unwrap();
    fs::write(base.path().join(UNREADABLE), "").unwrap();
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // With the first mode, the folder cannot be listed. With the second, only its names can be read.
    for mode in [0o000, 0o444] {
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "folder::tests::measures_what_it_cannot_read"]).current_dir(base.path());
        if rustix::process::geteuid().is_root() {
            // Root can read everything, so the child runs as another user (`nobody`).
            child.uid(65534).gid(65534);
        }
        match child.output() {
            Ok(ended) => assert!(ended.status.success(), "{mode:o}: {ended:?}"),
            Err(error) => eprintln!("skipped: another user cannot run this program: {error}"),
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    assert_eq!(size(base.path()), 4096 + 4096 + (1 << 30));
}

#[test]
fn measuring_stays_inside_while_folders_become_links() {
    let base = tempfile::tempdir().unwrap();
    let (own, outside) = (base.path().join("own"), base.path().join("outside"));
    fs::create_dir_all(own.join("a/b/c")).unwrap();
    fs::create_dir_all(outside.join("b/c")).unwrap();
    for file in ["huge", "b/huge"] {
        fs::File::create(outside.join(file)).unwrap().set_len(1 << 40).unwrap();
    }
    symlink("../outside", own.join("link")).unwrap();
    while_exchanging(&own.join("a"), &own.join("link"), || {
        let most = (0..2_000).filter_map(|_| try_size(&own)).max().unwrap();
        assert!(most < 1 << 40, "measured what is outside: {most}");
    });
}

#[test]
fn measuring_stays_inside_while_folders_move_up() {
    let base = tempfile::tempdir().unwrap();
    let own = base.path().join("own");
    // After the folder was moved, the way back from the innermost folder is longer than the way to it.
    for inside in ["1/2/3/4/deep/x/y", "1/2/3/4/z", "flat"] {
        fs::create_dir_all(own.join(inside)).unwrap();
    }
    for outside in ["z", "2/3/4/z", "3/4/z", "4/z"] {
        fs::create_dir_all(base.path().join(outside)).unwrap();
        fs::File::create(base.path().join(outside).join("huge")).unwrap().set_len(1 << 40).unwrap();
    }
    while_exchanging(&own.join("1/2/3/4/deep"), &own.join("flat"), || {
        let found = (0..20_000).map_while(|_| try_size(&own)).max().unwrap_or(0);
        assert!(found < 1 << 40, "measured what is outside: {found}");
        assert!((0..20_000).any(|_| try_size(&own).is_none()), "it never saw that a folder had moved");
    });
}

/// Keeps exchanging the two names while something else is done.
fn while_exchanging(one: &Path, other: &Path, work: impl FnOnce() + Send) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        stop.store(true, Ordering::Relaxed);
        worked.unwrap_or_else(|failed| std::panic::resume_unwind(failed));
    });
}

/// Runs in a child process, in the folder with this file. Without the file it does nothing.
const CHILD: &str = "has-few-descriptors";

#[test]
fn measures_and_removes_with_few_descriptors() {
    if !Path::new(CHILD).exists() {
        return;
    }
    let few = Rlimit { current: Some(32), maximum: Some(32) };
    setrlimit(Resource::Nofile, few).unwrap();
    assert_eq!(size(Path::new("own")), (100 + 4) * 4096, "a link, a file, two folders and those in one another");
    Folder::open_own(Path::new(".")).unwrap().remove_all(Path::new("own")).unwrap();
}

#[test]
fn a_folder_of_any_depth_can_be_measured_and_removed() {
    let (base, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let own = base.path().join("own");
    fs::create_dir_all(own.join("wide/with files")).unwrap();
    fs::write(own.join("wide/with files/file"), "").unwrap();
    fs::write(outside.path().join("file"), "").unwrap();
    symlink(outside.path(), own.join("wide/link")).unwrap();
    nest(&own, 100, "d");
    fs::write(base.path().join(CHILD), "").unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "folder::tests::measures_and_removes_with_few_descriptors"]).current_dir(base.path());
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
    assert_eq!(folder.mode().unwrap(), 0o777);
    assert!(folder.check_owner().unwrap_err().to_string().contains("can write to it (mode 777)"));
    folder.set_mode(0o700).unwrap();
    assert_eq!(folder.mode().unwrap(), 0o700);
    folder.check_owner().unwrap();
    assert_eq!(fs::metadata(base.path()).unwrap().permissions().mode() & 0o777, 0o700);
}
