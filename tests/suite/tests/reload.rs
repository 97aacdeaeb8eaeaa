//! Component files that are replaced while the host runs.

use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;
use suite::{Called, Client, Era, Home, Server, paths, plugin_from};

/// The guest `edition` with other letters: for the plugin, the tool, the prompt and the resource.
pub(crate) fn edition(letters: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(paths::guest("edition")).unwrap();
    let words = |letters: &str| {
        let [whole, tool, prompt, resource]: [char; 4] = letters.chars().collect::<Vec<_>>().try_into().unwrap();
        format!("edition={whole} tool={tool} prompt={prompt} resource={resource}").into_bytes()
    };
    let (old, new) = (words("AAAA"), words(letters));
    let at = bytes.windows(old.len()).position(|window| window == old).expect("the letters are in the component");
    bytes[at..at + new.len()].copy_from_slice(&new);
    bytes
}

/// Replaces a file atomically.
pub(crate) fn replace(path: &Path, bytes: &[u8]) {
    let other = path.with_extension("new");
    std::fs::write(&other, bytes).unwrap();
    std::fs::rename(&other, path).unwrap();
}

const GRANT: &str = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;

/// A home with the guest's first edition, the path of that file, and the configuration.
pub(crate) fn home() -> (Home, PathBuf, String) {
    let home = Home::new();
    let path = home.write("edition.wasm", edition("AAAA"));
    let config = plugin_from("edition", &path, GRANT);
    (home, path, config)
}

fn start() -> (Client, PathBuf) {
    let (home, path, config) = home();
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    (client, path)
}

#[test]
fn running_calls_finish_on_the_version_they_started_with() {
    let (mut client, path) = start();
    let sent = Instant::now();
    let old = client.begin_call("edition__run", json!({"path": "/work/go"}));
    client.server.wait_for_log("waiting for /work/go");
    replace(&path, &edition("BBAA"));
    client.server.wait_for_log("reloaded");
    assert_eq!(client.run("edition", json!({})).good(), "edition=B");
    assert_eq!(client.tools()[0]["description"], "tool=B");
    assert!(!client.is_answered(old));
    std::fs::write(client.server.home.work().join("go"), "").unwrap();
    assert_eq!(Called(client.wait(old, sent)).good(), "edition=A");
}

#[test]
fn a_broken_version_changes_nothing() {
    let (mut client, path) = start();
    let cut = &edition("BBBB")[..5_000];
    for (broken, why) in
        [(&b"not a component"[..], "not begin with"), (cut, "not a valid component"), (b"", "is empty")]
    {
        replace(&path, broken);
        let line = client.server.wait_for_log(why);
        assert!(line.contains("plugins.edition") && line.contains("the old version stays"), "{line}");
        assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    // The file is written in two parts while the host polls: it does not load the incomplete file.
    let whole = edition("BBBB");
    let (first, rest) = whole.split_at(whole.len() / 2);
    std::fs::write(&path, first).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, rest).unwrap();
    drop(file);
    client.server.wait_for_log("reloaded");
    assert_eq!(client.run("edition", json!({})).good(), "edition=B");
}

#[test]
fn a_conflicting_version_is_loaded_once_the_conflict_is_gone() {
    let home = Home::new();
    let (one, other) = (home.write("one.wasm", edition("AAAA")), home.path().join("other.wasm"));
    std::fs::copy(paths::guest("provider"), &other).unwrap();
    let config = plugin_from("one", &one, "") + &plugin_from("other", &other, "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    client.tools();
    replace(&one, &std::fs::read(paths::guest("provider")).unwrap());
    let line = client.server.wait_for_log("the old version stays");
    assert!(line.contains("plugins.one") && line.contains("plugins.other"), "{line}");
    assert_eq!(client.call("one__run", json!({})).good(), "edition=A");
    replace(&other, &edition("CCCC"));
    client.server.wait_for_log("reloaded");
    assert_eq!(client.call("one__run", json!({})).good(), "done");
    assert_eq!(client.call("other__run", json!({})).good(), "edition=C");
}

#[test]
fn reload_can_be_turned_off() {
    let (home, path, config) = home();
    let server = Server::start_in(home, &format!("[server]\nreload = false\n\n{config}"));
    let mut client = Client::new(server, Era::Modern, false);
    client.tools();
    replace(&path, &edition("BBBB"));
    // A new server has loaded the file by then, which is more than enough time for this one to have polled.
    let (home, other, config) = self::home();
    let mut second = Client::new(Server::start_in(home, &config), Era::Modern, false);
    second.tools();
    replace(&other, &edition("BBBB"));
    second.server.wait_for_log("reloaded");
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
}
