//! A plain `tools/call` over HTTP is served directly, every other request through rmcp. Nobody can tell which way a request
//! went: not its client, and not the operator.
//!
//! Each request goes to two servers. The second one gets it with an `Accept` header that only the ordinary way knows.

use serde_json::{Map, Value, json};
use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use suite::client::modern_meta;
use suite::http::{request, request_at};
use suite::{PATIENCE, Server, eventually, plugin};

const DIRECT: &str = "application/json, text/event-stream";
const ORDINARY: &str = "application/json, text/event-stream, */*";
const TOOL: &str = "echo__run";
/// Differs between two equal calls: ids, times, and the hashes over them.
const VOLATILE: [&str; 9] =
    ["dev.portcullis/call", "cpuMs", "wallMs", "log", "call", "time", "cpuMicros", "wallMicros", "prev"];

fn config() -> String {
    let guests = ["echo", "ask", "chunk-kinds", "unreachable", "escape-dotdot", "header-param"];
    let plugins = guests.map(|guest| plugin(guest, "")).concat();
    plugins + &plugin("large", "limits.fuel = 10_000_000_000") + "[server]\nmetrics = \"127.0.0.1:0\"\n"
}

/// A request, as text and with its `Mcp-Name`.
struct Sent {
    name: String,
    body: String,
}

fn sent(name: &str, arguments: Value) -> Sent {
    let params = json!({"name": name, "arguments": arguments, "_meta": modern_meta(false)});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    Sent { name: name.to_owned(), body: body.to_string() }
}

/// Calls with every kind of end.
fn calls() -> Vec<Sent> {
    vec![
        sent(TOOL, json!({"path": "Ada"})),
        sent(TOOL, json!({})),
        sent(TOOL, json!({"path": 7})),
        sent("nobody__knows", json!({})),
        sent("ask__run", json!({"path": "form"})),
        sent("chunk-kinds__run", json!({})),
        sent("unreachable__run", json!({})),
        sent("escape-dotdot__run", json!({"path": "x"})),
        sent("header-param__run", json!({"other": "x"})),
        sent("header-param__run", json!({"region": "x"})),
        sent("large__run", json!({"path": "text"})),
        sent("large__run", json!({"path": "structure"})),
    ]
}

/// Requests with one change each: fields more, fewer, twice, of another type; and every short way to damage the text.
fn changed() -> Vec<Sent> {
    let plain = sent(TOOL, json!({"path": "Ada"}));
    let with = |pointer: &str, key: &str, value: Value| {
        let mut body: Value = serde_json::from_str(&plain.body).unwrap();
        body.pointer_mut(pointer).unwrap()[key] = value;
        Sent { name: TOOL.into(), body: body.to_string() }
    };
    let mut all = Vec::new();
    let values = [json!(null), json!(0), json!(-1.5), json!("x"), json!([]), json!({}), json!({"a": [1]}), json!(true)];
    let fields = [
        ("", "id"),
        ("", "jsonrpc"),
        ("", "method"),
        ("", "params"),
        ("", "more"),
        ("/params", "name"),
        ("/params", "arguments"),
        ("/params", "_meta"),
        ("/params", "task"),
        ("/params", "requestState"),
        ("/params/_meta", "io.modelcontextprotocol/protocolVersion"),
        ("/params/_meta", "io.modelcontextprotocol/clientInfo"),
        ("/params/_meta", "io.modelcontextprotocol/clientCapabilities"),
        ("/params/_meta", "dev.portcullis/correlationId"),
        ("/params/_meta", "dev.portcullis/chain"),
        ("/params/_meta", "traceparent"),
        ("/params/_meta", "more"),
    ];
    for (pointer, key) in fields {
        all.extend(values.iter().map(|value| with(pointer, key, value.clone())));
    }
    let capabilities =
        [json!({"roots": {}}), json!({"elicitation": {}}), json!({"sampling": 1}), json!({"extensions": {}})];
    let key = "io.modelcontextprotocol/clientCapabilities";
    all.extend(capabilities.map(|value| with("/params/_meta", key, value)));
    all.push(with("/params/_meta", "dev.portcullis/correlationId", json!("c".repeat(257))));
    all.push(with("/params/_meta", "traceparent", json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")));
    let text = |body: String| Sent { name: TOOL.into(), body };
    for key in ["id", "method", "params", "name", "arguments", "_meta", "path"] {
        let twice = plain.body.replacen(&format!("\"{key}\""), &format!("\"{key}\":\"x\",\"{key}\""), 1);
        all.push(text(twice));
    }
    for at in 0..plain.body.len() {
        let (before, after) = plain.body.split_at(at);
        all.push(text(format!("{before}{}", &after[1..])));
        for inserted in ["\"", "é"] {
            all.push(text(format!("{before}{inserted}{after}")));
        }
    }
    all.push(Sent { name: "=?base64?ZWNob19fcnVu?=".into(), body: plain.body.clone() });
    all.push(Sent { name: "other".into(), body: plain.body });
    all
}

/// Removes what may differ.
fn stable(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let known = std::mem::take(fields).into_iter().filter(|(key, _)| !VOLATILE.contains(&key.as_str()));
            *fields = known.collect::<Map<_, _>>();
            fields.values_mut().for_each(stable);
        }
        Value::Array(items) => items.iter_mut().for_each(stable),
        _ => {}
    }
}

