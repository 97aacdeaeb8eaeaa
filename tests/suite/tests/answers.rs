//! Guests that crash or return invalid answers: each causes one typed error, and the next call works.

use serde_json::json;
use suite::{Client, plugin};

fn client(guest: &str) -> Client {
    Client::of(&(plugin(guest, "") + &plugin("echo", "")))
}

#[test]
fn a_panic_message_is_reported() {
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
fn a_trap_is_reported_by_name() {
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
    // WASI 0.2 only distinguishes success and failure: exit status 3 is reported as 1.
    assert_eq!(called.number("status"), 1);
    client.check_alive();
    assert!(client.server.is_alive());
}

#[test]
fn an_invalid_answer_is_not_passed_on() {
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
fn an_error_reveals_no_host_internals() {
    for guest in ["panic", "unreachable", "exit", "bad-utf8"] {
        let mut client = client(guest);
        let called = client.run(guest, json!({}));
        let text = called.result().to_string();
        for inside in ["wasmtime", "backtrace", ".cargo", "0x", "host/src", "/rustc/"] {
            assert!(!text.contains(inside), "{guest} tells {inside:?}: {text}");
        }
    }
}
