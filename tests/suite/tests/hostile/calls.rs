//! Guests that try to use more than their grants: files, network, environment, other calls, other tools.

use super::Row;
use super::fixture::{Fixture, Who};
use serde_json::{Value, json};
use std::net::{TcpListener, UdpSocket};
use suite::home::{SECRET, fingerprint};

/// Runs an escape attempt and checks that nothing outside was read or changed.
fn contained(fixture: &Fixture, guest: &str) -> String {
    let home = fixture.server().home.path().to_owned();
    let before = fingerprint(&home.join("outside"));
    let known = home.join("portcullis.toml").display().to_string();
    let message = fixture.call(guest, json!({"path": known}));
    let (told, after) = (message.to_string(), fingerprint(&home.join("outside")));
    let failed = message["result"]["isError"] == true && !told.contains("SUCCEEDED");
    match failed && before == after && !told.contains(SECRET) && !told.contains("root:") {
        true => "contained".to_owned(),
        false => told,
    }
}

/// The error code and the missing capability.
fn denied(fixture: &Fixture, guest: &str, arguments: Value) -> String {
    let called = fixture.called(guest, arguments);
    format!("{} {}", called.code(), called.error()["capability"].as_str().unwrap_or_default())
}

/// Runs a guest that tries every kind of connection to local listeners.
fn network(fixture: &Fixture) -> String {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let said = fixture.run("net-connect", json!({"n": port}));
    match (tcp.accept(), udp.recv(&mut [0; 16]), said.starts_with("failed: all refused")) {
        (Err(_), Err(_), true) => "all refused, nothing arrived".to_owned(),
        seen => format!("{seen:?} {said}"),
    }
}

/// Answers the guest's questions until the host refuses the next one; returns their number and the outcome.
fn asks(fixture: &Fixture, path: &str, times: u64) -> String {
    let arguments = json!({"path": path, "n": times});
    let mut params = json!({"name": "ask__run", "arguments": arguments});
    let able = json!({"sampling": {}, "elicitation": {"form": {}}});
    for asked in 0.. {
        let message = fixture.ask_able(Who::Alice, "tools/call", params.clone(), &able);
        let result = &message["result"];
        let Some(requests) = result["inputRequests"].as_object() else {
            return format!("{asked} asked, then {}", super::fixture::outcome(&message));
        };
        let answer = |request: &Value| match request["method"].as_str() {
            Some("elicitation/create") => json!({"action": "accept", "content": {"name": "Ada"}}),
            _ => {
                json!({"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m", "stopReason": "endTurn"})
            }
        };
        let answers: serde_json::Map<_, _> = requests.iter().map(|(key, of)| (key.clone(), answer(of))).collect();
        params = json!({"name": "ask__run", "arguments": arguments, "requestState": result["requestState"], "inputResponses": answers});
    }
    unreachable!("a budget ends")
}

