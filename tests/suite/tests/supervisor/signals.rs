//! What the supervisor is told by signals: to stop, and to let another version serve.

use super::{ended, is_gone, order, wait_for_orders, wait_until_logged};
use crate::idempotency::config;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use suite::{Client, Era, Home, PATIENCE, Server, eventually, paths, plugin};

/// A client of a program that can be replaced, and where that is.
fn of_installed(era: Era) -> (Client, PathBuf) {
    let home = Home::new();
    let program = home.path().join("bin/portcullis");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::hard_link(paths::binary(), &program).or_else(|_| fs::copy(paths::binary(), &program).map(drop)).unwrap();
    let server = Server::of_program(home, &program, &config(""));
    (Client::new(server, era, false), program)
}

/// As a package manager does it.
fn install(client: &Client, program: &Path, content: impl AsRef<[u8]>) {
    let new = client.server.home.write("bin/new", content);
    fs::set_permissions(&new, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::rename(new, program).unwrap();
}

/// Waits for another process than the one that served.
fn another_serves(client: &mut Client, before: u32) -> u32 {
    assert_eq!(client.tools().len(), 3);
    let now = client.server.id();
    assert_ne!(now, before);
    now
}

/// As an update does: calls that run end before, and requests meanwhile are served by the next process.
#[test]
fn another_version_takes_the_place_of_one_that_serves() {
    let (mut client, program) = of_installed(Era::Legacy);
    // An ordinary user cannot see which file a confined process runs, but under which name.
    let serving = |client: &Client| {
        let arguments = fs::read(format!("/proc/{}/cmdline", client.server.id())).unwrap();
        PathBuf::from(String::from_utf8(arguments.split(|byte| *byte == 0).next().unwrap().to_vec()).unwrap())
    };
    assert_eq!(serving(&client), program);
    let call = client.begin("tools/call", order("held"));
    wait_for_orders(&client, 1);
    install(&client, &program, format!("#!/bin/sh\nexec {} \"$@\"\n", paths::binary().display()));
    client.server.signal("-USR2");
    client.server.wait_for_log("stopping");
    let later = client.begin("tools/call", order("later"));
    wait_until_logged(&client.server, "later");
    client.server.home.write("work/gate", "");
    assert_eq!(client.wait(call, Instant::now()).result()["content"][0]["text"], "order 1 under none");
    assert_eq!(client.wait(later, Instant::now()).result()["content"][0]["text"], "order 2 under none");
    assert_eq!(serving(&client), paths::binary());
}

/// Someone who is not sure that the first request came through asks again.
#[test]
fn a_version_that_is_asked_for_twice_takes_the_place_once() {
    let (mut client, _) = of_installed(Era::Modern);
    let call = client.begin("tools/call", order("held"));
    wait_for_orders(&client, 1);
    let before = client.server.id();
    client.server.signal("-USR2");
    client.server.wait_for_log("stopping");
    client.server.signal("-USR2");
    client.server.home.write("work/gate", "");
    assert_eq!(client.wait(call, Instant::now()).result()["content"][0]["text"], "order 1 under none");
    another_serves(&mut client, before);
    assert_eq!(client.server.log().matches("another process takes the place").count(), 1);
}

#[test]
fn updates_are_no_deaths() {
    let (mut client, _) = of_installed(Era::Modern);
    assert_eq!(client.tools().len(), 3);
    let mut before = client.server.id();
    for _ in 0..8 {
        client.server.signal("-USR2");
        let is_another = || (client.server.id() != before).then_some(());
        eventually(PATIENCE, is_another).expect("another process");
        before = another_serves(&mut client, before);
    }
}

#[test]
fn a_version_that_cannot_serve_takes_no_place() {
    for content in ["no program", "#!/bin/sh\nexit 1\n"] {
        let (mut client, program) = of_installed(Era::Modern);
        assert_eq!(client.tools().len(), 3);
        let before = client.server.id();
        install(&client, &program, content);
        client.server.signal("-USR2");
        let is_another = || (client.server.id() != before).then_some(());
        eventually(PATIENCE, is_another).expect("another process");
        let before = another_serves(&mut client, before);
        client.server.wait_for_log("the version that was started first goes on");
        // What is mended is used.
        let mended = format!("#!/bin/sh\necho mended >&2\nexec {} \"$@\"\n", paths::binary().display());
        install(&client, &program, mended);
        client.server.signal("-USR2");
        client.server.wait_for_log("mended");
        another_serves(&mut client, before);
    }
}

#[test]
fn both_processes_end_with_the_client_or_when_they_are_told_to() {
    let start = || Client::of(&plugin("echo", "")).server;
    let mut server = start();
    server.close_stdin();
    assert!(ended(&mut server).success());
    for signal in ["-TERM", "-INT"] {
        let mut server = start();
        server.signal(signal);
        assert!(ended(&mut server).success(), "{signal}");
    }
    let mut server = start();
    let serving = server.id();
    server.kill();
    assert!(is_gone(serving), "it is killed with its supervisor");
}

fn signal_both(server: &Server, signal: &str) {
    for process in [server.id(), server.started()] {
        assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
    }
}

/// As `pkill` does, and whatever ends a service.
#[test]
fn a_signal_for_both_processes_is_one() {
    let mut client = Client::of(&config(""));
    let held = |client: &mut Client, count: usize| {
        let call = client.begin("tools/call", order("held"));
        wait_for_orders(client, count);
        call
    };
    let end = |client: &mut Client, call: u64, text: &str| {
        client.server.home.write("work/gate", "");
        assert_eq!(client.wait(call, Instant::now()).result()["content"][0]["text"], text);
    };
    let (call, before) = (held(&mut client, 1), client.server.id());
    signal_both(&client.server, "-USR2");
    client.server.wait_for_log("stopping");
    end(&mut client, call, "order 1 under none");
    another_serves(&mut client, before);
    fs::remove_file(client.server.home.path().join("work/gate")).unwrap();
    let call = held(&mut client, 2);
    signal_both(&client.server, "-TERM");
    let is_told = || (client.server.log().matches("stopping").count() == 2).then_some(());
    eventually(PATIENCE, is_told).expect("the next process stops");
    end(&mut client, call, "order 2 under none");
    assert!(ended(&mut client.server).success());
    assert!(!client.server.log().contains("ending all calls"), "{}", client.server.log());
}

#[test]
fn a_second_signal_ends_all_calls() {
    let mut client = Client::of(&config(""));
    client.begin("tools/call", order("held"));
    wait_for_orders(&client, 1);
    client.server.signal("-TERM");
    client.server.wait_for_log("stopping");
    client.server.signal("-TERM");
    client.server.wait_for_log("ending all calls");
    assert!(ended(&mut client.server).success());
}

/// A plugin is compiled meanwhile, as its folder of compiled ones is empty.
#[test]
fn a_request_that_waits_for_plugins_is_answered_although_the_server_stops() {
    let home = Home::new();
    let cache = home.path().join("cache");
    let server = Server::spawn(home, &plugin("echo", ""), &[], |command| {
        command.env("PORTCULLIS_CACHE", cache);
    });
    let mut client = Client::of_server(server);
    let call = client.begin_call("echo__run", json!({"path": "x"}));
    client.server.wait_for_log("confined");
    wait_until_logged(&client.server, "echo__run");
    client.server.signal("-TERM");
    let answer = client.wait(call, Instant::now());
    assert!(answer.result()["content"][0]["text"].as_str().unwrap().contains('x'), "{}", answer.message);
    assert!(ended(&mut client.server).success());
}
