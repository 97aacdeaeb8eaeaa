//! The cache of compiled code: an intact entry is used, an altered one is recompiled.

use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use suite::{Client, Era, Home, Server, plugin};

/// Starts a server with this cache, calls the guest once, and returns the log.
fn session(cache: &Path) -> String {
    let server = Server::spawn(Home::new(), &plugin("echo", ""), &[], |command| {
        command.env("PORTCULLIS_CACHE", cache).env("PORTCULLIS_LOG", "info");
    });
    let mut client = Client::new(server, Era::Modern, false);
    client.check_alive();
    assert!(client.run("echo", json!({"n": 4})).good().contains('4'));
    client.server.end();
    client.server.log()
}

/// The only entry of a cache.
fn entry(cache: &Path) -> PathBuf {
    let entries = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    let entries: Vec<_> = entries.filter(|path| path.extension() == Some("bin".as_ref())).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}

#[test]
fn a_second_start_compiles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    assert!(session(&cache).contains("compiling"));
    let first = fs::metadata(entry(&cache)).unwrap().modified().unwrap();
    assert!(!session(&cache).contains("compiling"));
    assert_eq!(fs::metadata(entry(&cache)).unwrap().modified().unwrap(), first);
}

#[test]
fn identical_plugins_are_compiled_once() {
    let (folder, home) = (tempfile::tempdir().unwrap(), Home::new());
    let source = suite::paths::guest("echo");
    let config: String = (0..10).map(|number| suite::plugin_from(&format!("p{number}"), &source, "")).collect();
    let server = Server::spawn(home, &config, &[], |command| {
        command.env("PORTCULLIS_CACHE", folder.path().join("cache")).env("PORTCULLIS_LOG", "info");
    });
    let mut client = Client::new(server, Era::Modern, false);
    assert_eq!(client.tools().len(), 10);
    client.call("p7__run", json!({"n": 1})).good();
    assert!(client.server.end().success());
    assert_eq!(client.server.log().matches("compiling").count(), 1, "{}", client.server.log());
}

#[test]
fn a_cache_writable_by_others_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    session(&cache);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&cache) & 0o077, 0, "{:o}", mode(&cache));
    assert_eq!(mode(&entry(&cache)) & 0o022, 0);
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let home = Home::new();
    let file = home.write("portcullis.toml", plugin("echo", ""));
    let mut command = std::process::Command::new(suite::paths::binary());
    command.args(["serve", "--config"]).arg(file).env("PORTCULLIS_CACHE", &cache);
    let ran = suite::cli::run(command);
    assert!(ran.refused().contains("cache"), "{}", ran.stderr);
}

#[test]
fn a_corrupted_entry_is_recompiled_and_never_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    session(&cache);
    let path = entry(&cache);
    let good = fs::read(&path).unwrap();
    for at in [0, 31, 32, 40, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).unwrap();
        assert!(session(&cache).contains("compiling"), "byte {at} was changed and nobody noticed");
        assert_ne!(fs::read(&path).unwrap(), bad, "a good entry takes its place");
    }
    for length in [0, 10, 32, good.len() / 2] {
        fs::write(&path, &good[..length]).unwrap();
        assert!(session(&cache).contains("compiling"), "cut to {length} bytes and nobody noticed");
    }
}

#[test]
fn a_symlink_in_the_cache_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    session(&cache);
    let path = entry(&cache);
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, b"not what was compiled").unwrap();
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(session(&cache).contains("compiling"));
    assert_eq!(fs::read(&elsewhere).unwrap(), b"not what was compiled", "written through a link");
}
