//! Files that were changed without the host: refused with an error that says what and where, and never loaded.

use crate::install::{CONFIG, home, install, kept, lock};
use crate::reload::{edition, replace};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use suite::{Home, compiled_code, paths, portcullis};

/// An intact installation, which the tests tamper with and restore.
struct Place {
    home: Home,
    component: PathBuf,
    bytes: Vec<u8>,
    lock: String,
}

impl Place {
    fn new() -> Self {
        let home = home();
        install(&home);
        let component = kept(&home).remove(0);
        let (bytes, lock) = (fs::read(&component).unwrap(), lock(&home));
        Self { home, component, bytes, lock }
    }

    fn store(&self) -> &Path {
        self.component.parent().unwrap()
    }

    fn lock_file(&self) -> PathBuf {
        self.home.path().join("portcullis.lock")
    }

    /// Replaces the component's bytes.
    fn put(&self, bytes: impl AsRef<[u8]>) {
        replace(&self.component, bytes.as_ref());
    }

    fn flip(&self, at: usize) {
        let mut bytes = self.bytes.clone();
        bytes[at] ^= 1;
        self.put(bytes);
    }

    /// Replaces a text in the lock file.
    fn edit(&self, from: &str, to: &str) {
        assert!(self.lock.contains(from), "{from} is not in\n{}", self.lock);
        fs::write(self.lock_file(), self.lock.replacen(from, to, 1)).unwrap();
    }

    fn digest(&self) -> String {
        self.component.file_stem().unwrap().to_string_lossy().replace('-', ":")
    }

    /// The value of this key in the lock file.
    fn value(&self, key: &str) -> String {
        let line = self.lock.lines().find_map(|line| line.strip_prefix(&format!("{key} = "))).unwrap();
        line.trim_matches('"').to_owned()
    }

    /// Restores the intact installation.
    fn restore(&self) {
        let store = self.store();
        let (lock, component) = (self.lock_file(), &self.component);
        for path in [store, &lock, component] {
            if path.is_symlink() {
                fs::remove_file(path).unwrap();
            }
        }
        if !store.exists() {
            fs::rename(self.home.path().join("moved"), store).unwrap();
        }
        fs::set_permissions(store, fs::Permissions::from_mode(0o700)).unwrap();
        for path in [&lock, component] {
            if path.is_dir() {
                fs::remove_dir(path).unwrap();
            }
        }
        self.put(&self.bytes);
        fs::set_permissions(component, fs::Permissions::from_mode(0o400)).unwrap();
        replace(&lock, self.lock.as_bytes());
        self.home.write("portcullis.toml", CONFIG);
    }
}

/// A name, how the files are tampered with, and the expected error.
type Row = (&'static str, fn(&Place), &'static str);

const CHANGED: &str = "it was changed without being asked for";

