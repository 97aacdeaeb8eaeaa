//! Clients that disconnect or cancel while a reverse call runs.

use super::Case;
use super::fixture::{EXTENSION, Fixture, Who, decent, declaring, one, tool};
use serde_json::{Value, json};
use std::time::Instant;
use suite::{Called, Client, Era, PATIENCE, Server, eventually, paths, plugin, plugin_from};

/// The reverse call request of the legacy revision.
const REQUEST: &str = "dev.portcullis/tools/call";

/// A legacy client over stdio with a pending reverse call; the id of its call, and the id of the server's request.
fn pending_call() -> (Client, u64, Value) {
    let config =
        plugin_from("calls", &paths::guest("agent-calls"), r#"grants.agent-tools = ["*.*"]"#) + &plugin("echo", "");
    let abilities = declaring(&[tool("tools.get")], json!({}));
    let mut client = Client::able(Server::start(&config), Era::Legacy, false, abilities);
    let id = client.begin_call("calls__run", json!({"path": one("tools.get").to_string()}));
    let question = client.wait_for(REQUEST);
    assert_eq!(question["params"]["name"], "tools.get", "{question}");
    (client, id, question["id"].clone())
}

/// Waits until a call of Alice's runs.
fn until_busy(fixture: &Fixture) {
    assert!(eventually(PATIENCE, || (!fixture.is_idle(Who::Alice)).then_some(())).is_some(), "nothing ever ran");
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "HTTP is cut while an agent tool runs",
        outcome: "nothing runs any more",
        run: |fixture| {
            let script = one("endless.run").to_string();
            let stream = fixture.hang(Who::Alice, json!({"name": "rich__run", "arguments": {"path": script}}));
            until_busy(fixture);
            drop(stream);
            fixture.until_idle();
            "nothing runs any more".into()
        },
    },
    Case {
        what: "a client that never comes back",
        outcome: "nothing is parked any more",
        run: |fixture| {
            for _ in 0..super::PARKED {
                fixture.run("hasty", one("tools.get"), &decent()).only();
            }
            fixture.until_idle();
            "nothing is parked any more".into()
        },
    },
    Case {
        what: "cancelled while a reverse call waits (2025-11-25)",
        outcome: "withdrawn, no answer",
        run: |_| {
            let (mut client, id, question) = pending_call();
            client.cancel(id);
            let withdrawn = client.wait_for("notifications/cancelled");
            client.check_alive();
            let word = if withdrawn["params"]["requestId"] == question { "withdrawn" } else { "something else" };
            format!("{word}, {}", if client.is_answered(id) { "an answer" } else { "no answer" })
        },
    },
    Case {
        what: "answered after it was cancelled (2025-11-25)",
        outcome: "it goes on",
        run: |_| {
            let (mut client, id, question) = pending_call();
            client.cancel(id);
            client.wait_for("notifications/cancelled");
            for _ in 0..2 {
                client.server.send(&json!({"jsonrpc": "2.0", "id": question, "result": {"content": []}}));
            }
            client.check_alive();
            "it goes on".into()
        },
    },
    Case {
        what: "an answer twice, and one that nobody asked for (2025-11-25)",
        outcome: "ok",
        run: |_| {
            let (mut client, id, question) = pending_call();
            let answer = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}});
            client.server.send(&answer(&json!(987_654)));
            client.server.send(&answer(&question));
            client.server.send(&answer(&question));
            let called = Called(client.wait(id, Instant::now()));
            client.check_alive();
            if called.good().contains("error") { called.good() } else { "ok".into() }
        },
    },
    Case {
        what: "errors by their codes (2025-11-25)",
        outcome: "declined, not-supported, failed",
        run: |_| {
            let mut seen = vec![];
            for error in [
                json!({"code": -32000, "message": "no", "data": {"code": "declined"}}),
                json!({"code": -32601, "message": "what?"}),
                json!({"code": -32603, "message": "oh"}),
            ] {
                let (mut client, id, question) = pending_call();
                client.server.send(&json!({"jsonrpc": "2.0", "id": question, "error": error}));
                let said: Value = serde_json::from_str(&Called(client.wait(id, Instant::now())).good()).unwrap();
                seen.push(said[0]["error"].as_str().unwrap_or("ok").to_owned());
            }
            seen.join(", ")
        },
    },
    Case {
        what: "a server behind the host is killed while its tool runs",
        outcome: "failed, and the host goes on",
        run: |_| {
            let (mut far, address) = Server::start_http(&plugin("slow-stream", ""));
            let config = plugin("pass-on", r#"grants.agent-tools = ["far.*"]"#)
                + &format!("[upstream.far]\nurl = \"http://{address}/mcp\"\n\n")
                + &plugin("echo", "");
            let mut client = Client::new(Server::start(&config), Era::Modern, true);
            assert!(eventually(PATIENCE, || (client.tools().len() == 3).then_some(())).is_some(), "no server is found");
            let id = client.begin_call("pass-on__run", json!({"path": "far.slow-stream__run", "n": 10_000}));
            while client.wait_for(Called::CHUNK)["params"]["_meta"]["dev.portcullis/origin"].is_null() {}
            far.kill();
            let said = Called(client.wait(id, Instant::now())).good();
            client.check_alive();
            let word = if said.contains("far.slow-stream__run: ToolError::Failed") { "failed" } else { &*said };
            format!("{word}, and the host goes on")
        },
    },
    Case {
        what: "stdin is closed while a reverse call waits",
        outcome: "it ends well",
        run: |_| {
            let (mut client, ..) = pending_call();
            let status = client.server.end();
            if status.success() { "it ends well".into() } else { status.to_string() }
        },
    },
    Case {
        what: "killed while calls are parked, and started again",
        outcome: "it goes on, then -32602",
        run: |_| {
            let config = plugin_from("calls", &paths::guest("agent-calls"), r#"grants.agent-tools = ["*.*"]"#);
            let capabilities = declaring(&[tool("tools.get")], json!({}));
            let (mut server, address) = Server::start_http(&config);
            let arguments = json!({"path": one("tools.get").to_string()});
            let params = json!({"name": "calls__run", "arguments": arguments});
            let first = super::fixture::bare(address, params.clone(), &capabilities);
            let mut retry = params;
            retry["_meta"] = json!({EXTENSION: {"continuation": first["result"]["continuation"], "results": {}}});
            assert!(first["result"]["continuation"].is_string(), "{first}");
            let address = server.restart();
            let result = super::fixture::bare(address, retry.clone(), &capabilities);
            let goes_on = result["result"]["resultType"] == "complete";
            let again = super::fixture::bare(address, retry, &capabilities)["error"]["code"].to_string();
            format!("{}, then {again}", if goes_on { "it goes on".to_owned() } else { result.to_string() })
        },
    },
];
