//! Messages that are slightly wrong: each request is answered at once, under its own id, with what is wrong in it.

use serde_json::{Value, json};
use std::time::Instant;
use suite::client::modern_meta;
use suite::http::{self, request};
use suite::{Client, Era, PATIENCE, Server, plugin};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;
const UNKNOWN_METHOD: i64 = -32601;

/// A method, its parameters as text, in which META is what the revision adds and TOKEN= begins a progress token beside it, the code of the error, and words of its sentence.
type Row = (&'static str, &'static str, i64, &'static str);

/// JSON with parameters that the protocol does not know.
const WRONG_PARAMETERS: &[Row] = &[
    ("tools/call", r#"{META}"#, INVALID_PARAMS, "missing field `name`"),
    ("tools/call", r#"{META,"name":5}"#, INVALID_PARAMS, "`params.name`: invalid type: integer `5`"),
    ("tools/call", r#"{META,"name":null}"#, INVALID_PARAMS, "`params.name`"),
    (
        "tools/call",
        r#"{META,"name":"echo__run","arguments":"{\"n\":1}"}"#,
        INVALID_PARAMS,
        "expected an object; send the JSON itself",
    ),
    (
        "tools/call",
        r#"{META,"name":"echo__run","arguments":[1]}"#,
        INVALID_PARAMS,
        "`params.arguments`: invalid type: list",
    ),
    (
        "tools/call",
        r#"{META,"name":"echo__run","arguments":7}"#,
        INVALID_PARAMS,
        "`params.arguments`: invalid type: integer",
    ),
    ("resources/read", r#"{META}"#, INVALID_PARAMS, "missing field `uri`"),
    ("resources/read", r#"{META,"uri":5}"#, INVALID_PARAMS, "`params.uri`"),
    ("prompts/get", r#"{META}"#, INVALID_PARAMS, "missing field `name`"),
    ("prompts/get", r#"{META,"name":"a","arguments":"x"}"#, INVALID_PARAMS, "`params.arguments`"),
    ("completion/complete", r#"{META}"#, INVALID_PARAMS, "missing field"),
    (
        "completion/complete",
        r#"{META,"ref":{"type":"ref/prompt","name":"a"}}"#,
        INVALID_PARAMS,
        "missing field `argument`",
    ),
    ("tools/list", r#"{META,"cursor":5}"#, INVALID_PARAMS, "`params.cursor`: invalid type: integer `5`"),
    ("tools/list", r#"{META,"cursor":["x"]}"#, INVALID_PARAMS, "`params.cursor`"),
    ("tools/list", r#"{META,"cursor":"x"}"#, INVALID_PARAMS, "not one of this list"),
    ("tools/list", r#"{META,"cursor":""}"#, INVALID_PARAMS, "not one of this list"),
    ("resources/list", r#"{META,"cursor":5}"#, INVALID_PARAMS, "`params.cursor`"),
    ("resources/list", r#"{META,"cursor":"x"}"#, INVALID_PARAMS, "not one of this list"),
    ("resources/templates/list", r#"{META,"cursor":5}"#, INVALID_PARAMS, "`params.cursor`"),
    ("resources/templates/list", r#"{META,"cursor":"x"}"#, INVALID_PARAMS, "not one of this list"),
    ("prompts/list", r#"{META,"cursor":true}"#, INVALID_PARAMS, "`params.cursor`"),
    ("prompts/list", r#"{META,"cursor":"x"}"#, INVALID_PARAMS, "not one of this list"),
    ("tools/call", r#"{TOKEN=true,"name":"echo__run","arguments":{}}"#, INVALID_PARAMS, "`params._meta.progressToken`"),
    ("tools/call", r#"{TOKEN=[7],"name":"echo__run","arguments":{}}"#, INVALID_PARAMS, "`params._meta.progressToken`"),
    (
        "tools/call",
        r#"{TOKEN=18446744073709551617,"name":"echo__run","arguments":{}}"#,
        INVALID_PARAMS,
        "`params._meta.progressToken`",
    ),
    ("tools/call", r#"{META,"name":true}"#, INVALID_PARAMS, "`params.name`"),
    ("tools/call", r#"{META,"name":["x"]}"#, INVALID_PARAMS, "`params.name`"),
    ("tools/call", r#"{META,"name":{}}"#, INVALID_PARAMS, "`params.name`"),
    ("tools/call", r#"{META,"name":"echo__run","arguments":false}"#, INVALID_PARAMS, "`params.arguments`"),
    ("tools/call", r#"{META,"name":"echo__run","arguments":1.5}"#, INVALID_PARAMS, "`params.arguments`"),
    ("tools/call", r#"{META,"name":"a__b"}"#, INVALID_PARAMS, "a__b"),
    ("tools/list", r#"{META,"cursor":{}}"#, INVALID_PARAMS, "`params.cursor`"),
    ("tools/list", r#"{META,"cursor":1.5}"#, INVALID_PARAMS, "`params.cursor`"),
    ("tools/list", r#"{META,"cursor":false}"#, INVALID_PARAMS, "`params.cursor`"),
    ("resources/list", r#"{META,"cursor":[]}"#, INVALID_PARAMS, "`params.cursor`"),
    ("resources/templates/list", r#"{META,"cursor":true}"#, INVALID_PARAMS, "`params.cursor`"),
    ("prompts/list", r#"{META,"cursor":7}"#, INVALID_PARAMS, "`params.cursor`"),
    ("resources/read", r#"{META,"uri":null}"#, INVALID_PARAMS, "`params.uri`"),
    ("resources/read", r#"{META,"uri":[]}"#, INVALID_PARAMS, "`params.uri`"),
    ("resources/read", r#"{META,"uri":{}}"#, INVALID_PARAMS, "`params.uri`"),
    ("prompts/get", r#"{META,"name":5}"#, INVALID_PARAMS, "`params.name`"),
    ("prompts/get", r#"{META,"name":null}"#, INVALID_PARAMS, "`params.name`"),
    ("prompts/get", r#"{META,"name":"a","arguments":[1]}"#, INVALID_PARAMS, "`params.arguments`"),
    ("prompts/get", r#"{META,"name":"a","arguments":7}"#, INVALID_PARAMS, "`params.arguments`"),
    ("completion/complete", r#"{META,"ref":5,"argument":{"name":"a","value":""}}"#, INVALID_PARAMS, "params"),
    (
        "completion/complete",
        r#"{META,"ref":{"type":"x"},"argument":{"name":"a","value":""}}"#,
        INVALID_PARAMS,
        "params",
    ),
    ("completion/complete", r#"{META,"ref":{"type":"ref/prompt","name":"a"},"argument":5}"#, INVALID_PARAMS, "params"),
    ("tools/fly", r#"{META,"wings":2}"#, UNKNOWN_METHOD, "tools/fly"),
];

/// Tokens that come back as they were sent. Some clients count in fractions.
const TOKENS: [&str; 8] = ["\"t\"", "7", "-1", "18446744073709551615", "1.5", "1000.0", "-0.0", "0.30000000000000004"];

/// Texts that cannot be parsed, or only in part.
const UNREADABLE: &[Row] = &[
    ("tools/call", r#"{META,"name":"echo__run","arguments":{"s":"\ud83d"}}"#, PARSE_ERROR, "not JSON: "),
    ("tools/call", r#"{META,"name":"echo__run","arguments":{"s":"\udc00x"}}"#, PARSE_ERROR, "not JSON: "),
    ("tools/call", r#"{META,"name":"echo__run","arguments":{"n":NaN}}"#, PARSE_ERROR, "not JSON: "),
    ("tools/call", r#"{META,"name":"echo__run","arguments":{"n":Infinity}}"#, PARSE_ERROR, "not JSON: "),
    ("tools/call", r#"{META,"name":"echo__run","arguments":{"n":1e400}}"#, PARSE_ERROR, "number out of range"),
    ("tools/call", r#"{META,"name":"echo__run","arguments":{"n":01}}"#, PARSE_ERROR, "not JSON: "),
    ("tools/call", r#"{META,"name":"echo__run","arguments":{'n':1}}"#, PARSE_ERROR, "not JSON: "),
    ("tools/call", r#"{META,"name":"echo__run","arguments":{"n":1,}}"#, PARSE_ERROR, "trailing comma"),
    ("tools/call", r#"{META,"name":"echo__run","arguments":{"n":undefined}}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a":"\x41"}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a":0x10}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a":+1}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a":.5}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a":5.}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a":-Infinity}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a":[1,]}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a":[1 2]}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a" 1}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a":True}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"a":None}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,/* all */"a":1}"#, PARSE_ERROR, "not JSON: "),
    ("tools/list", "{META,\"a\":\"\t\"}", PARSE_ERROR, "not JSON: "),
    ("tools/list", "{META,\"a\":\"\u{1}\"}", PARSE_ERROR, "not JSON: "),
    ("tools/list", r#"{META,"deep":DEEP}"#, INVALID_REQUEST, "nested deeper than 64"),
    ("tools/list", r#"{META,"large":LARGE}"#, PARSE_ERROR, "number out of range"),
];

fn text(era: Era, id: u64, (method, params, ..): &Row) -> String {
    text_of(era, id, method, params)
}

fn text_of(era: Era, id: u64, method: &str, params: &str) -> String {
    let meta = if era == Era::Modern { modern_meta(false) } else { json!({}) };
    let params = match params.strip_prefix("{TOKEN=").and_then(|rest| rest.split_once(",\"name\"")) {
        Some((token, rest)) => {
            let mut meta = meta;
            meta["progressToken"] = json!("TOKEN");
            let meta = meta.to_string().replace("\"TOKEN\"", token);
            format!("{{\"_meta\":{meta},\"name\"{rest}")
        }
        None => params.replace("META", &format!("\"_meta\":{meta}")),
    };
    let params = params.replace("DEEP", &("[".repeat(200) + &"]".repeat(200))).replace("LARGE", &"9".repeat(400));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn check(row: &Row, message: &Value, place: &str) {
    let (method, params, code, words) = row;
    let error = &message["error"];
    assert_eq!(error["code"], *code, "{place} {method} {params}: {message}");
    assert!(error["message"].as_str().unwrap().contains(words), "{place} {method} {params}: {message}");
}

#[test]
fn over_stdio_each_is_answered_under_its_id() {
    let mut right = 0;
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&plugin("echo", "")), era, false);
        for (at, row) in WRONG_PARAMETERS.iter().chain(UNREADABLE).enumerate() {
            let id = 1_000 + at as u64;
            client.server.send_raw(text(era, id, row).as_bytes());
            check(row, &client.wait(id, Instant::now()).message, &format!("{era:?}"));
            right += 1;
        }
        let latin1 = b"{\"jsonrpc\":\"2.0\",\"id\":2000,\"method\":\"tools/list\",\"params\":{\"a\":\"caf\xe9\"}}";
        client.server.send_raw(latin1);
        assert_eq!(client.wait(2_000, Instant::now()).error_code(), PARSE_ERROR, "{era:?}");
        // Nobody waits for these, and an answer could be answered in turn.
        for line in [
            &b"hello"[..],
            br#"{"jsonrpc":"2.0","id":5,"result":NaN}"#,
            br#"{"jsonrpc":"2.0","method":"x","params":NaN}"#,
        ] {
            client.server.send_raw(line);
        }
        client.check_alive();
    }
    println!("hostile: edges over stdio: {right} messages that are slightly wrong answered as they should be");
}

#[test]
fn what_comes_before_the_first_request_and_is_none_is_ignored() {
    for era in Era::ALL {
        let mut server = Server::start(&plugin("echo", ""));
        for message in [
            json!({"jsonrpc": "2.0", "method": "notifications/odd", "params": {}}),
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}),
            json!({"jsonrpc": "2.0", "id": 9, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 9, "error": {"code": 1, "message": "no"}}),
        ] {
            server.send(&message);
        }
        Client::new(server, era, false).check_alive();
    }
}

/// A client whose handshake is wrong learns why, and may try again.
#[test]
fn a_wrong_handshake_does_not_end_the_connection() {
    let mut server = Server::start(&plugin("echo", ""));
    server.send(&json!({"jsonrpc": "2.0", "id": 900, "method": "initialize", "params": {"protocolVersion": 5}}));
    let mut client = Client::new(server, Era::Legacy, false);
    let refused = client.wait(900, Instant::now());
    assert_eq!(refused.error_code(), INVALID_PARAMS, "{}", refused.message);
    assert!(
        refused.message["error"]["message"].as_str().unwrap().contains("params.protocolVersion"),
        "{}",
        refused.message
    );
    client.check_alive();
    let (_server, address) = Server::start_http(&plugin("echo", ""));
    let wrong = json!({"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {"protocolVersion": 5}});
    let mut response = request(address, "POST", &[], &wrong.to_string());
    let message = response.message().unwrap();
    assert_eq!((response.status, &message["id"], &message["error"]["code"]), (400, &json!(4), &json!(INVALID_PARAMS)));
    assert!(message["error"]["message"].as_str().unwrap().contains("params.protocolVersion"), "{message}");
}

/// What 2026-07-28 has removed is unknown to whoever speaks it, whatever else is wrong.
#[test]
fn what_a_version_has_removed_is_unknown_over_stdio() {
    let mut client = Client::of(&plugin("echo", ""));
    client.request("server/discover", json!({})).result();
    for (at, method) in
        ["initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"].into_iter().enumerate()
    {
        let (id, params) = (900 + at as u64, json!({"a": 1, "_meta": modern_meta(false)}));
        client.server.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let refused = client.wait(id, Instant::now());
        assert_eq!(refused.error_code(), -32601, "{method}: {}", refused.message);
    }
    client.check_alive();
}

#[test]
fn over_http_each_is_answered_under_its_id() {
    let (_server, address) = Server::start_http(&plugin("echo", ""));
    let session = http::legacy_session(address, false);
    let of_session: Vec<_> = session.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut right = 0;
    for (at, row) in WRONG_PARAMETERS.iter().chain(UNREADABLE).enumerate() {
        let id = 1_000 + at as u64;
        for era in Era::ALL {
            let name = if row.1.contains("echo__run") { "echo__run" } else { "a" };
            let modern = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", row.0), ("Mcp-Name", name)];
            let headers = if era == Era::Modern { &modern[..] } else { &of_session[..] };
            let mut response = request(address, "POST", headers, &text(era, id, row));
            let status = response.status;
            let message = response.message().unwrap_or_else(|| panic!("{era:?} {row:?}: {status}"));
            // Headers that name something which is not in the body are wrong themselves.
            if message["error"]["code"] == -32020 {
                continue;
            }
            check(row, &message, &format!("HTTP {era:?}"));
            assert_eq!(message["id"], id, "{era:?} {row:?}: {message}");
            assert_ne!((row.2, status), (INVALID_PARAMS, 404), "{era:?} {row:?}: the method is there");
            right += 1;
        }
    }
    println!("hostile: edges over HTTP: {right} messages that are slightly wrong answered as they should be");
}

#[test]
fn a_progress_token_comes_back_as_it_was_sent() {
    let config = plugin("slow-stream", "");
    let (_server, address) = Server::start_http(&config);
    let session = http::legacy_session(address, false);
    let of_session: Vec<_> = session.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let modern =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "slow-stream__run")];
    for (era, headers) in [(Era::Modern, &modern[..]), (Era::Legacy, &of_session[..])] {
        let mut client = Client::new(Server::start(&config), era, false);
        for (at, token) in TOKENS.into_iter().enumerate() {
            let id = 1_000 + at as u64;
            let params = format!(r#"{{TOKEN={token},"name":"slow-stream__run","arguments":{{"n":2}}}}"#);
            let text = text_of(era, id, "tools/call", &params);
            client.server.send_raw(text.as_bytes());
            let over_stdio = client.wait(id, Instant::now());
            let over_http = request(address, "POST", headers, &text).answer(id, Instant::now());
            for answer in [over_stdio, over_http] {
                let progress = answer.notified("notifications/progress");
                assert!(!progress.is_empty(), "{era:?} {token}: {answer:?}");
                for report in progress {
                    assert_eq!(report["progressToken"].to_string(), token, "{era:?}: {report}");
                }
            }
        }
    }
}

/// 2025-03-26 has batches, which are not served: it is not agreed upon, and a batch is not passed over in silence.
#[test]
fn no_version_with_batches_is_agreed_upon() {
    let hello = |id: u64| {
        let client = json!({"name": "suite", "version": "0"});
        let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": client});
        json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params})
    };
    let batch = json!([{"jsonrpc": "2.0", "id": 8, "method": "ping"}, {"jsonrpc": "2.0", "id": 9, "method": "ping"}]);
    let mut server = Server::start(&plugin("echo", ""));
    let answer = |server: &Server| {
        let mut messages = std::iter::from_fn(|| server.receive(PATIENCE)).map(|(_, message)| message);
        messages.find(|message| message.get("method").is_none()).unwrap()
    };
    server.send(&hello(1));
    let agreed = answer(&server);
    assert_eq!(agreed["result"]["protocolVersion"], "2024-11-05", "{agreed}");
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    // Without a request nobody waits for an answer.
    server.send(&json!([{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}]));
    server.send(&batch);
    let refused = answer(&server);
    let words = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(refused["error"]["code"] == INVALID_REQUEST && words.contains("by itself"), "{refused}");
    assert_eq!(refused["id"], Value::Null);
    let (_server, address) = Server::start_http(&plugin("echo", ""));
    let opened = request(address, "POST", &[], &hello(1).to_string());
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    assert_eq!(opened.answer(1, Instant::now()).result()["protocolVersion"], "2024-11-05");
    for version in ["2024-11-05", "2025-03-26"] {
        let headers = [("MCP-Protocol-Version", version), ("Mcp-Session-Id", session.as_str())];
        let mut response = request(address, "POST", &headers, &batch.to_string());
        let (sentence, message) = response.refusal();
        assert!(response.status == 400 && message.is_none() && sentence.contains("by itself"), "{version}: {sentence}");
    }
}

#[test]
fn clients_are_served_that_read_json_alone_or_whatever_comes() {
    let (_server, address) = Server::start_http(&(plugin("echo", "") + &plugin("slow-stream", "")));
    let session = http::legacy_session(address, false);
    let of_session: Vec<_> = session.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let modern =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "slow-stream__run")];
    let row = ("tools/call", r#"{META,"name":"slow-stream__run","arguments":{}}"#, 0, "");
    for (era, headers) in [(Era::Modern, &modern[..]), (Era::Legacy, &of_session[..])] {
        for accept in ["application/json", "*/*", "application/json, */*;q=0"] {
            let headers: Vec<_> = headers.iter().copied().chain([("Accept", accept)]).collect();
            let mut response = request(address, "POST", &headers, &text(era, 7, &row));
            let kind = response.header("content-type").unwrap_or_default().to_owned();
            assert_eq!(response.status, 200, "{era:?} {accept}");
            assert!(accept == "*/*" || kind == "application/json", "{era:?} {accept}: {kind}");
            let message = loop {
                let message = response.message().unwrap_or_else(|| panic!("{era:?} {accept}: no answer"));
                if message.get("method").is_none() {
                    break message;
                }
            };
            assert!(message["id"] == 7 && message["result"]["content"].is_array(), "{era:?} {accept}: {message}");
        }
    }
    let listen: Vec<_> = of_session.iter().copied().chain([("Accept", "application/json")]).collect();
    assert_eq!(request(address, "GET", &listen, "").status, 406, "a stream is no JSON");
}

#[test]
fn a_byte_order_mark_is_skipped_and_an_encoding_is_named() {
    let (_server, address) = Server::start_http(&plugin("echo", ""));
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
    let body = text(Era::Modern, 7, &("tools/list", "{META}", 0, ""));
    let mut response = request(address, "POST", &headers, &format!("\u{feff}{body}"));
    assert!(response.message().unwrap()["result"]["tools"].is_array());
    let encoded: Vec<_> = headers.into_iter().chain([("Content-Encoding", "gzip")]).collect();
    let mut response = request(address, "POST", &encoded, &body);
    assert_eq!(response.status, 415);
    let (sentence, message) = response.refusal();
    assert!(sentence.contains("Content-Encoding: gzip") && message.is_some_and(|it| it["id"] == 7), "{sentence}");
}
