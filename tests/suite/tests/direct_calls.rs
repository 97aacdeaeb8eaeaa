//! A `tools/call` that is answered once is served directly, every other request through rmcp. Nobody can tell which way a request
//! went: not its client, and not the operator.
//!
//! Over HTTP, each request goes to two servers. The second one gets it with an `Accept` header that only the ordinary way knows.

mod conversation;
mod requests;
mod stdio;

use conversation::conversations;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use suite::client::modern_meta;
use suite::http::{request, request_at};
use suite::{Home, PATIENCE, Server, agent, agent_from, eventually, paths, plugin, plugin_from};

const DIRECT: &str = "application/json, text/event-stream";
const ORDINARY: &str = "application/json, text/event-stream, */*";
const TOOL: &str = "echo__run";
/// Differs between two equal calls: ids, times, and the hashes over them; and whether a log is finished when it is read.
const VOLATILE: [&str; 12] = [
    "dev.portcullis/call",
    "parent",
    "cpuMs",
    "wallMs",
    "log",
    "call",
    "time",
    "cpuMicros",
    "wallMicros",
    "prev",
    "requestState",
    "final",
];
/// Of a client that can be asked something.
const ASKABLE: &str = r#"{"elicitation":{}}"#;
const GRANTS: &str = r#"grants.client = { form = true, url = ["example.com"], sample = { calls = 8, tokens = 1_000 }, roots = true }
"#;
/// So many calls are refused that the breaker would open at a moment that depends on the time.
const NO_BREAKER: &str = "limits.breaker = { failures = 0 }\n";

fn config() -> String {
    let guests = ["echo", "chunk-kinds", "log-flood", "unreachable", "escape-dotdot", "header-param"];
    let asks = format!("{GRANTS}{NO_BREAKER}");
    let calls = format!("grants.agent-tools = [\"*.*\"]\ngrants.client.form = true\n{NO_BREAKER}");
    guests.map(|guest| plugin(guest, "")).concat()
        + &plugin("large", "limits.fuel = 10_000_000_000")
        + &plugin("ask", &asks)
        + &plugin_from("mute", &paths::guest("ask"), NO_BREAKER)
        + &plugin_from("dropping", &paths::guest("chunk-kinds"), "limits.overflow = \"drop-oldest\"")
        + &["agent-calls", "relay", "pass-on"].map(|guest| plugin(guest, &calls)).concat()
        + &agent("echo", "echo", "")
        + &agent_from("asker", &paths::guest("ask"), &asks)
        + &agent_from("kinds", &paths::guest("chunk-kinds"), "")
        + "[stand-in]\ntools = \"stand-in.json\"\n\n[server]\nmetrics = \"127.0.0.1:0\"\n"
}

fn home() -> Home {
    let home = Home::new();
    let hour = json!({"type": "object", "properties": {"hour": {"type": "integer"}}, "required": ["hour"]});
    let free =
        json!({"name": "calendar.free", "description": "", "inputSchema": {"type": "object"}, "outputSchema": hour});
    home.write("stand-in.json", json!([free]).to_string());
    home
}

fn start() -> (Server, SocketAddr) {
    Server::start_http_in(home(), &config())
}

/// A request, as text and with its `Mcp-Name`.
struct Sent {
    name: String,
    body: String,
}

fn sent(name: &str, arguments: Value) -> Sent {
    sent_by(name, arguments, "{}")
}

