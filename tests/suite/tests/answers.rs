//! Guests that break or answer with what they must not: each gives one typed error, and the next call works.

use serde_json::json;
use suite::{Client, plugin};

fn client(guest: &str) -> Client {
    Client::of(&(plugin(guest, "") + &plugin("echo", "")))
}

#[test]
fn a_panic_tells_its_last_words() {
    let mut client = client("panic");
    let called = client.run("panic", json!({"n": 5}));
    assert_eq!(called.code(), "trap");
    assert!(called.error()["trap"].is_string(), "{}", called.error());
    assert!(
        called.error()["message"].as_str().is_some_and(|words| words.contains("no bananas left")),
        "{}",
        called.error()
    );
    client.check_alive();
}

#[test]
fn a_trap_is_named() {
    let mut client = client("unreachable");
    let called = client.run("unreachable", json!({}));
    assert_eq!(called.code(), "trap");
    assert!(called.error()["trap"].as_str().is_some_and(|trap| trap.contains("unreachable")), "{}", called.error());
    client.check_alive();
}

#[test]
fn an_exit_ends_the_call_and_not_the_host() {
    let mut client = client("exit");
    let called = client.run("exit", json!({}));
    assert_eq!(called.code(), "exited");
    // WASI 0.2 knows success and failure only; a guest's 3 arrives as 1.
    assert_eq!(called.number("status"), 1);
    client.check_alive();
    assert!(client.server.is_alive());
}

#[test]
fn what_is_no_answer_is_not_passed_on() {
    for (guest, reason) in
        [("bad-utf8", "UTF-8"), ("bad-json", "JSON"), ("wrong-schema", "boolean"), ("no-structure", "schema")]
    {
        let mut client = client(guest);
        let called = client.run(guest, json!({}));
        assert_eq!(called.code(), "invalid-output", "{guest}: {}", called.result());
        let said = called.error()["reason"].as_str().unwrap_or_default().to_owned();
        assert!(said.contains(reason), "{guest}: {said}");
        assert!(called.result().get("structuredContent").is_none(), "{guest}: {}", called.result());
        client.check_alive();
    }
}

#[test]
fn an_error_holds_nothing_of_the_hosts_inside() {
    for guest in ["panic", "unreachable", "exit", "bad-utf8"] {
        let mut client = client(guest);
        let called = client.run(guest, json!({}));
        let text = called.result().to_string();
        for inside in ["wasmtime", "backtrace", ".cargo", "0x", "host/src", "/rustc/"] {
            assert!(!text.contains(inside), "{guest} tells {inside:?}: {text}");
        }
    }
}
