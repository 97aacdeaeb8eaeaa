//! Round trips of the lock file, and the errors for damaged ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use crate::package::Claims;
use policy::{DataKey, Digest, PluginId, Side};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use toml_edit::DocumentMut;

pub(crate) fn version(bytes: &[u8]) -> PluginVersion {
    PluginVersion {
        version: Some("1.2.0".into()),
        digest: Digest::sha256(bytes),
        size: bytes.len() as u64,
        resolved: "file:///a.wasm".into(),
        reference: None,
        signer: Some("minisign:ab".into()),
        fetched: UNIX_EPOCH + Duration::from_secs(1_000_000_000),
        definitions: Digest::sha256(b"definitions"),
        imports: vec!["portcullis:plugin/log@0.1.0".into(), "wasi:io/poll@0.2.3".into()],
        requests: toml::from_str("http = [\"https://a.example/\"]\nclient.form = true").unwrap(),
        claims: Claims::default(),
        published_claims: Claims::default(),
    }
}

fn id(side: Side, name: &str) -> PluginId {
    PluginId { side, name: name.into() }
}

fn entry() -> InstalledPlugin {
    let approved = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let mut entry = InstalledPlugin::new(
        "file:a.wasm".into(),
        &DataKey::configured(&id(Side::Server, "a")),
        version(b"one"),
        approved,
    );
    entry.staged = Some(PluginVersion { version: None, signer: None, ..version(b"two") });
    entry
}

fn saved(folder: &Path) -> PathBuf {
    let path = folder.join("p.lock");
    let mut lock = LockfileGuard::load(&path).unwrap();
    lock.insert(&id(Side::Server, "a"), entry());
    let data = Some("agent.a@oci://r.example/a".to_owned());
    let agent = InstalledPlugin { enabled: false, prefix: false, private: true, data, ..entry() };
    lock.insert(&id(Side::Agent, "a"), agent);
    let grants =
        "# for the weather\nhttp = [{ allow = \"https://a.example/\", body = \"1.5 MiB\" }]\nclient.form = true\n";
    let table = grants.parse::<DocumentMut>().unwrap().into_table();
    lock.get_mut(&id(Side::Server, "a")).unwrap().set_grants(table).unwrap();
    lock.save().unwrap();
    path
}

#[test]
fn a_saved_lockfile_loads_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path());
    let lock = Lockfile::load(&path).unwrap();
    let server = lock.get(&id(Side::Server, "a")).unwrap();
    assert_eq!((&server.installed, &server.staged), (&entry().installed, &entry().staged));
    assert_eq!((server.enabled, server.prefix, server.private), (true, true, false));
    assert!(server.grants.client.form && server.grants.http[0].body.as_u64() == 3 << 19);
    let agent = lock.get(&id(Side::Agent, "a")).unwrap();
    assert_eq!((agent.enabled, agent.prefix, agent.private), (false, false, true));
    assert_eq!(lock.find("agent.a"), Some(id(Side::Agent, "a")));
    assert_eq!(agent.data_key(&id(Side::Agent, "a")).source(), Some("oci://r.example/a"));
    // Byte for byte, with the operator's comment and units.
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("# for the weather") && text.contains("body = \"1.5 MiB\""), "{text}");
    LockfileGuard::load(&path).unwrap().save().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn invalid_grants_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut lock = Lockfile::load(&saved(folder.path())).unwrap();
    let before = lock.get(&id(Side::Server, "a")).unwrap().grants_table().to_string();
    for wrong in ["network = true", "http = [\"https://a.example/\"]", "http = [{ allow = \"10.0.0.0/8\" }]"] {
        let table = wrong.parse::<DocumentMut>().unwrap().into_table();
        assert!(lock.get_mut(&id(Side::Server, "a")).unwrap().set_grants(table).is_err(), "{wrong}");
    }
    assert_eq!(lock.get(&id(Side::Server, "a")).unwrap().grants_table().to_string(), before);
}

#[test]
fn parse_errors_name_the_problem_and_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path());
    let good = std::fs::read_to_string(&path).unwrap();
    let digest = Digest::sha256(b"one");
    for (from, to, words) in [
        ("version = 1", "version = 2", "it is of format 2"),
        ("version = 1", "version = 1\nextra = 1", "unknown field `extra`"),
        ("enabled = true", "enabled = true\nroot = true", "unknown field `root`"),
        (digest.as_str(), &digest.as_str()[..40], "is not a digest"),
        (digest.as_str(), "sha256:../../../../etc/passwd", "is not a digest"),
        ("size = 3", "size = -3", "invalid value"),
        ("client.form = true", "network = true", "unknown field `network`"),
        ("agent.a@oci", "agent.b@oci", "that of another plugin is not given to it"),
        ("[plugins.a.installed]", "[plugins.a.other]", "unknown field `other`"),
        ("reference = ", "# ", "missing field `reference`"),
    ] {
        assert!(good.contains(from), "{from} is not in\n{good}");
        let error = Lockfile::parse(&good.replacen(from, to, 1), &path).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("p.lock"), "{from} -> {to}: {error}");
    }
    for cut in [good.len() / 4, good.len() / 2] {
        assert!(Lockfile::parse(&good[..cut], &path).is_err(), "cut to {cut} bytes");
    }
}

#[test]
fn links_and_world_writable_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path());
    let link = folder.path().join("l.lock");
    symlink(&path, &link).unwrap();
    assert!(Lockfile::load(&link).unwrap_err().reason.contains("it is a link"));
    assert!(Lockfile::load(folder.path()).unwrap_err().reason.contains("regular file"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(Lockfile::load(&path).unwrap_err().reason.contains("everybody may write"));
    assert!(Lockfile::load(&folder.path().join("none.lock")).unwrap().iter().next().is_none());
}

#[test]
fn the_path_is_beside_the_configuration() {
    for (config, lock) in [("a/x.toml", "a/x.lock"), ("x", "x.lock"), ("x.lock", "x.lock.lock")] {
        assert_eq!(lockfile_path(Path::new(config)), Path::new(lock));
    }
}
