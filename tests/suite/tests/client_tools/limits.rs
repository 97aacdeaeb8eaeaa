//! Limits on reverse calls: the operator's, inherited and never refilled, and the client's, which narrow them further.

use super::{REQUEST, able, answer, asked, call, config, declaring, first, retry, through, tool, two};
use serde_json::{Value, json};
use suite::{Called, Client, Era, Server, plugin};

fn days(many: u64) -> Vec<Value> {
    (0..many).map(|day| call("calendar.free_slots", day)["call"].clone()).collect()
}

fn limited(limits: Value) -> Client {
    able(Era::Modern, declaring(&[tool("calendar.free_slots"), tool("calendar.book")], json!({"limits": limits})))
}

fn errors(said: &Value) -> Vec<&str> {
    said.as_array().unwrap().iter().map(|one| one["error"].as_str().unwrap_or("-")).collect()
}

#[test]
fn the_clients_limits_apply_across_all_rounds() {
    let mut client = limited(json!({"calls": 3}));
    let steps: Vec<Value> = (0..5).map(|day| call("calendar.free_slots", day)).collect();
    let (said, rounds, _) = through(&mut client, steps.into(), answer);
    assert_eq!((errors(&said), rounds), (vec!["-", "-", "-", "exhausted", "exhausted"], vec![1, 1, 1]));
    // The limits are counted per request.
    let (said, rounds, _) = through(&mut client, json!([{"many": days(4)}]), answer);
    assert_eq!((errors(&said[0]), rounds), (vec!["-", "-", "-", "exhausted"], vec![3]));
}

#[test]
fn a_tool_has_its_own_limits() {
    let mut once = tool("calendar.book");
    once["limits"] = json!({"calls": 1});
    let mut client = able(Era::Modern, declaring(&[once, tool("calendar.free_slots")], json!({})));
    let steps = json!([call("calendar.book", 1), call("calendar.book", 2), call("calendar.free_slots", 3)]);
    let (said, rounds, _) = through(&mut client, steps, answer);
    assert_eq!((errors(&said), rounds), (vec!["-", "exhausted", "-"], vec![1, 1]));
}

#[test]
fn parallel_calls_stay_within_the_clients_limit() {
    let (said, rounds, _) = through(&mut limited(json!({"parallel": 3})), json!([{"many": days(7)}]), answer);
    assert_eq!((errors(&said[0]), rounds), (vec!["-"; 7], vec![3, 3, 1]));
}

#[test]
fn arguments_above_the_clients_limit_are_refused() {
    let mut client = limited(json!({"argumentBytes": 10}));
    let (said, rounds, _) =
        through(&mut client, json!([call("calendar.free_slots", 7), call("calendar.free_slots", 777_777)]), answer);
    assert_eq!((errors(&said), rounds), (vec!["-", "exhausted"], vec![1]));
}

#[test]
fn the_operators_limits_apply_before_the_clients() {
    let settings = "grants.agent-tools = [\"calendar.*\"]\nlimits.calls = 2\nlimits.parallel = 1\n";
    let mut client = Client::able(Server::start(&plugin("agent-calls", settings)), Era::Modern, false, two());
    let (said, rounds, called) = through(&mut client, json!([{"many": days(4)}]), answer);
    assert_eq!((errors(&said[0]), rounds), (vec!["-", "-", "exhausted", "exhausted"], vec![1, 1]));
    assert_eq!(called.usage()["calls"], 2);
    // Results are counted, too, before the plugin sees them.
    let settings = "grants.agent-tools = [\"calendar.*\"]\nlimits.call-results = \"1 KiB\"\n";
    let mut client = Client::able(Server::start(&plugin("agent-calls", settings)), Era::Modern, false, two());
    let (said, ..) = through(
        &mut client,
        json!([call("calendar.free_slots", 1)]),
        |_| json!({"content": [{"type": "text", "text": "x".repeat(2_000)}]}),
    );
    assert_eq!(errors(&said), ["exhausted"]);
}

#[test]
fn the_deadline_pauses_while_the_client_runs_a_tool() {
    let settings = "grants.agent-tools = [\"calendar.*\"]\nlimits.deadline = \"1500ms\"\n";
    let mut client = Client::able(Server::start(&plugin("agent-calls", settings)), Era::Modern, false, two());
    let (arguments, called) = first(&mut client, json!([call("calendar.free_slots", 1)]));
    let (key, fields) = asked(&called).iter().next().unwrap();
    // Longer than the deadline of the call.
    std::thread::sleep(std::time::Duration::from_millis(1_800));
    let outcomes = json!({key: answer(fields)});
    let called = Called(client.request("tools/call", retry(&arguments, &called.result()["continuation"], outcomes)));
    assert!(called.good().contains("free on 1"));
}

#[test]
fn a_legacy_client_is_notified_when_its_call_is_withdrawn() {
    // The client is slower than the plugin's timeout.
    let mut client = able(Era::Legacy, two());
    let mut step = call("calendar.free_slots", 1);
    step["call"]["timeoutMs"] = json!(100);
    let id = client.begin_call("agent-calls__run", super::script(json!([step])));
    let sent = std::time::Instant::now();
    let asked = client.wait_for(REQUEST);
    assert_eq!(client.wait_for("notifications/cancelled")["params"]["requestId"], asked["id"]);
    // An answer to a withdrawn call is ignored.
    client.server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}}));
    assert!(Called(client.wait(id, sent)).good().contains("timeout"));
    // The calling request itself is cancelled.
    let id = client.begin_call("agent-calls__run", super::script(json!([call("calendar.free_slots", 1)])));
    let asked = client.wait_for(REQUEST);
    client.cancel(id);
    assert_eq!(client.wait_for("notifications/cancelled")["params"]["requestId"], asked["id"]);
    client.request("ping", json!({}));
}

#[test]
fn a_refusal_by_a_legacy_client_is_typed() {
    for (error, kind) in [
        (json!({"code": -32601, "message": "what?"}), "not-supported"),
        (json!({"code": -32000, "message": "no", "data": {"code": "declined"}}), "declined"),
        (json!({"code": -32000, "message": "no", "data": {"code": "exhausted"}}), "exhausted"),
        (json!({"code": -32000, "message": "no", "data": 7}), "failed"),
        (json!({"code": -32603, "message": "broke"}), "failed"),
    ] {
        let mut client = able(Era::Legacy, two());
        let id = client.begin_call("agent-calls__run", super::script(json!([call("calendar.free_slots", 1)])));
        let sent = std::time::Instant::now();
        let asked = client.wait_for(REQUEST);
        client.server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
        let said = super::step_reports(&Called(client.wait(id, sent)));
        assert_eq!(said[0]["error"], kind, "{said}");
    }
}

#[test]
fn ten_thousand_calls_end_at_the_limit() {
    let mut client = Client::able(Server::start(&(config() + &plugin("echo", ""))), Era::Legacy, false, two());
    client.answering = Some(|_, params| answer(params));
    let many: Vec<Value> = (0..300).map(|day| call("calendar.free_slots", day)["call"].clone()).collect();
    let (said, _, called) = through(&mut client, json!([{"many": many}]), answer);
    assert_eq!(errors(&said[0]).iter().filter(|error| **error == "exhausted").count(), 300 - 256);
    assert_eq!(called.usage()["calls"], 256);
    client.check_alive();
}
