//! Every call is isolated: it sees no environment, no network and nothing of other calls.

use serde_json::json;
use std::net::{TcpListener, UdpSocket};
use suite::{Client, Era, Home, Server, plugin};

#[test]
fn a_guest_sees_no_environment_arguments_or_directories() {
    let server = Server::spawn(Home::new(), &plugin("env-peek", ""), &[], |command| {
        command.env("PORTCULLIS_SUITE_SECRET", "do not tell");
    });
    let mut client = Client::new(server, Era::Modern, false);
    let called = client.run("env-peek", json!({}));
    let nothing = json!({"env": [], "args": [], "cwd": null, "preopens": [], "stdin": 0});
    assert_eq!(called.result()["structuredContent"], nothing, "{}", called.result());
}

#[test]
fn a_guest_has_no_network_without_a_grant() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let mut client = Client::of(&(plugin("net-connect", "") + &plugin("echo", "")));
    let called = client.run("net-connect", json!({"n": port}));
    assert!(called.is_error() && called.text().contains("all refused"), "{}", called.result());
    assert!(tcp.accept().is_err(), "a connection arrived");
    assert!(udp.recv(&mut [0; 16]).is_err(), "a datagram arrived");
    client.check_alive();
}

#[test]
fn no_guest_memory_survives_a_call() {
    let mut client = Client::of(&plugin("leftover", ""));
    for _ in 0..20 {
        assert_eq!(client.run("leftover", json!({})).good(), "calls before: 0, bytes found: 0");
    }
}

#[test]
fn a_preinstantiated_guest_behaves_like_a_fresh_one() {
    let server = Server::start(&(plugin("echo", "") + &plugin("early-emit", "")));
    let mut client = Client::new(server, Era::Modern, true);
    let fuel: Vec<_> = (0..10).map(|_| client.run("echo", json!({})).usage()["fuel"].clone()).collect();
    assert!(fuel.iter().all(|used| used == &fuel[0]), "{fuel:?}");
    for _ in 0..5 {
        // A chunk that a constructor sends arrives with the call, even if the instance was created before it.
        let called = client.run("early-emit", json!({}));
        assert_eq!((called.good().as_str(), called.chunks().len()), ("done", 1), "{}", called.result());
    }
}

#[test]
fn a_granted_directory_is_opened_at_call_time() {
    let home = Home::new();
    std::fs::create_dir(home.path().join("tree")).unwrap();
    home.write("tree/inside.txt", "first");
    let read = r#"grants.filesystem = [{ host = "tree", guest = "/work", access = "read" }]"#;
    let mut client = Client::new(Server::start_in(home, &plugin("read-inside", read)), Era::Modern, false);
    for text in ["first", "second", "third"] {
        assert_eq!(client.run("read-inside", json!({})).good(), text);
        let tree = client.server.home.path().join("tree");
        std::fs::remove_dir_all(&tree).unwrap();
        std::fs::create_dir(&tree).unwrap();
        std::fs::write(tree.join("inside.txt"), if text == "first" { "second" } else { "third" }).unwrap();
    }
}

#[test]
fn concurrent_calls_do_not_mix() {
    let mut client = Client::of(&plugin("echo", ""));
    let started = std::time::Instant::now();
    let ids: Vec<_> =
        (0..64).map(|n| (n, client.begin_call("echo__run", json!({"n": n, "path": format!("p{n}")})))).collect();
    for (n, id) in ids {
        let called = suite::Called(client.wait(id, started));
        assert_eq!(called.result()["structuredContent"], json!({"n": n, "path": format!("p{n}")}));
    }
}

#[test]
fn a_spinning_guest_does_not_keep_others_waiting() {
    let spin = plugin("spin", "limits.fuel = 1_000_000_000_000\nlimits.deadline = \"60s\"");
    let mut client = Client::of(&(spin + &plugin("echo", "")));
    client.check_alive();
    let spinning: Vec<_> = (0..8).map(|_| client.begin_call("spin__run", json!({}))).collect();
    suite::Watch::until_busy(&client.server);
    for _ in 0..10 {
        let called = client.run("echo", json!({"n": 1}));
        called.good();
        assert!(called.0.elapsed() < std::time::Duration::from_secs(2), "{:?}", called.0.elapsed());
    }
    assert!(!spinning.iter().any(|&id| client.is_answered(id)), "they were to spin");
}

#[test]
fn more_concurrent_calls_than_instances_end_with_an_error() {
    let wait = plugin("wait-forever", "limits.deadline = \"3s\"\nlimits.breaker.failures = 0");
    let mut client = Client::of(&(wait + &plugin("echo", "")));
    client.check_alive();
    let started = std::time::Instant::now();
    let ids: Vec<_> = (0..2_000).map(|_| client.begin_call("wait-forever__run", json!({}))).collect();
    for id in ids {
        let called = suite::Called(client.wait(id, started));
        assert!(["deadline-exceeded", "busy"].contains(&called.code()), "{}", called.error());
    }
    client.check_alive();
}