const COMPONENT: &[Row] = &[
    ("the first byte", |it| it.flip(0), CHANGED),
    ("the version of the format", |it| it.flip(4), CHANGED),
    ("a byte in the middle", |it| it.flip(it.bytes.len() / 2), CHANGED),
    ("the last byte", |it| it.flip(it.bytes.len() - 1), CHANGED),
    ("cut in half", |it| it.put(&it.bytes[..it.bytes.len() / 2]), CHANGED),
    ("a byte more", |it| it.put([&it.bytes[..], b"\0"].concat()), CHANGED),
    ("a section more, which nothing reads", |it| it.put([&it.bytes[..], &[0, 2, 1, b'x']].concat()), CHANGED),
    ("nothing", |it| it.put(b""), CHANGED),
    ("its next version", |it| it.put(edition("BAAA")), CHANGED),
    ("another plugin", |it| it.put(fs::read(paths::guest("echo")).unwrap()), CHANGED),
    ("a core module", |it| it.put(b"\0asm\x01\0\0\0"), CHANGED),
    ("machine code", |it| it.put(b"\x7fELF\x02\x01\x01\0"), CHANGED),
    ("compressed", |it| it.put(b"\x1f\x8b\x08\0\0\0\0\0"), CHANGED),
    ("a script", |it| it.put(b"#!/bin/sh\nexit 0\n"), CHANGED),
    ("compiled code of our own cache", |it| it.put(compiled_code()), CHANGED),
    ("gone", |it| fs::remove_file(&it.component).unwrap(), "cannot read"),
    (
        "a folder",
        |it| {
            fs::remove_file(&it.component).unwrap();
            fs::create_dir(&it.component).unwrap();
        },
        "it must be a regular file, and no link",
    ),
    (
        "a link to the very same bytes",
        |it| {
            let elsewhere = it.home.write("elsewhere.wasm", &it.bytes);
            fs::remove_file(&it.component).unwrap();
            symlink(elsewhere, &it.component).unwrap();
        },
        "it must be a regular file, and no link",
    ),
    (
        "writable by others",
        |it| {
            fs::set_permissions(&it.component, fs::Permissions::from_mode(0o666)).unwrap();
        },
        "others on this machine can write to it",
    ),
    (
        "its folder is a link",
        |it| {
            fs::rename(it.store(), it.home.path().join("moved")).unwrap();
            symlink(it.home.path().join("moved"), it.store()).unwrap();
        },
        "its folder must be a folder, and no link",
    ),
    (
        "its folder is everybody's",
        |it| {
            fs::set_permissions(it.store(), fs::Permissions::from_mode(0o777)).unwrap();
        },
        "its folder: others on this machine can write to it (mode 777)",
    ),
];

const LOCK: &[Row] = &[
    ("a digest of nothing", |it| it.edit(&it.digest(), &format!("sha256:{:064}", 1)), "cannot read"),
    ("a short digest", |it| it.edit(&it.digest(), "sha256:7b332a9af7d9"), "is not a digest"),
    ("a digest that leads elsewhere", |it| it.edit(&it.digest(), "sha256:../../../edition"), "is not a digest"),
    (
        "a digest of another algorithm",
        |it| it.edit(&it.digest(), "md5:d41d8cd98f00b204e9800998ecf8427e"),
        "is not a digest",
    ),
    (
        "the digest of another plugin, which is there",
        |it| {
            let bytes = fs::read(paths::guest("echo")).unwrap();
            fs::write(it.home.path().join("echo.wasm"), &bytes).unwrap();
            let said = portcullis(&it.home, &["check", "echo.wasm"]).good().to_owned();
            let at = said.find("sha256:").unwrap();
            let digest = &said[at..at + 71];
            let path = it.store().join(format!("{}.wasm", digest.replace(':', "-")));
            fs::write(&path, &bytes).unwrap();
            it.edit(&it.digest(), digest);
        },
        "is not what you agreed to",
    ),
    ("other words", |it| it.edit(&it.value("definitions"), &format!("sha256:{:064}", 2)), "is not what you agreed to"),
    ("cut in half", |it| fs::write(it.lock_file(), &it.lock[..it.lock.len() / 2]).unwrap(), "restore it"),
    ("empty", |it| fs::write(it.lock_file(), "").unwrap(), "missing field `version`"),
    ("no text", |it| fs::write(it.lock_file(), b"\xff\xfe").unwrap(), "UTF-8"),
    ("of a later host", |it| it.edit("version = 1\n", "version = 2\n"), "it is of format 2"),
    (
        "a key that means nothing",
        |it| it.edit("enabled = true", "enabled = true\ntrusted = true"),
        "unknown field `trusted`",
    ),
    (
        "a grant that means nothing",
        |it| it.edit("[plugins.edition.grants]", "[plugins.edition.grants]\nnetwork = true"),
        "unknown field `network`",
    ),
    (
        "a grant that nobody enforces",
        |it| {
            it.edit("[plugins.edition.grants]", "[plugins.edition.grants]\nhttp = [{ allow = \"https://10.0.0.0/8\" }]")
        },
        "networks are not supported",
    ),
    (
        "limits above the ceiling",
        |it| it.edit("enabled = true", "enabled = true\nlimits.memory = \"2 GiB\""),
        "limits.memory",
    ),
    (
        "a name that is none",
        |it| fs::write(it.lock_file(), it.lock.replace("plugins.edition", "plugins.a__b")).unwrap(),
        "the name must be",
    ),
    (
        "a link",
        |it| {
            let elsewhere = it.home.write("elsewhere.lock", &it.lock);
            fs::remove_file(it.lock_file()).unwrap();
            symlink(elsewhere, it.lock_file()).unwrap();
        },
        "it is a link",
    ),
    (
        "everybody's",
        |it| {
            fs::set_permissions(it.lock_file(), fs::Permissions::from_mode(0o666)).unwrap();
        },
        "everybody may write to it",
    ),
    (
        "a folder",
        |it| {
            fs::remove_file(it.lock_file()).unwrap();
            fs::create_dir(it.lock_file()).unwrap();
        },
        "not a regular file",
    ),
    (
        "a plugin of the same name in the configuration",
        |it| {
            it.home.write("portcullis.toml", format!("{CONFIG}[plugins.edition]\nsource = \"edition.wasm\"\n"));
        },
        "the configuration file has the same name",
    ),
    (
        "withdrawn",
        |it| {
            it.home.write("portcullis.toml", format!("{CONFIG}withdrawn = [{:?}]\n", it.digest()));
        },
        "is withdrawn",
    ),
    (
        "no list of what is withdrawn",
        |it| {
            it.home.write("portcullis.toml", format!("{CONFIG}withdrawn-file = \"missing.txt\"\n"));
        },
        "server.withdrawn-file cannot be read",
    ),
];

