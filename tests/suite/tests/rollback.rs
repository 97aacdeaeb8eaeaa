//! Rollback to the previous version, with only grants that it had then and that are still given.

use crate::install::{CONFIG, home, install, kept, lock, plugin, publish, update};
use crate::reload::{edition, replace};
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use suite::{Client, Era, Home, Server, eventually, paths, portcullis};

const READ: &str = r#"filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;

/// Installs the first edition and updates to the second. Returns the stored files of both.
fn updated(home: &Home) -> (PathBuf, PathBuf) {
    install(home);
    let first = kept(home).remove(0);
    publish(home, &edition("BAAA"));
    update(home);
    let second = kept(home).into_iter().find(|path| *path != first).unwrap();
    (first, second)
}

fn says(home: &Home) -> String {
    portcullis(home, &["call", "edition", "run"]).good().trim().to_owned()
}

fn digest(kept: &std::path::Path) -> String {
    kept.file_stem().unwrap().to_string_lossy().replace('-', ":")
}

#[test]
fn rollback_restores_the_previous_version_and_keeps_the_newer_one() {
    let home = home();
    assert!(plugin(&home, &["rollback", "edition"]).refused().contains("no plugin `edition` is installed"));
    let (first, second) = updated(&home);
    assert_eq!(says(&home), "edition=B");
    let back = plugin(&home, &["rollback", "edition"]);
    for words in [
        &format!("{} -> {}", digest(&second), digest(&first)),
        "is back to its previous version",
        "accept plugins.edition",
    ] {
        assert!(back.good().contains(words), "{words} is not said: {}", back.stdout);
    }
    assert!(!back.stdout.contains("no longer granted"), "{}", back.stdout);
    assert_eq!(says(&home), "edition=A");
    assert!(lock(&home).contains(READ.trim_start_matches("filesystem = ")), "{}", lock(&home));
    let told = portcullis(&home, &["audit", "tail", "-n", "50"]);
    assert!(told.good().contains("rolled back"), "{}", told.stdout);
    // An update does not install the second again by itself, and no version precedes the first.
    assert!(plugin(&home, &["update"]).good().contains("is staged already"));
    assert_eq!(says(&home), "edition=A");
    assert!(plugin(&home, &["rollback", "edition"]).refused().contains("there is no previous version"));
    plugin(&home, &["accept", "edition", "--yes"]).good();
    assert_eq!(says(&home), "edition=B");
    plugin(&home, &["rollback", "edition"]).good();
    assert_eq!(says(&home), "edition=A");
}

#[test]
fn a_plugin_that_was_never_updated_cannot_be_rolled_back() {
    let home = home();
    install(&home);
    let before = lock(&home);
    assert!(plugin(&home, &["rollback", "edition"]).refused().contains("there is no previous version"));
    assert_eq!((lock(&home), says(&home)), (before, "edition=A".into()));
}

#[test]
fn a_restored_version_gets_only_grants_it_had_and_still_has() {
    // A grant that was given later is not restored.
    let home = home();
    plugin(&home, &["install", "./edition.wasm", "--yes"]).good();
    publish(&home, &edition("BAAA"));
    update(&home);
    portcullis(&home, &["grant", "edition", READ, "--yes"]).good();
    let back = plugin(&home, &["rollback", "edition"]);
    assert!(back.good().contains("no longer granted"), "{}", back.stdout);
    let may = |home: &Home, question: &str| portcullis(home, &["policy", "test", "edition", question]).status;
    assert_eq!(may(&home, "filesystem read /work/a"), Some(1));
    let told = portcullis(&home, &["audit", "tail", "-n", "50", "--plugin", "edition"]);
    assert!(told.good().lines().last().unwrap().contains("filesystem"), "{}", told.stdout);
    // A grant that was revoked since is not restored.
    let home = self::home();
    updated(&home);
    assert_eq!(may(&home, "filesystem read /work/a"), Some(0));
    portcullis(&home, &["revoke", "edition", "filesystem", "--yes"]).good();
    plugin(&home, &["rollback", "edition"]).good();
    assert_eq!((says(&home).as_str(), may(&home, "filesystem read /work/a")), ("edition=A", Some(1)));
}

#[test]
fn a_withdrawn_missing_or_changed_version_is_not_restored() {
    let home = home();
    let (first, _) = updated(&home);
    let before = lock(&home);
    let refused = |words: &str| {
        let ran = plugin(&home, &["rollback", "edition"]);
        assert!(ran.refused().contains(words), "{words} is not said: {}", ran.stderr);
        assert_eq!((lock(&home), says(&home)), (before.clone(), "edition=B".into()));
    };
    home.write("portcullis.toml", format!("{CONFIG}withdrawn = [{:?}]\n", digest(&first)));
    refused("is withdrawn");
    home.write("portcullis.toml", CONFIG);
    replace(&first, &edition("CAAA"));
    refused("the file was changed after it was fetched");
    std::fs::remove_file(&first).unwrap();
    refused("cannot read");
}

#[test]
fn a_running_server_loads_the_restored_version() {
    let home = home();
    updated(&home);
    let mut client = Client::new(Server::start_in(home, CONFIG), Era::Modern, false);
    assert_eq!(client.run("edition", json!({})).good(), "edition=B");
    plugin(&client.server.home, &["rollback", "edition"]).good();
    eventually(suite::PATIENCE, || (client.run("edition", json!({})).good() == "edition=A").then_some(())).unwrap();
}

/// The command is killed at any moment: one of the two versions is then installed completely.
#[test]
fn a_killed_rollback_leaves_one_whole_version() {
    let home = home();
    updated(&home);
    for wait in [0, 20, 60, 120, 200, 400] {
        let mut command = Command::new(paths::binary());
        command
            .args(["plugin", "rollback", "edition"])
            .current_dir(home.path())
            .env("PORTCULLIS_CACHE", paths::cache());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let back = lock(&home).contains("staged");
        assert_eq!(says(&home), if back { "edition=A" } else { "edition=B" }, "after {wait} ms");
        if back {
            plugin(&home, &["accept", "edition", "--yes"]).good();
        }
    }
    plugin(&home, &["rollback", "edition"]).good();
    assert_eq!(says(&home), "edition=A");
}
