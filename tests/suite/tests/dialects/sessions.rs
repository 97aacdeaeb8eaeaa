//! Sessions of wasmcp: what a component keeps between calls, for whom, and how much of it.

use super::refused;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;
use suite::client::modern_meta;
use suite::http::{self, request};
use suite::{Called, Client, Home, Server, paths, plugin, plugin_from, with_manifest};

const GRANT: &str = "grants.state = {}";

/// The guest, with a manifest that requests state.
fn requesting(home: &Home, guest: &str) -> PathBuf {
    let component = std::fs::read(paths::guest(guest)).unwrap();
    let manifest = json!({"name": guest, "version": "1.0.0", "requests": {"state": true}});
    home.write(&format!("{guest}.wasm"), with_manifest(component, &manifest))
}

fn client_of(guest: &str, settings: &str) -> Client {
    let home = Home::new();
    let file = requesting(&home, guest);
    Client::of_server(Server::start_in(home, &plugin_from("todo", &file, settings)))
}

fn body(tool: &str, arguments: &Value, meta: Option<Value>) -> String {
    let mut params = json!({"name": tool, "arguments": arguments});
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

/// A call of a client whose protocol has no sessions.
fn modern(address: SocketAddr, key: &str, tool: &str, arguments: &Value) -> Called {
    let bearer = format!("Bearer {key}");
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
        ("Authorization", &bearer),
    ];
    let body = body(tool, arguments, Some(modern_meta(false)));
    Called(request(address, "POST", &headers, &body).answer(1, Instant::now()))
}

/// A call in a new session of a client whose protocol has them.
fn legacy(address: SocketAddr, key: &str, tool: &str, arguments: &Value) -> Called {
    let bearer = format!("Bearer {key}");
    let session = http::legacy_session_of(address, false, "2025-11-25", &[("Authorization", &bearer)]);
    let body = body(tool, arguments, None);
    Called(http::legacy(address, &session, "POST", &[], &body).answer(1, Instant::now()))
}

#[test]
fn a_session_is_that_of_the_principal_whatever_the_protocol() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]);
    let file = requesting(&home, "wasmcp-session");
    let config = plugin_from("todo", &file, GRANT)
        + &plugin_from("twin", &file, GRANT)
        + "[server.auth]\nkeys = \"keys.toml\"\n";
    let (mut server, address) = Server::start_http_in(home, &config);
    let add = |title: &str| json!({ "title": title });
    assert_eq!(modern(address, &alice, "todo__add", &add("milk")).good(), "1 items");
    assert_eq!(legacy(address, &alice, "todo__add", &add("bread")).good(), "2 items");
    assert_eq!(legacy(address, &alice, "todo__list", &json!({})).good(), "milk, bread", "in another transport session");
    // Of another principal, and of another plugin from the same component.
    for (key, tool) in [(&bob, "todo"), (&alice, "twin")] {
        let call = |name: &str, arguments: &Value| modern(address, key, &format!("{tool}__{name}"), arguments);
        assert_eq!(call("list", &json!({})).good(), "", "{tool}");
        call("add", &add("his")).good();
    }
    let id = |address, key: &str, tool: &str| {
        let said = modern(address, key, &format!("{tool}__id"), &json!({})).good();
        said.strip_suffix(" true").unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    let hers = id(address, &alice, "todo");
    assert_eq!((hers.len(), &hers[8..9], &hers[14..15]), (36, "-", "4"), "a UUID of version 4: {hers}");
    let others = [id(address, &bob, "todo"), id(address, &alice, "twin")];
    assert!(!others.contains(&hers) && others[0] != others[1], "{hers} {others:?}");
    // Knowing an id opens nothing.
    let nil = "00000000-0000-4000-8000-000000000000";
    for other in [&others[0], &others[1], nil, "", "../x", &hers.to_uppercase()] {
        let called = modern(address, &alice, "todo__open", &json!({ "id": other }));
        assert!(called.is_error() && called.text().contains("NoSuchSession"), "{other}: {}", called.result());
    }
    let stolen = modern(address, &bob, "todo__list", &json!({ "id": hers }));
    assert!(stolen.is_error() && stolen.text().contains("NoSuchSession"), "{}", stolen.result());
    let called = modern(address, &alice, "todo__open", &json!({"store": "default"}));
    assert!(called.text().contains("there is no store of this name"), "{}", called.result());
    let address = server.restart();
    assert_eq!(modern(address, &alice, "todo__list", &json!({})).good(), "milk, bread", "after a restart");
    assert_eq!(id(address, &alice, "todo"), hers);
    assert_eq!(modern(address, &alice, "todo__end", &json!({})).good(), "ended");
    server.wait_for_log("its session ends: it is done");
    assert_eq!(legacy(address, &alice, "todo__list", &json!({})).good(), "", "a terminated session is empty");
    assert_eq!(modern(address, &alice, "twin__list", &json!({})).good(), "his");
    assert_eq!(modern(address, &bob, "todo__list", &json!({})).good(), "his");
}