/// Asserts that every row is refused, and returns their number.
fn all_refused(rows: &[Row]) -> usize {
    let place = Place::new();
    let (mut refused, mut wrong) = (0, Vec::new());
    for (what, spoil, words) in rows {
        spoil(&place);
        let ran = portcullis(&place.home, &["call", "edition", "run"]);
        if ran.status != Some(1) || !ran.stderr.contains(words) || ran.stdout.contains("edition=") {
            wrong.push(format!("{what}: {ran:?}"));
        } else {
            refused += 1;
        }
        assert!(!ran.stderr.contains("panicked"), "{what}: {ran:?}");
        place.restore();
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    let good = portcullis(&place.home, &["call", "edition", "run"]);
    assert_eq!(good.good().trim(), "edition=A", "as it was, it works: {good:?}");
    refused
}

#[test]
fn components_that_were_tampered_with_are_refused() {
    let refused = all_refused(COMPONENT);
    println!("hostile: components: {refused} of {} tampered with in the store refused", COMPONENT.len());
}

#[test]
fn lock_files_that_were_tampered_with_are_refused() {
    let refused = all_refused(LOCK);
    println!("hostile: locks: {refused} of {} tampered with refused", LOCK.len());
    assert!(COMPONENT.len() + LOCK.len() >= 30);
}

/// Grants in the lock file belong to the operator, like those in the configuration: an edit takes effect, but gives
/// nothing that the plugin did not request.
#[test]
fn grants_may_be_edited_by_hand() {
    let place = Place::new();
    fs::write(place.home.work().join("go"), "").unwrap();
    let call = || portcullis(&place.home, &["call", "edition", "run", r#"{"path": "/other/go"}"#]);
    place.edit("guest = \"/work\"", "guest = \"/other\"");
    assert_eq!(call().good().trim(), "edition=A");
    place.edit("access = \"read\" }]", "access = \"read\" }]\nenv = [\"TZ\"]");
    let shown = portcullis(&place.home, &["plugin", "show", "edition"]);
    assert!(shown.good().contains("the grant `env` has no effect"), "{}", shown.stdout);
}
