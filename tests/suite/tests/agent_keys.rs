//! `portcullis agent --key-file`: the API key of a server, which only that server hears of.

use crate::identity::start;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use suite::web::{Reply, Web};
use suite::{Home, Ran, paths};

/// Runs the agent with a memory in the folder, and commands from a script.
fn agent(home: &Home, arguments: &[&str], script: &str) -> Ran {
    let script = home.write("script", script).display().to_string();
    let mut command = Command::new(paths::binary());
    command.arg("agent").args(arguments).args(["--script", &script]).current_dir(home.path());
    command.env("PORTCULLIS_STATE", home.path().join("state"));
    suite::cli::run(command)
}

fn key_file(home: &Home, key: &str) {
    let file = home.write("key", format!("{key}\n"));
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Everything in the folder of an agent's memory.
fn left(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let texts = entries.map(|entry| match entry.path() {
        path if path.is_dir() => left(&path),
        path => String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned(),
    });
    texts.collect()
}

#[test]
fn a_server_that_wants_a_key_is_connected_with_it_now_and_later() {
    let (_server, address, keys) = start(&["alice"], None);
    let home = Home::new();
    let demo = format!("demo=http://{address}/mcp");
    let without = agent(&home, &["--connect", &demo], "list");
    assert!(without.status == Some(1) && without.stdout.contains("--key-file"), "{without:?}");

    key_file(&home, &keys[0]);
    let with = agent(&home, &["--connect", &demo, "--key-file", "key"], "call echo__run {\"n\": 7}");
    assert!(with.good().contains("\"n\":7"), "{with:?}");
    // It is remembered with the server.
    let again = agent(&home, &["--connect", "demo"], "call echo__run {\"n\": 8}");
    assert!(again.good().contains("\"n\":8"), "{again:?}");
    for said in [&with, &again] {
        assert!(!(said.stdout.clone() + &said.stderr).contains(&keys[0]), "{said:?}");
    }
    assert!(!left(&home.path().join("state")).contains(&keys[0]), "only the path is remembered");
}

#[test]
fn a_key_is_not_sent_to_another_address_of_the_same_name() {
    let (_server, address, keys) = start(&["alice"], None);
    let home = Home::new();
    key_file(&home, &keys[0]);
    agent(&home, &["--connect", &format!("demo=http://{address}/mcp"), "--key-file", "key"], "list").good();
    let other = Web::serve(|_| Reply::new(401, "no"));
    let script = format!("connect demo={}", other.url("/mcp"));
    agent(&home, &["--connect", &format!("demo={}", other.url("/mcp"))], &script);
    assert!(!other.seen().is_empty());
    assert!(other.seen().iter().all(|seen| !seen.everything().contains(&keys[0])), "the key went to another server");
}

#[test]
fn a_key_without_a_server_or_a_file_is_refused() {
    let home = Home::new();
    let demo = ["--connect", "demo=http://127.0.0.1:9/mcp"];
    for (arguments, words) in [
        (&["--key-file", "key"][..], "no --connect NAME=URL is there to use it"),
        (&[demo[0], demo[1], "--connect", "b=http://127.0.0.1:9/mcp", "--key-file", "key"], "NAME is one of demo, b"),
    ] {
        let refused = agent(&home, arguments, "list");
        assert!(refused.refused().contains(words), "{refused:?}");
    }
    let missing = agent(&home, &[demo[0], demo[1], "--key-file", "nowhere"], "list");
    assert!(missing.status == Some(1) && missing.stdout.contains("nowhere"), "{missing:?}");
    home.write("key", "k\n");
    let open = agent(&home, &[demo[0], demo[1], "--key-file", "key"], "list");
    assert!(open.stderr.contains("chmod 600"), "others can read it: {open:?}");
}
