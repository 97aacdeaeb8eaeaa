//! A server drops the privileges that it does not need, and still serves.

use crate::reload::{edition, replace};
use serde_json::json;
use std::fs;
use suite::{Client, Era, Home, Server, eventually, plugin, plugin_from};

/// A field of a thread's `/proc` status.
pub(crate) fn status(process: u32, thread: u32, key: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap_or_default().trim_matches([':', '\t']).to_owned()
}

fn threads(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    tasks.map(|task| task.file_name().to_string_lossy().parse().unwrap()).collect()
}

#[test]
fn every_thread_of_a_server_is_confined_and_it_serves() {
    let home = Home::new();
    let path = home.write("edition.wasm", edition("AAAA"));
    let config =
        plugin("write-inside", r#"grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]"#)
            + &plugin_from("edition", &path, "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    client.server.wait_for_log("confined: landlock ABI");
    client.run("edition", json!({})).good();
    // The compile worker runs under the same confinement, with a file that was replaced later.
    replace(&path, &edition("BBAA"));
    client.server.wait_for_log("reloaded");
    assert_eq!(client.run("edition", json!({})).good(), "edition=B");
    client.run("write-inside", json!({})).good();
    let process = client.server.id();
    let threads = threads(process);
    assert!(threads.len() > 1, "one thread would prove little");
    for thread in threads {
        let field = |key| status(process, thread, key);
        // A thread may have ended meanwhile.
        if !field("Name").is_empty() {
            assert_eq!((field("Seccomp"), field("NoNewPrivs")), ("2".into(), "1".into()), "thread {thread}");
        }
    }
    let limits = fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
}

#[test]
fn confinement_can_be_disabled_and_is_logged() {
    let quiet = Server::spawn(Home::new(), &plugin("echo", ""), &["--no-confine"], |_| {});
    quiet.wait_for_log("not confined, as configured");
    assert_eq!(status(quiet.id(), quiet.id(), "Seccomp"), "0");
    let config = format!("[server]\nconfine = false\n{}", plugin("echo", ""));
    Server::start(&config).wait_for_log("not confined, as configured");
}

/// Only the run of an ordinary user can fail: the page map of a confined process belongs to root.
#[test]
fn a_confined_server_knows_which_pages_a_guest_has_written() {
    let cannot_tell = |arguments: &[&str]| {
        let server = Server::spawn(Home::new(), &plugin("echo", ""), arguments, |_| {});
        server.wait_for_log("ready");
        server.log().contains("cannot tell which pages a guest has written")
    };
    assert_eq!(cannot_tell(&[]), cannot_tell(&["--no-confine"]));
}

/// They are started by a process that is not confined, and the server is, as ever.
#[test]
fn programs_of_the_operator_keep_their_files() {
    let home = Home::new();
    let seen = home.outside().join("seen");
    let script = format!("cat {}/secret.txt > {}; sleep 60", home.outside().display(), seen.display());
    let config = format!("[upstream.other]\ncommand = [\"/bin/sh\", \"-c\", {script:?}]\ntimeout = \"1s\"\n");
    let server = Server::start_in(home, &config);
    server.wait_for_log("confined: landlock ABI");
    server.wait_for_log("the programs of [upstream] are not confined: they have the rights of the user");
    assert!(eventually(suite::PATIENCE, || fs::read(&seen).ok().filter(|bytes| !bytes.is_empty())).is_some());
}
