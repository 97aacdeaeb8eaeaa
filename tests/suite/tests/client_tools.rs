//! Reverse calls to tools that live with the client, in both eras: what is declared and granted may be called, once, with
//! exactly these arguments; nothing else is.

mod abuse;
mod chains;
mod limits;

use serde_json::{Map, Value, json};
use suite::{Called, Client, Era, Server, plugin};

/// The extension.
pub(crate) const EXTENSION: &str = "dev.portcullis/client-tools";
/// The request of the older revision.
pub(crate) const REQUEST: &str = "dev.portcullis/tools/call";

/// Who may call which tools of the client.
pub(crate) fn config() -> String {
    plugin("agent-calls", r#"grants = { agent-tools = ["calendar.*", "slow.*", "echo.*"], client = { form = true } }"#)
}

/// A tool that takes a day.
pub(crate) fn tool(name: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]});
    json!({"name": name, "description": "Of the client.", "inputSchema": schema})
}

/// What a client declares that has these tools, with further fields.
pub(crate) fn declaring(tools: &[Value], further: Value) -> Value {
    let mut declaration = json!({"allowServerCalls": true, "tools": tools});
    declaration.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    json!({"extensions": {EXTENSION: declaration}, "elicitation": {"form": {}}})
}

/// Two tools, one of which nobody grants.
pub(crate) fn two() -> Value {
    declaring(&[tool("calendar.free_slots"), tool("mail.send")], json!({}))
}

pub(crate) fn able(era: Era, abilities: Value) -> Client {
    Client::able(Server::start(&config()), era, false, abilities)
}

/// Arguments of the guest that does what these steps say.
pub(crate) fn script(steps: Value) -> Value {
    json!({"path": steps.to_string()})
}

/// A step that calls a tool about a day.
pub(crate) fn call(name: &str, day: u64) -> Value {
    json!({"call": {"name": name, "arguments": {"day": day}}})
}

/// A good answer.
pub(crate) fn answer(call: &Value) -> Value {
    json!({"content": [{"type": "text", "text": format!("free on {}", call["arguments"]["day"])}]})
}

/// Params of a retry with these outcomes.
pub(crate) fn retry(arguments: &Value, continuation: &Value, outcomes: Value) -> Value {
    let brought = json!({"continuation": continuation, "results": outcomes});
    json!({"name": "agent-calls__run", "arguments": arguments, "_meta": {EXTENSION: brought}})
}

/// The first round of a script.
pub(crate) fn first(client: &mut Client, steps: Value) -> (Value, Called) {
    let arguments = script(steps);
    let called = client.call("agent-calls__run", arguments.clone());
    (arguments, called)
}

/// The calls of a round, which must be one of the extension.
pub(crate) fn asked(called: &Called) -> &Map<String, Value> {
    assert_eq!(called.result()["resultType"], EXTENSION, "{}", called.result());
    called.result()["toolCalls"].as_object().unwrap()
}

/// What the guest says that came of its steps.
pub(crate) fn came(called: &Called) -> Value {
    serde_json::from_str(&called.good()).unwrap()
}

/// Answers all rounds of a script by `answer`; what came of it, and how many calls each round had.
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
    (came(&called), rounds, called)
}

#[test]
fn a_plugin_sees_what_is_declared_and_granted() {
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
fn a_call_goes_out_once_with_all_that_is_known_of_it() {
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
    assert_eq!(came(&called), json!([{"text": "free on 7", "origin": "Origin::Client"}]));
    assert_eq!((&called.usage()["calls"], &called.usage()["questions"]), (&json!(1), &json!(0)));
}

#[test]
fn calls_at_once_go_out_in_one_round() {
    let calls: Vec<Value> = (0..20).map(|day| call("calendar.free_slots", day)["call"].clone()).collect();
    let expected: Vec<Value> =
        (0..20).map(|day| json!({"text": format!("free on {day}"), "origin": "Origin::Client"})).collect();
    let mut client = able(Era::Modern, two());
    let (said, rounds, called) = through(&mut client, json!([{"many": calls}]), answer);
    // Eight at a time, which is the operator's limit; as each ends, the next begins.
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
fn calls_and_questions_take_turns() {
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
    let said = came(&called);
    assert_eq!(
        (&said[0]["text"], &said[1], &said[2]["text"]),
        (&json!("one"), &json!(r#"{"name":"Ada"}"#), &json!("two"))
    );
}

#[test]
fn an_older_client_is_asked_on_the_stream_of_its_call() {
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
fn over_http_the_calls_are_the_result_too() {
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
        assert_eq!(came(&called)[1]["text"], "free on 3");
    }
}

#[test]
fn the_server_says_which_lanes_it_has() {
    let mut client = able(Era::Modern, json!({}));
    let capabilities = client.request("server/discover", json!({})).result()["capabilities"].clone();
    let lanes = capabilities["extensions"][EXTENSION]["lanes"].as_array().unwrap();
    assert!(lanes.contains(&json!("retry")) && lanes.contains(&json!("request")), "{capabilities}");
}
