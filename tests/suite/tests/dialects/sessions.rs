//! Sessions of wasmcp: what a component keeps between calls, for whom, and how much of it.

use super::refused;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;
use suite::client::modern_meta;
use suite::http::{self, request};
use suite::{Called, Client, Era, Home, Server, paths, plugin, plugin_from, with_manifest};

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
    client.server.wait_for_log("The manifest of `wasmcp-session` does not request it");
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
    let home = Home::new();
    let settings = "grants.state = {}\nlimits.fuel = 20_000_000_000";
    let config = plugin_from("todo", &requesting(&home, "wasmcp-session"), settings);
    let mut client = Client::of_server(Server::measurable(home, &config, &[], |_| {}));
    // Loads its code.
    client.call("todo__list", json!({})).good();
    let (held, grown) = client.measured(|client| client.call("todo__hold", json!({})));
    assert!(held.is_error() && held.code() == "handles-exceeded", "{}", held.result());
    assert!(grown < 64 << 20, "the server took {} MiB more", grown >> 20);
    assert_eq!(client.call("todo__list", json!({})).good(), "");
}

#[test]
fn values_of_all_types_come_back() {
    let mut client = client_of("wasmcp-session", GRANT);
    assert_eq!(client.call("todo__all", json!({})).good(), "true");
}

/// What a user answers.
fn answer(method: &str, params: &Value) -> Value {
    assert_eq!(method, "elicitation/create");
    if params["mode"] == "url" {
        assert_eq!(params["url"], "https://example.com/page");
        return json!({"action": "accept"});
    }
    let schema = &params["requestedSchema"];
    if params["message"].as_str().unwrap().ends_with("asks: Which?") {
        let colour = json!({"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]});
        assert_eq!(schema["properties"]["colour"], colour);
        return json!({"action": "decline"});
    }
    let named = |name: &str| json!({"const": name, "title": name.to_uppercase()});
    let properties = json!({
        "name": {
            "title": "Name", "description": "Who", "type": "string", "minLength": 1, "maxLength": 9, "default": "Ada",
        },
        "mail": {"type": "string", "format": "email"},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "sure": {"type": "boolean", "default": false},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "shade": {"type": "string", "oneOf": [named("light"), named("dark")], "default": "dark"},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        "marks": {"type": "array", "items": {"anyOf": [named("x"), named("y")]}},
    });
    assert_eq!(schema["properties"], properties, "{schema}");
    assert_eq!(schema["required"], json!(["name"]));
    json!({"action": "accept", "content": {"name": "Eve", "size": 3, "sure": true, "tags": ["a"], "marks": ["x", "y"]}})
}

/// A client that may be asked everything that the guest asks.
fn asked(guest: &str, era: Era, grants: &str) -> Client {
    let home = Home::new();
    let component = std::fs::read(paths::guest(guest)).unwrap();
    let requests = json!({"state": true, "client": {"form": true, "url": true}});
    let manifest = json!({"name": guest, "version": "1.0.0", "requests": requests});
    let file = home.write("asking.wasm", with_manifest(component, &manifest));
    let server = Server::start_in(home, &plugin_from("todo", &file, grants));
    let mut client = Client::able(server, era, false, json!({"elicitation": {"form": {}, "url": {}}}));
    client.answering = Some(answer);
    client
}

/// Calls a tool and answers what it asks, in whichever way the protocol has.
fn answered(client: &mut Client, tool: &str, arguments: &Value) -> Called {
    let called = client.call(tool, arguments.clone());
    let Some(asked) = called.result()["inputRequests"].as_object() else { return called };
    let responses: serde_json::Map<_, _> = asked
        .iter()
        .map(|(key, request)| (key.clone(), answer(request["method"].as_str().unwrap(), &request["params"])))
        .collect();
    let state = &called.result()["requestState"];
    let params = json!({"name": tool, "arguments": arguments, "requestState": state, "inputResponses": responses});
    Called(client.request("tools/call", params))
}

#[test]
fn a_session_asks_the_user() {
    const GRANTS: &str = "grants.state = {}\ngrants.client = { form = true, url = [\"example.com\"] }";
    let fields = [
        r#"("name", String("Eve"))"#,
        r#"("size", Number(3.0))"#,
        r#"("sure", Boolean(true))"#,
        r#"("tags", StringArray(["a"]))"#,
        r#"("marks", StringArray(["x", "y"]))"#,
    ];
    for era in Era::ALL {
        let mut client = asked("wasmcp-session", era, GRANTS);
        let form = answered(&mut client, "todo__ask", &json!({}));
        let said = form.good();
        let plain = said.replace("ElicitResultContent::", "");
        let length = "ElicitResultAction::Accept Some([])".len() + fields.join(", ").len();
        assert!(plain.starts_with("ElicitResultAction::Accept Some([") && plain.len() == length, "{era:?}: {said}");
        assert!(fields.iter().all(|field| plain.contains(field)), "{era:?}: {said}");
        let url = answered(&mut client, "todo__ask", &json!({"url": "https://example.com/page"}));
        assert_eq!(url.good(), "ElicitResultAction::Accept None", "{era:?}");
        let mut client = asked("wasmcp-counter", era, GRANTS);
        let declined = answered(&mut client, "todo__ask", &json!({}));
        assert_eq!(declined.good(), "ElicitResultAction::Decline None", "{era:?}");
    }
}

#[test]
fn a_question_of_a_session_needs_its_own_grant() {
    let mut client = asked("wasmcp-session", Era::Modern, GRANT);
    for (arguments, capability) in
        [(json!({}), "client.form"), (json!({"url": "https://example.com/page"}), "client.url")]
    {
        let denied = client.call("todo__ask", arguments);
        let said = format!("unexpected: `{capability}` is not allowed to this plugin. Ask the user");
        assert!(denied.is_error() && denied.text().starts_with(&said), "{}", denied.result());
    }
    client.server.wait_for_log("To allow it: portcullis grant todo 'client.form = true'");
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