/// Status, type and body of the answer.
fn answer(address: SocketAddr, accept: &str, sent: &Sent) -> (u16, Option<String>, Value) {
    let headers = [
        ("Accept", accept),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", &sent.name),
    ];
    let mut response = request(address, "POST", &headers, &sent.body);
    let kind = response.header("content-type").map(str::to_owned);
    let text = response.text();
    let mut body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    stable(&mut body);
    (response.status, kind, body)
}

/// What the operator sees: the audit records, and all metrics that count something.
fn observed(mut server: Server) -> (Vec<Value>, Vec<String>) {
    let line = server.wait_for_log("metrics on http://");
    let metrics: SocketAddr =
        line.split("http://").nth(1).and_then(|rest| rest.split("/metrics").next()).unwrap().parse().unwrap();
    let host = metrics.to_string();
    let text = request_at(metrics, "GET", "/metrics", &[("Host", &host)], "").text();
    let is_count =
        |line: &&str| line.starts_with("portcullis_") && line.contains("_total{") && !line.contains("seconds");
    let mut counts: Vec<_> = text.lines().filter(is_count).map(str::to_owned).collect();
    counts.sort();
    server.terminate();
    assert!(server.ended().success());
    let journal = fs::read_to_string(server.home.path().join("state/audit/audit.jsonl")).unwrap();
    let records = journal.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        stable(&mut record);
        record.as_object_mut().unwrap().remove("hash");
        record
    });
    (records.collect(), counts)
}

/// A record without a cost would let a client use the host for nothing by leaving.
#[test]
fn a_call_whose_client_leaves_is_cancelled_and_recorded_with_its_cost() {
    for accept in [DIRECT, ORDINARY] {
        let endless = "limits.fuel = 1_000_000_000_000_000\nlimits.deadline = \"1h\"";
        let (mut server, address) = Server::start_http(&plugin("spin", endless));
        let Sent { name, body } = sent("spin__run", json!({}));
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: {accept}\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all((head + &body).as_bytes()).unwrap();
        let before = server.cpu();
        let computes = || (server.cpu() - before > Duration::from_millis(50)).then_some(());
        eventually(PATIENCE, computes).expect("the guest computes");
        drop(stream);
        server.wait_for_log("cancelled");
        server.terminate();
        assert!(server.ended().success());
        let journal = fs::read_to_string(server.home.path().join("state/audit/audit.jsonl")).unwrap();
        let record: Value = serde_json::from_str(journal.lines().last().unwrap()).unwrap();
        assert_eq!(record["outcome"], "cancelled", "{accept}: {record}");
        assert!(record["fuel"].as_u64().unwrap() > 1_000_000, "{accept}: {record}");
    }
}

#[test]
fn nobody_can_tell_which_way_a_call_went() {
    let [(direct, near), (ordinary, far)] = [(); 2].map(|()| Server::start_http(&config()));
    let (mut calls, changed) = (calls(), changed());
    calls.extend(changed);
    let mut served = 0;
    for sent in &calls {
        let (one, other) = (answer(near, DIRECT, sent), answer(far, ORDINARY, sent));
        assert_eq!(one, other, "{} {}", sent.name, sent.body);
        served += usize::from(one.2["result"]["isError"] == json!(false));
    }
    assert!(served > 100, "{served} of {} requests were good", calls.len());
    let (one, other) = (observed(direct), observed(ordinary));
    assert_eq!(one.0, other.0, "audit records");
    assert_eq!(one.1, other.1, "metrics");
    assert!(
        one.0.len() > served && one.1.len() > calls.len().min(5),
        "{} records, {} counts",
        one.0.len(),
        one.1.len()
    );
}
