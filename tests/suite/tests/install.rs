//! Installed plugins: inspection, approval, pinning, updates and removal.

use crate::reload::{edition, replace};
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use suite::minisign::Minisign;
use suite::{Client, Era, Home, Ran, Server, eventually, paths, portcullis};

pub(crate) const CONFIG: &str = "[server]\nstate = \"state\"\n";
const GRANT: &str = r#"filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;

/// A home with an empty configuration and the guest's published first edition.
pub(crate) fn home() -> Home {
    let home = Home::new();
    home.write("portcullis.toml", CONFIG);
    publish(&home, &edition("AAAA"));
    home
}

/// Publishes these bytes as the plugin.
pub(crate) fn publish(home: &Home, bytes: &[u8]) {
    replace(&home.path().join("edition.wasm"), bytes);
}

/// Publishes these bytes as this version of the plugin, signed by key 1.
fn publish_signed(home: &Home, bytes: Vec<u8>, version: &str) {
    let bytes = match version {
        "0.1.0" => bytes,
        other => rewritten(bytes, r#""version":"0.1.0""#, &format!("\"version\":{other:?}")),
    };
    publish(home, &bytes);
    home.write("edition.wasm.minisig", Minisign::key(1).sign(&bytes, "x"));
}

pub(crate) fn plugin(home: &Home, arguments: &[&str]) -> Ran {
    portcullis(home, &[&["plugin"], arguments].concat())
}

pub(crate) fn install(home: &Home) {
    plugin(home, &["install", "./edition.wasm", "--yes", "--yes-grant", GRANT]).good();
}

/// Looks for another version, and accepts it.
pub(crate) fn update(home: &Home) {
    plugin(home, &["update", "edition"]).good();
    plugin(home, &["accept", "edition", "--yes"]).good();
}

/// The paths of the stored components.
pub(crate) fn kept(home: &Home) -> Vec<PathBuf> {
    let Ok(folder) = std::fs::read_dir(home.path().join("state/components")) else { return vec![] };
    let paths = folder.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension() == Some("wasm".as_ref())).collect()
}

pub(crate) fn lock(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("portcullis.lock")).unwrap_or_default()
}

