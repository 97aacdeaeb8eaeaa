//! Back to the version before: as it was, with no more than it had then and has today.

use crate::install::{CONFIG, home, install, kept, lock, plugin, publish};
use crate::reload::{edition, replace};
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use suite::{Client, Era, Home, Server, eventually, paths, portcullis};

const READ: &str = r#"filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;

/// The first edition, and then the second: what is kept of the first, and of the second.
fn updated(home: &Home) -> (PathBuf, PathBuf) {
    install(home);
    let first = kept(home).remove(0);
    publish(home, &edition("BAAA"));
    plugin(home, &["update"]).good();
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
fn the_version_before_is_back_and_the_other_waits() {
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
    // An update does not bring it in by itself again, and there is nothing before the first.
    assert!(plugin(&home, &["update"]).good().contains("is staged already"));
    assert_eq!(says(&home), "edition=A");
    assert!(plugin(&home, &["rollback", "edition"]).refused().contains("there is no previous version"));
    plugin(&home, &["accept", "edition", "--yes"]).good();
    assert_eq!(says(&home), "edition=B");
    plugin(&home, &["rollback", "edition"]).good();
    assert_eq!(says(&home), "edition=A");
}

#[test]
fn a_plugin_that_was_never_updated_has_nothing_before() {
    let home = home();
    install(&home);
    let before = lock(&home);
    assert!(plugin(&home, &["rollback", "edition"]).refused().contains("there is no previous version"));
    assert_eq!((lock(&home), says(&home)), (before, "edition=A".into()));
}

#[test]
fn it_gets_the_less_of_what_it_had_then_and_has_today() {
    // Given since: it had none then.
    let home = home();
    plugin(&home, &["install", "./edition.wasm", "--yes"]).good();
    publish(&home, &edition("BAAA"));
    plugin(&home, &["update"]).good();
    portcullis(&home, &["grant", "edition", READ]).good();
    let back = plugin(&home, &["rollback", "edition"]);
    assert!(back.good().contains("no longer granted"), "{}", back.stdout);
    let may = |home: &Home, question: &str| portcullis(home, &["policy", "test", "edition", question]).status;
    assert_eq!(may(&home, "filesystem read /work/a"), Some(1));
    let told = portcullis(&home, &["audit", "tail", "-n", "50", "--plugin", "edition"]);
    assert!(told.good().lines().last().unwrap().contains("filesystem"), "{}", told.stdout);
    // Revoked since: it does not come back.
    let home = self::home();
    updated(&home);
    assert_eq!(may(&home, "filesystem read /work/a"), Some(0));
    portcullis(&home, &["revoke", "edition", "filesystem"]).good();
    plugin(&home, &["rollback", "edition"]).good();
    assert_eq!((says(&home).as_str(), may(&home, "filesystem read /work/a")), ("edition=A", Some(1)));
}

#[test]
fn what_is_withdrawn_gone_or_changed_is_not_gone_back_to() {
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
fn a_running_server_goes_back_with_it() {
    let home = home();
    updated(&home);
    let mut client = Client::new(Server::start_in(home, CONFIG), Era::Modern, false);
    assert_eq!(client.run("edition", json!({})).good(), "edition=B");
    plugin(&client.server.home, &["rollback", "edition"]).good();
    eventually(suite::PATIENCE, || (client.run("edition", json!({})).good() == "edition=A").then_some(())).unwrap();
}

/// Killed at any moment: what is there then is the one or the other, whole.
#[test]
fn one_that_is_killed_leaves_the_one_or_the_other() {
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
