//! Reverse calls to client-side tools in both revisions: a tool that is declared and granted is called once with exactly the
//! given arguments; no other tool is called.

mod abuse;
mod chains;
mod limits;

use serde_json::{Map, Value, json};
use suite::{Called, Client, Era, Server, agent, plugin};

pub(crate) const EXTENSION: &str = "dev.portcullis/client-tools";
/// The reverse call request of the legacy revision.
pub(crate) const REQUEST: &str = "dev.portcullis/tools/call";

/// The plugins with their grants for client tools.
pub(crate) fn config() -> String {
    plugin("agent-calls", r#"grants = { agent-tools = ["calendar.*", "slow.*", "echo.*"], client = { form = true } }"#)
}

/// A tool with a `day` argument.
pub(crate) fn tool(name: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]});
    json!({"name": name, "description": "Of the client.", "inputSchema": schema})
}

/// The declaration of a client that has these tools, with further fields.
pub(crate) fn declaring(tools: &[Value], further: Value) -> Value {
    let mut declaration = json!({"allowServerCalls": true, "tools": tools});
    declaration.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    json!({"extensions": {EXTENSION: declaration}, "elicitation": {"form": {}}})
}

/// The declaration of two tools, one of which is not granted.
pub(crate) fn two() -> Value {
    declaring(&[tool("calendar.free_slots"), tool("mail.send")], json!({}))
}

pub(crate) fn able(era: Era, abilities: Value) -> Client {
    Client::able(Server::start(&config()), era, false, abilities)
}

/// The arguments that make the guest run these steps.
pub(crate) fn script(steps: Value) -> Value {
    json!({"path": steps.to_string()})
}

/// A step that calls a tool with a day.
pub(crate) fn call(name: &str, day: u64) -> Value {
    json!({"call": {"name": name, "arguments": {"day": day}}})
}

/// A successful result.
pub(crate) fn answer(call: &Value) -> Value {
    json!({"content": [{"type": "text", "text": format!("free on {}", call["arguments"]["day"])}]})
}

/// The params of a retry with these outcomes.
pub(crate) fn retry(arguments: &Value, continuation: &Value, outcomes: Value) -> Value {
    let brought = json!({"continuation": continuation, "results": outcomes});
    json!({"name": "agent-calls__run", "arguments": arguments, "_meta": {EXTENSION: brought}})
}

/// Makes the first round of a script.
pub(crate) fn first(client: &mut Client, steps: Value) -> (Value, Called) {
    let arguments = script(steps);
    let called = client.call("agent-calls__run", arguments.clone());
    (arguments, called)
}

/// The reverse calls of a round, which must be a round of the extension.
pub(crate) fn asked(called: &Called) -> &Map<String, Value> {
    assert_eq!(called.result()["resultType"], EXTENSION, "{}", called.result());
    called.result()["toolCalls"].as_object().unwrap()
}

/// The guest's report on its steps.
pub(crate) fn step_reports(called: &Called) -> Value {
    serde_json::from_str(&called.good()).unwrap()
}

/// Answers all rounds of a script with `answer`; returns the guest's report, the calls per round, and the last
/// response.
pub(crate) fn through(client: &mut Client, steps: Value, answer: fn(&Value) -> Value) -> (Value, Vec<usize>, Called) {
    let (arguments, mut called) = first(client, steps);
    let mut rounds = vec![];
    while called.result()["resultType"] == EXTENSION {
        let calls = asked(&called);
        rounds.push(calls.len());
        let outcomes: Map<_, _> = calls.iter().map(|(key, call)| (key.clone(), answer(call))).collect();
        let params = retry(&arguments, &called.result()["continuation"], outcomes.into());
        called = Called(client.request("tools/call", params));
    }
    (step_reports(&called), rounds, called)
}

#[test]
fn a_plugin_sees_only_declared_and_granted_tools() {
    for era in Era::ALL {
        let mut client = able(era, two());
        let (said, rounds, _) = through(&mut client, json!([{"list": true}]), answer);
        assert_eq!(said, json!([["calendar.free_slots"]]), "{era:?}");
        assert!(rounds.is_empty());
        let (said, ..) = through(&mut able(era, json!({})), json!([{"list": true}]), answer);
        assert_eq!(said, json!([[]]), "{era:?}");
    }
}