/// The bytes with every occurrence of `from` replaced by `to`, padded with spaces.
pub(crate) fn rewritten(mut bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    let to = to.to_owned() + &" ".repeat(from.len() - to.len());
    let there = |bytes: &[u8]| bytes.windows(from.len()).position(|window| window == from.as_bytes());
    assert!(there(&bytes).is_some(), "{from} is not there");
    while let Some(at) = there(&bytes) {
        bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

fn called(home: &Home) -> Ran {
    portcullis(home, &["call", "edition", "run"])
}

#[test]
fn an_installed_plugin_is_served() {
    let home = home();
    let said = plugin(&home, &["install", "./edition.wasm", "--yes", "--yes-grant", GRANT]);
    for words in
        ["reads all files of the directories that you name", "tool=A", "signed  by nobody", "sha256:", "wasi:io/poll@"]
    {
        assert!(said.good().contains(words), "{words} is not said: {}", said.stdout);
    }
    // The source is no longer needed.
    std::fs::remove_file(home.path().join("edition.wasm")).unwrap();
    assert!(plugin(&home, &["list"]).good().contains("plugins.edition              enabled"));
    let shown = plugin(&home, &["show", "edition"]);
    for words in ["edition.wasm", "signed by nobody", "/work (read)", "approved"] {
        assert!(shown.good().contains(words), "{words} is not shown: {}", shown.stdout);
    }
    std::fs::write(home.work().join("go"), "").unwrap();
    let mut client = Client::new(Server::start_in(home, CONFIG), Era::Modern, false);
    assert_eq!(client.run("edition", json!({"path": "/work/go"})).good(), "edition=A");
}

#[test]
fn without_a_terminal_nothing_is_approved() {
    let home = home();
    let ran = plugin(&home, &["install", "./edition.wasm"]);
    let said = ran.refused();
    for words in ["no terminal to ask at", "--digest sha256:", "--yes-grant 'filesystem = [", "You choose DIRECTORY"] {
        assert!(said.contains(words), "{words} is not said: {said}");
    }
    assert_eq!((lock(&home), kept(&home).len()), (String::new(), 0));
    install(&home);
    let before = lock(&home);
    assert!(plugin(&home, &["remove", "edition"]).refused().contains("remove plugins.edition --yes"));
    assert_eq!(lock(&home), before);
    plugin(&home, &["remove", "edition", "--yes"]).good();
    assert!(!lock(&home).contains("edition") && kept(&home).is_empty());
}

#[test]
fn commands_that_cannot_be_applied_report_why() {
    let home = home();
    let other = format!("sha256:{:064}", 1);
    home.write("broken.wasm", b"\x7fELF");
    for (arguments, words) in [
        (vec!["install", "./edition.wasm", "--yes", "--yes-grant", "env = [\"TZ\"]"], "`env` would have no effect"),
        (vec!["install", "./edition.wasm", "--yes", "--yes-grant", "network = true"], "unknown field `network`"),
        (vec!["install", "./edition.wasm", "--yes", "--digest", &other], "review it again"),
        (vec!["install", "./edition.wasm", "--yes", "--name", "a__b"], "the name must be"),
        (vec!["install", "./missing.wasm", "--yes"], "missing.wasm"),
        (vec!["install", "./broken.wasm", "--yes"], "machine code"),
        (vec!["install", "ftp://a.example/a.wasm", "--yes"], "the scheme `ftp` is not supported"),
        (vec!["update", "edition"], "no plugin `edition` is installed"),
        (vec!["accept", "edition"], "no plugin `edition` is installed"),
    ] {
        let ran = plugin(&home, &arguments);
        assert!(ran.refused().contains(words), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!((lock(&home), kept(&home).len()), (String::new(), 0));
    install(&home);
    let twice = plugin(&home, &["install", "./edition.wasm", "--yes"]);
    assert!(twice.refused().contains("installed already"), "{}", twice.stderr);
    plugin(&home, &["install", "./edition.wasm", "--yes", "--name", "again"]).good();
    assert!(plugin(&home, &["accept", "again", "--yes"]).refused().contains("nothing waits"));
}

#[test]
fn updates_are_applied_or_staged_for_approval() {
    let home = home();
    let key = Minisign::key(1).public();
    home.write("portcullis.toml", format!("{CONFIG}[sources.\"*\"]\nkeys = [\"{key}\"]\n"));
    publish_signed(&home, edition("AAAA"), "0.1.0");
    install(&home);
    assert!(plugin(&home, &["update"]).good().contains("up to date"));
    // Only the code changes.
    publish_signed(&home, edition("BAAA"), "0.1.1");
    assert!(plugin(&home, &["outdated"]).good().contains("plugins.edition"));
    assert!(plugin(&home, &["update"]).good().contains("is updated"));
    assert_eq!(called(&home).good().trim(), "edition=B");
    // Fewer requests.
    publish_signed(&home, rewritten(edition("CAAA"), r#""filesystem":"read""#, ""), "0.1.2");
    assert!(plugin(&home, &["update"]).good().contains("- filesystem read"));
    assert_eq!(called(&home).good().trim(), "edition=C");
    // The description changes.
    publish_signed(&home, edition("DBAA"), "0.1.3");
    let ran = plugin(&home, &["update", "edition"]);
    let said = ran.good();
    for words in [
        "is staged until you accept it",
        "- tool run description: tool=A",
        "+ tool run description: tool=B",
        "+ filesystem read",
    ] {
        assert!(said.contains(words), "{words} is not said: {said}");
    }
    assert_eq!(called(&home).good().trim(), "edition=C");
    assert!(plugin(&home, &["list"]).good().contains("enabled, staged"));
    let asked = plugin(&home, &["accept", "edition"]);
    assert!(asked.refused().contains("accept plugins.edition --digest sha256:"), "{}", asked.stderr);
    assert_eq!(called(&home).good().trim(), "edition=C");
    plugin(&home, &["update", "--discard", "edition"]).good();
    assert!(plugin(&home, &["accept", "edition", "--yes"]).refused().contains("nothing waits"));
    update(&home);
    assert_eq!(called(&home).good().trim(), "edition=D");
    // A new request.
    publish_signed(&home, rewritten(edition("EBAA"), r#""filesystem":"read""#, r#""state":true"#), "0.1.4");
    assert!(plugin(&home, &["update"]).good().contains("! + state: keeps values from call to call"));
    assert_eq!(called(&home).good().trim(), "edition=D");
    // A lower version.
    publish_signed(&home, edition("FBAA"), "0.0.9");
    let lower = plugin(&home, &["update"]);
    assert!(lower.refused().contains("--allow-downgrade"), "{}", lower.stderr);
    assert!(plugin(&home, &["update", "--allow-downgrade"]).good().contains("is staged until you accept it"));
    assert_eq!(called(&home).good().trim(), "edition=D");
    // Other bytes under the same version, also if they are signed.
    publish_signed(&home, edition("GBAA"), "0.1.3");
    let same = plugin(&home, &["update"]);
    assert!(same.good().contains("(other bytes under the same version)"), "{}", same.stdout);
    assert_eq!(called(&home).good().trim(), "edition=D");
}

#[test]
fn limits_of_an_installed_plugin_are_set_by_a_command() {
    let home = home();
    install(&home);
    portcullis(&home, &["grant", "edition", "limits = { fuel = 10, deadline = \"10m\" }", "--yes"]).good();
    assert!(lock(&home).contains("[plugins.edition.limits]\nfuel = 10\ndeadline = \"10m\"\n"), "{}", lock(&home));
    assert!(called(&home).refused().contains("fuel"), "it has ten");
    let wrong = portcullis(&home, &["grant", "edition", "limits = { fule = 10 }", "--yes"]);
    assert!(wrong.refused().contains("fule"), "{wrong:?}");
    portcullis(&home, &["revoke", "edition", "limits", "--yes"]).good();
    assert!(!lock(&home).contains(".limits]"), "{}", lock(&home));
    assert_eq!(called(&home).good().trim(), "edition=A");
}

/// Whoever can write where a plugin comes from must not choose what runs.
#[test]
fn without_a_signer_all_other_bytes_wait() {
    let home = home();
    install(&home);
    let higher = rewritten(edition("CAAA"), r#""version":"0.1.0""#, r#""version":"0.1.1""#);
    for bytes in [edition("BAAA"), higher] {
        publish(&home, &bytes);
        let ran = plugin(&home, &["update"]);
        for words in ["is staged until you accept it", "! signed by nobody, as before"] {
            assert!(ran.good().contains(words), "{words} is not said: {}", ran.stdout);
        }
        assert_eq!(called(&home).good().trim(), "edition=A");
    }
    plugin(&home, &["accept", "edition", "--yes"]).good();
    assert_eq!(called(&home).good().trim(), "edition=C");
}

#[test]
fn a_staged_version_that_was_changed_is_not_accepted() {
    let home = home();
    install(&home);
    let before = kept(&home);
    publish(&home, &edition("BBAA"));
    plugin(&home, &["update"]).good();
    let staged = kept(&home).into_iter().find(|path| !before.contains(path)).unwrap();
    replace(&staged, &edition("CBAA"));
    let ran = plugin(&home, &["accept", "edition", "--yes"]);
    assert!(ran.refused().contains("the file was changed after it was fetched"), "{}", ran.stderr);
    assert_eq!(called(&home).good().trim(), "edition=A");
}

#[test]
fn a_component_that_was_changed_is_refused_until_it_is_repaired() {
    let home = home();
    install(&home);
    let path = kept(&home).remove(0);
    replace(&path, &edition("BAAA"));
    let ran = called(&home);
    let digest = path.file_stem().unwrap().to_string_lossy().replace('-', ":");
    for words in [&digest, "it was changed without being asked for", "plugin update edition"] {
        assert!(ran.refused().contains(words), "{words} is not said: {}", ran.stderr);
    }
    let listed = plugin(&home, &["list"]);
    assert!(listed.good().contains("plugins.edition              changed"), "{listed:?}");
    assert!(plugin(&home, &["update"]).good().contains("has been restored as approved"));
    assert_eq!(called(&home).good().trim(), "edition=A");
}

#[test]
fn a_running_server_loads_newly_installed_plugins() {
    let home = home();
    let mut client = Client::new(Server::start_in(home, CONFIG), Era::Modern, false);
    let names = |client: &mut Client| client.tools().iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>();
    assert!(names(&mut client).is_empty());
    install(&client.server.home);
    client.server.wait_for_log("plugins: plugins.edition");
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    publish(&client.server.home, &edition("BAAA"));
    update(&client.server.home);
    eventually(suite::PATIENCE, || (client.run("edition", json!({})).good() == "edition=B").then_some(())).unwrap();
    // A stored component that was modified on disk is not loaded, and the running version stays.
    replace(&kept(&client.server.home).remove(0), &edition("CAAA"));
    replace(&kept(&client.server.home).remove(1), &edition("CAAA"));
    client.server.wait_for_log("the old version stays");
    assert_eq!(client.run("edition", json!({})).good(), "edition=B");
    plugin(&client.server.home, &["disable", "edition"]).good();
    eventually(suite::PATIENCE, || names(&mut client).is_empty().then_some(())).unwrap();
}

#[test]
fn a_withdrawn_component_is_neither_installed_nor_loaded() {
    let home = home();
    install(&home);
    let digest = kept(&home)[0].file_stem().unwrap().to_string_lossy().replace('-', ":");
    let listed = format!("{CONFIG}withdrawn = [{digest:?}]\n");
    home.write("portcullis.toml", &listed);
    for ran in [called(&home), plugin(&home, &["install", "./edition.wasm", "--yes", "--name", "other"])] {
        assert!(ran.refused().contains("is withdrawn"), "{}", ran.stderr);
    }
    assert!(plugin(&home, &["list"]).good().contains("withdrawn"));
    // A list in a file is reloaded while the host runs.
    home.write("withdrawn.txt", "# nothing yet\n");
    let config = format!("{CONFIG}withdrawn-file = \"withdrawn.txt\"\n");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    client.server.home.write("new.txt", format!("{digest} it steals tokens\n"));
    std::fs::rename(client.server.home.path().join("new.txt"), client.server.home.path().join("withdrawn.txt"))
        .unwrap();
    let line = client.server.wait_for_log("it steals tokens");
    assert!(line.contains("plugins.edition"), "{line}");
    eventually(suite::PATIENCE, || client.tools().is_empty().then_some(())).unwrap();
}

#[test]
fn a_configured_plugin_can_be_pinned_by_digest() {
    let home = home();
    let digest = |home: &Home| {
        let said = portcullis(home, &["check", "edition.wasm"]).good().to_owned();
        said.lines().find_map(|line| line.find("sha256:").map(|at| line[at..at + 71].to_owned())).unwrap()
    };
    let pinned = digest(&home);
    let config = format!("{CONFIG}[plugins.edition]\nsource = \"edition.wasm\"\ndigest = {pinned:?}\n");
    home.write("portcullis.toml", &config);
    assert_eq!(called(&home).good().trim(), "edition=A");
    assert!(plugin(&home, &["disable", "edition"]).refused().contains("is configured in portcullis.toml"));
    publish(&home, &edition("BAAA"));
    let ran = called(&home);
    assert!(ran.refused().contains(&pinned) && ran.stderr.contains("`digest` names"), "{}", ran.stderr);
    publish(&home, &edition("AAAA"));
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    publish(&client.server.home, &edition("BAAA"));
    client.server.wait_for_log("the old version stays");
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
}

/// Kills the install at once, and at the first sign of each step: the state on disk is consistent each time.
#[test]
fn a_killed_install_leaves_no_partial_state() {
    for sign in ["", "state/components", "state/components/users", "state/components/sha256", "portcullis.lock"] {
        let home = home();
        let mut command = Command::new(paths::binary());
        command.args(["plugin", "install", "./edition.wasm", "--yes"]).current_dir(home.path());
        command.env("PORTCULLIS_CACHE", paths::cache()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let there = || match sign.strip_suffix("/sha256") {
            Some(_) => !kept(&home).is_empty(),
            None => home.path().join(sign).exists(),
        };
        eventually(suite::PATIENCE, || there().then_some(())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let listed = plugin(&home, &["list", "--load"]);
        let installed = listed.good().contains("plugins.edition");
        assert_eq!(installed, lock(&home).contains("plugins.edition"), "{sign}: {listed:?}");
        if !installed {
            install(&home);
        }
        assert_eq!(called(&home).good().trim(), "edition=A", "{sign}");
    }
}