#[test]
fn a_session_needs_the_grant_of_state() {
    let mut client = client_of("wasmcp-session", "");
    for tool in ["add", "list", "id", "end"] {
        let called = client.call(&format!("todo__{tool}"), json!({}));
        assert!(called.is_error(), "{tool}");
        let said = "store: `state` is not allowed to this plugin. Ask the user, who alone can allow it";
        assert_eq!(called.text(), said, "{tool}");
    }
    client.server.wait_for_log("To allow it: portcullis grant todo 'state = {}'");
    for file in ["values.db", "sessions.key"] {
        assert!(!client.server.home.path().join("state").join(file).exists(), "{file} is made for nobody");
    }
    // Granted, but not requested.
    let mut client = Client::of(&plugin("wasmcp-session", GRANT));
    let called = client.call("wasmcp-session__list", json!({}));
    assert!(called.is_error() && called.text().ends_with("No grant can change that"), "{}", called.result());
    client.server.wait_for_log("the manifest of `wasmcp-session` does not request it");
}

#[test]
fn a_session_is_within_the_quota_of_state() {
    let mut client = client_of("wasmcp-session", "grants.state = { size = \"1 KiB\", keys = 3 }");
    let mut call = |tool: &str, n: u64| client.call(&format!("todo__{tool}"), json!({ "n": n }));
    let full = |called: Called, limit: u64| {
        let said = format!("store: the plugin's state is full: {limit} is what it may have");
        assert!(called.is_error() && called.text() == said, "{}", called.result());
    };
    full(call("large", 1 << 20), 1024);
    full(call("large", 1024), 1024);
    call("large", 700).good();
    full(call("many", 3), 3);
    assert_eq!(call("end", 0).good(), "ended");
    assert_eq!(call("many", 3).good(), "kept", "what was terminated takes no room");
    call("end", 0).good();
    // However long a key is, what is kept of it is short.
    assert_eq!(call("long", 100_000).good(), "kept");
    assert_eq!(call("long", 99_999).good(), "kept", "another one");
    assert_eq!(call("long", 0).good(), "kept");
    full(call("long", 1), 3);
}

#[test]
fn handles_of_sessions_are_counted() {
    let mut client = client_of("wasmcp-session", "grants.state = {}\nlimits.fuel = 20_000_000_000");
    let before = client.server.memory();
    client.server.forget_peak();
    let held = client.call("todo__hold", json!({}));
    assert!(held.is_error() && held.code() == "handles-exceeded", "{}", held.result());
    let grown = client.server.peak_memory().saturating_sub(before);
    assert!(grown < 64 << 20, "the server took {} MiB more", grown >> 20);
    assert_eq!(client.call("todo__list", json!({})).good(), "");
}

#[test]
fn values_of_all_types_come_back() {
    let mut client = client_of("wasmcp-session", GRANT);
    assert_eq!(client.call("todo__all", json!({})).good(), "true");
    let asked = client.call("todo__ask", json!({}));
    assert!(asked.is_error() && asked.text().contains("no questions of sessions"), "{}", asked.result());
}

#[test]
fn sessions_of_the_older_protocol_are_the_same() {
    let mut client = client_of("wasmcp-counter", GRANT);
    for count in 1..=3 {
        assert_eq!(client.call("todo__count", json!({})).good(), format!("{count} calls"));
        let got = client.request("prompts/get", json!({"name": "todo__count"}));
        assert_eq!(got.result()["messages"][0]["content"]["text"], format!("{count} prompts"));
    }
}

#[test]
fn what_manages_sessions_or_opens_stores_is_refused() {
    refused("wasmcp-manager", &["wasmcp:mcp-v20251125/session-manager@0.1.1", "managed by the host"]);
    refused("wasmcp-buckets", &["wasmcp:keyvalue/store@0.1.0", "only its types"]);
}