#[test]
fn a_call_is_sent_once_with_its_full_context() {
    let mut client = able(Era::Modern, two());
    let step = json!({"call": {"name": "calendar.free_slots", "arguments": {"day": 7}, "purpose": "to plan", "timeoutMs": 5_000}});
    let (arguments, called) = first(&mut client, json!([step]));
    let calls = asked(&called);
    assert_eq!(calls.len(), 1);
    let (key, fields) = calls.iter().next().unwrap();
    for (field, value) in [
        ("name", json!("calendar.free_slots")),
        ("arguments", json!({"day": 7})),
        ("plugin", json!("agent-calls")),
        ("tool", json!("run")),
        ("purpose", json!("to plan")),
        ("timeoutMs", json!(5_000)),
    ] {
        assert_eq!(fields[field], value, "{fields}");
    }
    assert_eq!(fields["parent"].as_str().unwrap().len(), 32);
    let result = called.result();
    for name in ["requestState", "inputRequests"] {
        assert!(result.get(name).is_none(), "{result}");
    }
    assert!(
        result["_meta"].get(EXTENSION).is_none() && result["_meta"]["io.modelcontextprotocol/serverInfo"].is_object()
    );
    let params = retry(&arguments, &result["continuation"], json!({key: answer(fields), "call-99": {"content": []}}));
    let called = Called(client.request("tools/call", params));
    assert_eq!(step_reports(&called), json!([{"text": "free on 7", "origin": "Origin::Client"}]));
    assert_eq!((&called.usage()["calls"], &called.usage()["questions"]), (&json!(1), &json!(0)));
}

#[test]
fn parallel_calls_are_sent_in_one_round() {
    let calls: Vec<Value> = (0..20).map(|day| call("calendar.free_slots", day)["call"].clone()).collect();
    let expected: Vec<Value> =
        (0..20).map(|day| json!({"text": format!("free on {day}"), "origin": "Origin::Client"})).collect();
    let mut client = able(Era::Modern, two());
    let (said, rounds, called) = through(&mut client, json!([{"many": calls}]), answer);
    // The operator's limit is eight parallel calls; as each ends, the next begins.
    assert_eq!((said, rounds), (json!([expected]), vec![8, 8, 4]));
    assert_eq!(called.usage()["calls"], 20);
}

#[test]
fn chunks_come_before_the_calls_that_follow_them() {
    let mut client = Client::able(Server::start(&config()), Era::Modern, true, json!({}));
    client.abilities = two();
    client.abilities["extensions"]["dev.portcullis/partial-results"] = json!({});
    let steps = json!([{"emit": "before"}, call("calendar.free_slots", 1), {"emit": "after"}]);
    let (arguments, called) = first(&mut client, steps);
    let said =
        |called: &Called| called.chunks().iter().map(|chunk| chunk["content"][0]["text"].clone()).collect::<Vec<_>>();
    assert_eq!(said(&called), ["before"]);
    let outcomes = json!({asked(&called).keys().next().unwrap(): {"content": []}});
    let called = Called(client.request("tools/call", retry(&arguments, &called.result()["continuation"], outcomes)));
    assert_eq!(said(&called), ["after"]);
    assert_eq!(called.stream()["chunks"], 2);
}