pub(super) const ROWS: &[Row] = &[
    Row {
        id: "W10.1",
        what: "out of its directory by two dots",
        outcome: "contained",
        run: |g| contained(g, "escape-dotdot"),
    },
    Row { id: "W10.2", what: "by absolute paths", outcome: "contained", run: |g| contained(g, "escape-absolute") },
    Row { id: "W10.3", what: "by links that lie there", outcome: "contained", run: |g| contained(g, "escape-symlink") },
    Row {
        id: "W10.4",
        what: "by links of its own",
        outcome: "contained",
        run: |g| contained(g, "escape-symlink-create"),
    },
    Row {
        id: "W10.5",
        what: "by slashes behind links",
        outcome: "contained",
        run: |g| contained(g, "escape-trailing-slash"),
    },
    Row {
        id: "W10.6",
        what: "writing where it may read",
        outcome: "contained",
        run: |g| contained(g, "write-readonly"),
    },
    Row {
        id: "W10.7",
        what: "writing what was granted and never requested",
        outcome: "contained",
        run: |g| contained(g, "write-unrequested"),
    },
    Row { id: "W10.8", what: "writing without any grant", outcome: "contained", run: |g| contained(g, "write-inside") },
    Row { id: "W11.1", what: "TCP, UDP, listening, names", outcome: "all refused, nothing arrived", run: network },
    Row {
        id: "W14.1",
        what: "environment, arguments, directories, input",
        outcome: "nothing",
        run: |g| {
            let message = g.call("env-peek", json!({}));
            let nothing = json!({"env": [], "args": [], "cwd": null, "preopens": [], "stdin": 0});
            let found = &message["result"]["structuredContent"];
            if *found == nothing { "nothing".to_owned() } else { found.to_string() }
        },
    },
    Row {
        id: "W14.2",
        what: "what an earlier call left in memory (GHSA-6wgr)",
        outcome: "ok: calls before: 0, bytes found: 0",
        run: |g| {
            g.run("leftover", json!({}));
            g.run("leftover", json!({}))
        },
    },
    Row { id: "W15.1", what: "A calls itself", outcome: "cycle", run: |g| cycle(g, "self-recursion") },
    Row { id: "W15.2", what: "A calls B calls A", outcome: "cycle", run: |g| cycle(g, "mutual-recursion") },
    Row {
        id: "W16.1",
        what: "a chain of calls nine deep",
        outcome: "depth-exceeded",
        run: |g| g.run("deep-chain", json!({})),
    },
    Row {
        id: "W16.2",
        what: "10,000 calls of a tool",
        outcome: "calls-exceeded",
        run: |g| g.run("reverse-flood", json!({})),
    },
    Row {
        id: "W17.1",
        what: "having a tool with little fuel compute",
        outcome: "failed, and the caller paid",
        run: |g| {
            let called = g.called("relay", json!({"path": "poor.run"}));
            let fuel = called.usage()["fuel"].as_u64().unwrap();
            let paid = called.is_error() && fuel > 100_000;
            if paid { "failed, and the caller paid".to_owned() } else { format!("{} {fuel}", called.result()) }
        },
    },
    Row {
        id: "W20.1",
        what: "a tool that panics, called by another",
        outcome: "failed, and the caller lives",
        run: |g| match g.run("relay", json!({"path": "trap.run"})) {
            said if said.starts_with("failed: ") => "failed, and the caller lives".to_owned(),
            said => said,
        },
    },
    Row {
        id: "M7.1",
        what: "a tool of the agent's side, called as if it were listed",
        outcome: "-32602",
        run: |g| g.run("poor", json!({})),
    },
    Row {
        id: "W22.1",
        what: "calling a tool that was requested and not granted",
        outcome: "denied agent-tools",
        run: |g| denied(g, "ungranted-agent-tool", json!({})),
    },
    Row {
        id: "W22.2",
        what: "calling a tool that was granted and never requested",
        outcome: "denied agent-tools",
        run: |g| denied(g, "unrequested-agent-tool", json!({})),
    },
    Row {
        id: "W22.3",
        what: "listing tools without a grant",
        outcome: "ok: ",
        run: |g| g.run("list-agent-tools", json!({})),
    },
    Row {
        id: "M10.1",
        what: "asking a model that the client did not offer",
        outcome: "-32021",
        run: |g| g.run("ask", json!({"path": "sample"})),
    },
    Row {
        id: "M11.1",
        what: "asking the client's model a thousand times",
        outcome: "16 asked, then failed: the plugin ran out of calls: the limit is 16",
        run: |g| asks(g, "samples", 1_000),
    },
    Row {
        id: "M12.1",
        what: "a form that asks for a secret",
        outcome: "refused: asks for a secret",
        run: |g| able_to_fill_forms(g, "secret"),
    },
    Row {
        id: "M12.2",
        what: "a form of more than flat fields",
        outcome: "refused: forms are flat",
        run: |g| able_to_fill_forms(g, "nested"),
    },
    Row {
        id: "M12.3",
        what: "a page to be opened, not granted",
        outcome: "denied",
        run: |g| able_to_fill_forms(g, "url"),
    },
    Row {
        id: "M12.4",
        what: "a hundred forms in one call",
        outcome: "32 asked, then failed: the plugin ran out of questions: the limit is 32",
        run: |g| asks(g, "rounds", 100),
    },
    Row {
        id: "M12.5",
        what: "a page that is a program",
        outcome: "refused: must be https:",
        run: |g| page(g, "javascript:alert(document.cookie)"),
    },
    Row {
        id: "M12.6",
        what: "a file of the user's machine",
        outcome: "refused: must be https:",
        run: |g| page(g, "file:///etc/passwd"),
    },
    Row {
        id: "M12.7",
        what: "a page without TLS",
        outcome: "refused: must be https:",
        run: |g| page(g, "http://example.com/"),
    },
    Row {
        id: "M12.8",
        what: "a page of a name in Punycode that looks like the granted one",
        outcome: "denied",
        run: |g| page(g, "https://xn--xample-9uf.com/"),
    },
    Row {
        id: "M12.9",
        what: "the same, spelt as it looks",
        outcome: "denied",
        run: |g| page(g, "https://\u{435}xample.com/"),
    },
    Row {
        id: "M12.10",
        what: "a page of the granted name as a user's name",
        outcome: "refused: must not have credentials in it",
        run: |g| page(g, "https://example.com@evil.example/"),
    },
    Row {
        id: "M12.11",
        what: "the granted page (so that the rows before are about the address)",
        outcome: "asks",
        run: |g| page(g, "https://example.com/"),
    },
];

fn cycle(fixture: &Fixture, guest: &str) -> String {
    let said = fixture.run(guest, json!({"n": 1}));
    if said.contains("cycle") { "cycle".to_owned() } else { said }
}

fn able_to_fill_forms(fixture: &Fixture, path: &str) -> String {
    able_to_answer(fixture, "ask", path)
}

/// Has a plugin that may open pages of `example.com` open this address.
fn page(fixture: &Fixture, address: &str) -> String {
    able_to_answer(fixture, "ask-briefly", &format!("url {address}"))
}

fn able_to_answer(fixture: &Fixture, plugin: &str, path: &str) -> String {
    let params = json!({"name": format!("{plugin}__run"), "arguments": {"path": path}});
    let able = json!({"elicitation": {"form": {}, "url": {}}});
    // The guest passes on the error that the host returned.
    super::fixture::outcome(&fixture.ask_able(Who::Alice, "tools/call", params, &able))
        .replace("failed: ClientError::Invalid", "refused: ")
}