/// Of a client that declares these capabilities, which may be damaged.
fn sent_by(name: &str, arguments: Value, capabilities: &str) -> Sent {
    let mut meta = modern_meta(false);
    meta["io.modelcontextprotocol/clientCapabilities"] = json!("DECLARED");
    let params = json!({"name": name, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    Sent { name: name.to_owned(), body: body.to_string().replace("\"DECLARED\"", capabilities) }
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
        Value::String(text) => {
            if let Some((before, log)) = text.split_once("portcullis://runs/") {
                *text = before.to_owned() + log.split_once(' ').map_or("", |(_, after)| after);
            }
            // Where a text is no JSON depends on what was added to it.
            if let Some((before, _)) = text.split_once(" at line 1 column ") {
                *text = before.to_owned();
            }
        }
        _ => {}
    }
}

/// The answer to a request.
#[derive(Debug, PartialEq)]
struct Exchange {
    status: u16,
    /// But for the date and the length, which depends on times in the body.
    headers: Vec<(String, String)>,
    body: Value,
}

fn exchange(address: SocketAddr, accept: &str, sent: &Sent) -> Exchange {
    let headers = [
        ("Accept", accept),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", &sent.name),
    ];
    let mut response = request(address, "POST", &headers, &sent.body);
    let mut headers = response.headers().to_vec();
    headers.retain(|(name, _)| name != "date" && name != "content-length");
    headers.sort();
    let text = response.text();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Exchange { status: response.status, headers, body }
}

fn answer(address: SocketAddr, accept: &str, sent: &Sent) -> Exchange {
    let mut answer = exchange(address, accept, sent);
    stable(&mut answer.body);
    answer
}

/// What the operator sees: the audit records, and all metrics that count something.
fn observed(mut server: Server) -> (Vec<String>, Vec<String>) {
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
    (records(&server), counts)
}

/// All audit records, in any order.
fn records(server: &Server) -> Vec<String> {
    let records = journal(server).into_iter().map(|mut record| {
        stable(&mut record);
        let fields = record.as_object_mut().unwrap();
        fields.retain(|name, _| name != "hash" && name != "seq");
        record.to_string()
    });
    // Calls that are still parked end in any order.
    let mut records: Vec<_> = records.collect();
    records.sort();
    records
}

fn journal(server: &Server) -> Vec<Value> {
    let journal = fs::read_to_string(server.home.path().join("state/audit/audit.jsonl")).unwrap();
    journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A record without a cost would let a client use the host for nothing by leaving.
#[test]
fn a_call_whose_client_leaves_is_cancelled_and_recorded_with_its_cost() {
    for (accept, declared) in [(DIRECT, "{}"), (DIRECT, ASKABLE), (ORDINARY, "{}"), (ORDINARY, ASKABLE)] {
        let (mut server, stream) = spinning(accept, declared);
        drop(stream);
        server.wait_for_log("cancelled");
        server.terminate();
        assert!(server.ended().success());
        assert_cancelled_with_cost(&server, accept, declared);
    }
}

/// Its client still waits for the answer.
#[test]
fn a_call_that_is_cut_off_when_the_server_stops_is_recorded_with_its_cost() {
    for declared in ["{}", ASKABLE] {
        let (mut server, mut stream) = spinning(DIRECT, declared);
        server.terminate();
        server.wait_for_log("stopping");
        // The second signal ends the wait for running calls.
        server.terminate();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(r#""code":"cancelled""#), "{declared}: {answer}");
        server.ended();
        assert_cancelled_with_cost(&server, DIRECT, declared);
    }
}

/// A server that runs a call of this client, and the client's connection.
fn spinning(accept: &str, declared: &str) -> (Server, TcpStream) {
    let endless = "limits.fuel = 1_000_000_000_000_000\nlimits.deadline = \"1h\"";
    let (server, address) = Server::start_http(&plugin("spin", endless));
    let Sent { name, body } = sent_by("spin__run", json!({}), declared);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: {accept}\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all((head + &body).as_bytes()).unwrap();
    let before = server.cpu();
    wait_until_computing(&server, before);
    (server, stream)
}

/// Waits until a guest has computed for longer than the server needs to begin its call. `before` is the server's CPU time before the call.
fn wait_until_computing(server: &Server, before: Duration) {
    let computes = || (server.cpu() - before > Duration::from_millis(200)).then_some(());
    eventually(PATIENCE, computes).expect("the guest computes");
}

fn assert_cancelled_with_cost(server: &Server, accept: &str, declared: &str) {
    let record = journal(server).pop().unwrap();
    assert_eq!(record["outcome"], "cancelled", "{accept} {declared}: {record}");
    assert!(record["fuel"].as_u64().unwrap() > 1_000_000, "{accept} {declared}: {record}");
}

fn assert_same_observed(direct: Server, ordinary: Server) -> usize {
    let (one, other) = (observed(direct), observed(ordinary));
    let mut differences = one.0.iter().zip(&other.0).filter(|(one, other)| one != other);
    assert_eq!((differences.next(), one.0.len()), (None, other.0.len()), "audit records");
    assert_eq!(one.1, other.1, "metrics");
    assert!(one.1.len() > 5, "{} counts", one.1.len());
    one.0.len()
}

#[test]
fn nobody_can_tell_which_way_a_call_went() {
    let [(direct, near), (ordinary, far)] = [(); 2].map(|()| start());
    let calls: Vec<_> = [requests::calls(), requests::changed(), requests::declared()].into_iter().flatten().collect();
    let (mut served, mut asked) = (0, 0);
    for sent in &calls {
        let (one, other) = (answer(near, DIRECT, sent), answer(far, ORDINARY, sent));
        assert_eq!(one, other, "{} {}", sent.name, sent.body);
        served += usize::from(one.body["result"]["isError"] == json!(false));
        asked += usize::from(one.body["result"]["resultType"] == json!("input_required"));
    }
    assert!(served > 150 && asked > 30, "{served} of {} requests were good, {asked} asked", calls.len());
    assert!(assert_same_observed(direct, ordinary) > served);
}

/// Any way may begin a call, and any other resume it.
#[test]
fn nobody_can_tell_which_ways_a_conversation_went() {
    let [(direct, near), (ordinary, far)] = [(); 2].map(|()| start());
    let mut rounds = 0;
    for conversation in &conversations() {
        for ways in [[DIRECT, DIRECT], [DIRECT, ORDINARY], [ORDINARY, DIRECT]] {
            let (one, other) = (conversation.hold(near, ways), conversation.hold(far, [ORDINARY; 2]));
            assert_eq!(one, other, "{ways:?} {}", conversation.first.body);
            rounds += one.len();
        }
    }
    assert!(rounds > 1_000, "{rounds} rounds");
    assert!(assert_same_observed(direct, ordinary) > rounds / 2);
}