#[test]
fn calls_and_questions_alternate() {
    let mut client = able(Era::Modern, two());
    let steps = json!([call("calendar.free_slots", 1), {"ask": "who"}, call("calendar.free_slots", 2)]);
    let (arguments, called) = first(&mut client, steps);
    let outcomes = json!({asked(&called).keys().next().unwrap(): {"content": [{"type": "text", "text": "one"}]}});
    let called = Called(client.request("tools/call", retry(&arguments, &called.result()["continuation"], outcomes)));
    assert_eq!(called.result()["resultType"], "input_required", "{}", called.result());
    let responses = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    let params = json!({"name": "agent-calls__run", "arguments": arguments, "requestState": called.result()["requestState"], "inputResponses": responses});
    let called = Called(client.request("tools/call", params));
    let outcomes = json!({asked(&called).keys().next().unwrap(): {"content": [{"type": "text", "text": "two"}]}});
    let called = Called(client.request("tools/call", retry(&arguments, &called.result()["continuation"], outcomes)));
    let said = step_reports(&called);
    assert_eq!(
        (&said[0]["text"], &said[1], &said[2]["text"]),
        (&json!("one"), &json!(r#"{"name":"Ada"}"#), &json!("two"))
    );
}

#[test]
fn a_legacy_client_is_asked_on_the_stream_of_its_call() {
    for capabilities in [two(), json!({"experimental": two()["extensions"]})] {
        let mut client = able(Era::Legacy, capabilities);
        client.answering = Some(|method, params| {
            assert_eq!(method, REQUEST);
            answer(params)
        });
        let calls: Vec<Value> = (0..20).map(|day| call("calendar.free_slots", day)["call"].clone()).collect();
        let (said, rounds, called) = through(&mut client, json!([{"many": calls}, call("mail.send", 1)]), answer);
        assert!(rounds.is_empty());
        let texts: Vec<_> = said[0].as_array().unwrap().iter().map(|said| said["text"].as_str().unwrap()).collect();
        assert_eq!(texts, (0..20).map(|day| format!("free on {day}")).collect::<Vec<_>>());
        assert_eq!(said[1]["error"], "denied");
        assert_eq!(called.0.notifications.iter().filter(|(_, it)| it["method"] == REQUEST).count(), 20);
        assert_eq!(called.usage()["calls"], 20);
    }
}

#[test]
fn over_http_the_result_carries_the_calls() {
    let (_server, address) = Server::start_http(&config());
    for chunks in [false, true] {
        // With chunks the result is the last event of a stream, otherwise a plain body.
        let steps = json!([{"emit": "x"}, call("calendar.free_slots", 3)]);
        let post = |id: u64, params: Value| {
            let mut params = params;
            let mut meta = suite::modern_meta(false);
            meta["io.modelcontextprotocol/clientCapabilities"] = two();
            if chunks {
                meta["io.modelcontextprotocol/clientCapabilities"]["extensions"]["dev.portcullis/partial-results"] =
                    json!({});
            }
            if let Some(brought) = params["_meta"].get(EXTENSION) {
                meta[EXTENSION] = brought.clone();
            }
            params["_meta"] = meta;
            let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            let headers = [
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", "tools/call"),
                ("Mcp-Name", "agent-calls__run"),
            ];
            let response = suite::http::request(address, "POST", &headers, &body.to_string());
            assert_eq!(response.status, 200);
            Called(response.answer(id, std::time::Instant::now()))
        };
        let arguments = script(steps);
        let called = post(1, json!({"name": "agent-calls__run", "arguments": arguments}));
        let (key, fields) = asked(&called).iter().next().unwrap();
        let called = post(2, retry(&arguments, &called.result()["continuation"], json!({key: answer(fields)})));
        assert_eq!(step_reports(&called)[1]["text"], "free on 3");
    }
}

#[test]
fn the_server_declares_its_lanes() {
    let mut client = able(Era::Modern, json!({}));
    let capabilities = client.request("server/discover", json!({})).result()["capabilities"].clone();
    let lanes = capabilities["extensions"][EXTENSION]["lanes"].as_array().unwrap();
    assert!(lanes.contains(&json!("retry")) && lanes.contains(&json!("request")), "{capabilities}");
}

#[test]
fn parallel_requests_of_nested_calls_share_one_round() {
    let asker = agent("asker", "agent-calls", "grants.client.form = true");
    let config = plugin("agent-calls", r#"grants.agent-tools = ["asker.*", "calendar.*"]"#) + &asker;
    let mut client = Client::able(Server::start(&config), Era::Modern, false, two());
    let nested = json!({"name": "asker.run", "arguments": script(json!([{"ask": "who"}]))});
    let steps = json!([{"many": [nested, call("calendar.free_slots", 1)["call"], nested]}]);
    let (arguments, mut called) = first(&mut client, steps);
    // The order of the two kinds depends on timing; each kind is one round.
    for _ in 0..2 {
        let params = if called.result()["resultType"] == EXTENSION {
            let (key, fields) = asked(&called).iter().next().unwrap();
            retry(&arguments, &called.result()["continuation"], json!({key: answer(fields)}))
        } else {
            // Questions with the same key get distinct keys.
            let requests =
                called.result()["inputRequests"].as_object().unwrap_or_else(|| panic!("{}", called.result()));
            assert_eq!(requests.keys().collect::<Vec<_>>(), ["who", "who-2"]);
            let named = json!({"action": "accept", "content": {"name": "Ada"}});
            let responses = json!({"who": named, "who-2": named});
            json!({"name": "agent-calls__run", "arguments": arguments, "requestState": called.result()["requestState"], "inputResponses": responses})
        };
        called = Called(client.request("tools/call", params));
    }
    let said = step_reports(&called);
    let texts: Vec<_> = said[0].as_array().unwrap().iter().map(|said| said["text"].to_string()).collect();
    assert!(texts[0].contains("Ada") && texts[1].contains("free on 1") && texts[2].contains("Ada"), "{texts:?}");
}

#[test]
fn a_legacy_http_client_is_asked_on_the_stream_of_its_call() {
    let (_server, address) = Server::start_http(&config());
    let session = suite::http::legacy_session_able(address, &two(), "2025-11-25", &[]);
    let post = |message: Value| suite::http::legacy(address, &session, "POST", &[], &message.to_string());
    let params = json!({"name": "agent-calls__run", "arguments": script(json!([call("calendar.free_slots", 4)]))});
    let mut stream = post(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}));
    let request = stream.message().unwrap();
    assert_eq!(request["method"], REQUEST, "{request}");
    let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": answer(&request["params"])});
    assert_eq!(post(reply).status, 202);
    let called = Called(stream.answer(7, std::time::Instant::now()));
    assert_eq!(step_reports(&called)[0]["text"], "free on 4");
}
