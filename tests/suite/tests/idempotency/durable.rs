//! What outlives the host: it is killed, and started again.

use super::{buy, code, config, is_repeated, orders, send, unmarked};
use suite::{Client, Era, Home, PATIENCE, Server, eventually, portcullis};

#[test]
fn a_result_outlives_the_host_that_was_killed() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&config("")), era, false);
        let first = send(&mut client, &buy("k", ""));
        client.server.restart_stdio();
        let mut client = Client::new(client.server, era, false);
        let again = send(&mut client, &buy("k", ""));
        assert!(is_repeated(&again));
        assert_eq!(unmarked(&again), *first.result());
        assert_eq!(send(&mut client, &buy("k", "wait 1")).error_code(), -32602);
        assert_eq!(orders(&client.server.home), 1);
    }
}

#[test]
fn a_call_that_was_killed_is_never_run_again() {
    let mut client = Client::of(&config(""));
    client.begin("tools/call", buy("k", "wait 60000"));
    eventually(PATIENCE, || (orders(&client.server.home) == 1).then_some(())).unwrap();
    client.server.restart_stdio();
    for _ in 0..2 {
        let again = send(&mut client, &buy("k", "wait 60000"));
        assert_eq!(code(&again), "outcome-unknown", "its place was taken");
        assert!(is_repeated(&again));
        client.server.restart_stdio();
    }
    assert_eq!(orders(&client.server.home), 1);
    send(&mut client, &buy("another", "")).result();
    assert_eq!(orders(&client.server.home), 2);
}

#[test]
fn a_call_that_was_killed_before_it_did_anything_leaves_its_key_free() {
    let mut client = Client::of(&config(""));
    client.begin("tools/call", buy("k", "gate"));
    let is_claimed =
        || portcullis(&client.server.home, &["storage", "check"]).good().contains("  records: 1\n").then_some(());
    eventually(PATIENCE, is_claimed).unwrap();
    client.server.restart_stdio();
    client.server.home.write("work/gate", "");
    let ran = send(&mut client, &buy("k", "gate"));
    assert_eq!(ran.result()["content"][0]["text"], "order 1 under k");
    assert!(!is_repeated(&ran));
    assert!(is_repeated(&send(&mut client, &buy("k", "gate"))));
    assert_eq!(orders(&client.server.home), 1);
}

/// Another process over the same state folder: it waits for the call of the first, and for its lease when it was killed.
#[test]
fn two_processes_run_a_call_once() {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().to_owned();
    let start = |home: Home| {
        let server = Server::spawn(home, &config(""), &[], |command| {
            command.env("PORTCULLIS_STATE", &folder);
        });
        server.wait_until_loaded();
        Client::of_server(server)
    };
    let (mut one, mut other) = (start(Home::new()), start(Home::new()));
    let id = one.begin("tools/call", buy("k", "wait 1500"));
    eventually(PATIENCE, || (orders(&one.server.home) == 1).then_some(())).unwrap();
    let again = send(&mut other, &buy("k", "wait 1500"));
    assert!(is_repeated(&again));
    let first = one.wait(id, std::time::Instant::now());
    assert_eq!(unmarked(&again), *first.result());
    one.begin("tools/call", buy("l", "wait 60000"));
    eventually(PATIENCE, || (orders(&one.server.home) == 2).then_some(())).unwrap();
    let waiting = other.begin("tools/call", buy("l", "wait 60000"));
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!other.is_answered(waiting), "its lease holds");
    one.server.kill();
    // The next process has the place of the one that was killed, and knows at once.
    let mut third = start(Home::new());
    assert_eq!(code(&send(&mut third, &buy("l", "wait 60000"))), "outcome-unknown");
    let answer = other.wait(waiting, std::time::Instant::now());
    assert_eq!(code(&answer), "outcome-unknown", "once nobody has renewed it");
    assert_eq!((orders(&other.server.home), orders(&third.server.home)), (0, 0));
}

#[test]
fn keys_are_kept_in_memory_without_a_state_folder() {
    let server = Server::spawn(Home::new(), &config("audit.off = true"), &[], |command| {
        for name in ["PORTCULLIS_STATE", "XDG_STATE_HOME", "HOME"] {
            command.env_remove(name);
        }
    });
    server.wait_until_loaded();
    let mut client = Client::of_server(server);
    let first = send(&mut client, &buy("k", ""));
    let again = send(&mut client, &buy("k", ""));
    assert!(is_repeated(&again) && unmarked(&again) == *first.result());
    let [one, other] = super::both(&mut client, &buy("l", "wait 300"));
    assert_eq!(unmarked(&one), unmarked(&other));
    assert_eq!(orders(&client.server.home), 2);
}
