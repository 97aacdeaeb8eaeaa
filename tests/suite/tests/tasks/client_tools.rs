//! Reverse calls to client-side tools from a call that is a task: shown with the task to a client that declares them, answered
//! by `tasks/update`, each run once whatever happens to the host.

use super::{CALL, Started, TASKS, get, started, wait_for, wait_for_status};
use crate::client_tools::{EXTENSION, answer, call, declaring, script, tool};
use crate::live::{LISTEN, LISTENING, NAME, RESPOND};
use serde_json::{Map, Value, json};
use std::time::Instant;
use suite::http::request;
use suite::{Client, Era, Home, PATIENCE, Server, eventually, plugin, portcullis};

/// No call may wait with its instance, so that each is suspended at once.
const NO_ROOM: &str = "parked = { calls = 0, per-principal = 0 }";
const SLOTS: &str = "calendar.free_slots";

fn config(server: &str) -> String {
    let grants = r#"grants = { agent-tools = ["calendar.*"], client = { form = true } }"#;
    let job = plugin("agent-calls", &format!("{grants}\nlimits.deadline = \"10m\""));
    format!("[server]\n{server}\n[server.tasks]\ninline = \"50ms\"\n\n{job}")
}

/// What a client declares that follows tasks and runs tools.
fn abilities(further: Value) -> Value {
    let mut declared = declaring(&[tool(SLOTS), tool("calendar.other"), tool("mail.send")], further);
    declared["extensions"][TASKS] = json!({});
    declared
}

/// What a client declares that only follows tasks.
fn without_tools() -> Value {
    json!({"elicitation": {"form": {}}, "extensions": {TASKS: {}}})
}

fn client(server: &str) -> Client {
    Client::able(Server::start(&config(server)), Era::Modern, false, abilities(json!({})))
}

fn start(client: &mut Client, steps: Value) -> Started {
    started(&client.request("tools/call", json!({"name": "agent-calls__only", "arguments": script(steps)})))
}

/// The calls that a task shows.
fn calls(task: &Value) -> Map<String, Value> {
    task["_meta"][EXTENSION]["toolCalls"].as_object().cloned().unwrap_or_default()
}

fn wait_for_calls(client: &mut Client, task: &str, count: usize) -> Map<String, Value> {
    calls(&wait_for(client, task, |task| calls(task).len() == count))
}

fn days(calls: &Map<String, Value>) -> Vec<u64> {
    let mut days: Vec<u64> = calls.values().map(|call| call["arguments"]["day"].as_u64().unwrap()).collect();
    days.sort_unstable();
    days
}

fn brought(task: &str, outcomes: Value) -> Value {
    json!({"taskId": task, "inputResponses": {}, "_meta": {EXTENSION: {"results": outcomes}}})
}

fn update(client: &mut Client, task: &str, outcomes: Value) {
    client.request("tasks/update", brought(task, outcomes)).result();
}

fn outcomes(calls: &Map<String, Value>) -> Value {
    calls.iter().map(|(key, call)| (key.clone(), answer(call))).collect::<Map<_, _>>().into()
}

/// Runs the tools for these calls.
fn run(client: &mut Client, task: &str, calls: &Map<String, Value>) {
    update(client, task, outcomes(calls));
}

/// What the guest says of its steps.
fn report(ended: &Value) -> Value {
    serde_json::from_str(ended["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{ended}"))).unwrap()
}

fn free(day: u64) -> Value {
    json!({"text": format!("free on {day}"), "origin": "Origin::Client"})
}

fn operators_view(client: &Client, task: &str) -> Value {
    let shown = portcullis(&client.server.home, &["task", "show", task, "--timeline", "--json"]).good().to_owned();
    serde_json::from_str(&shown).unwrap()
}

fn wait_until_suspended(client: &Client, task: &str) {
    eventually(PATIENCE, || (operators_view(client, task)["suspended"] == true).then_some(())).expect("suspended");
}

#[test]
fn calls_are_shown_with_the_task_and_answered_one_by_one() {
    let mut client = client("");
    let many: Vec<Value> = (1..4).map(|day| call(SLOTS, day)["call"].clone()).collect();
    let steps = json!([call("mail.send", 1), {"list": true}, {"many": many}]);
    let task = start(&mut client, steps);
    let shown = wait_for(&mut client, &task.task, |task| calls(task).len() == 3);
    assert_eq!((&shown["status"], &shown["inputRequests"]), (&json!("input_required"), &json!({})), "{shown}");
    let asked = calls(&shown);
    assert_eq!(days(&asked), [1, 2, 3]);
    for call in asked.values() {
        for (field, value) in [("name", json!(SLOTS)), ("plugin", json!("agent-calls")), ("tool", json!("only"))] {
            assert_eq!(call[field], value, "{call}");
        }
        assert!(call["timeoutMs"].as_u64().unwrap() > 1_000 && call["chain"].is_string(), "{call}");
        assert_eq!(call["parent"], task.call);
    }
    let steps = operators_view(&client, &task.task)["timeline"]["steps"].clone();
    let waits = |step: &&Value| step["name"] == SLOTS && step["waits"] == true && step["ends"].is_null();
    assert_eq!(
        steps.as_array().unwrap().iter().filter(waits).map(|step| step["times"].as_u64().unwrap()).sum::<u64>(),
        3
    );
    let mut keys = asked.keys().cloned();
    let (one, two, three) = (keys.next().unwrap(), keys.next().unwrap(), keys.next().unwrap());
    let mut private = answer(&asked[&two]);
    private["_meta"] = json!({"dev.portcullis/private": true, "dev.portcullis/edited": {"day": 9}});
    update(&mut client, &task.task, json!({two.clone(): private, "call-99": answer(&asked[&one]), "nobody": {}}));
    let left = calls(&get(&mut client, &task.task));
    assert!(left.keys().eq([&one, &three]), "what was answered is seen at once: {left:?}");
    let declined = json!({"error": {"code": "declined", "message": "not today"}});
    update(
        &mut client,
        &task.task,
        json!({one.clone(): answer(&asked[&one]), two: answer(&asked[&one]), three: declined}),
    );
    let ended = wait_for_status(&mut client, &task.task, "completed");
    assert_eq!(calls(&ended), Map::new());
    let said = report(&ended);
    assert_eq!((&said[0]["error"], &said[1]), (&json!("denied"), &json!([SLOTS, "calendar.other"])), "{said}");
    assert_eq!(said[2][0], free(1), "{said}");
    assert_eq!((&said[2][1]["private"], &said[2][1]["edited"]), (&json!(true), &json!({"day": 9})), "{said}");
    assert_eq!(said[2][2]["error"], "declined", "{said}");
    assert_eq!(ended["result"]["_meta"][CALL], task.call);
    let usage = &ended["result"]["_meta"]["dev.portcullis/usage"];
    assert_eq!((&usage["calls"], &usage["questions"]), (&json!(3), &json!(0)), "{usage}");
}

/// Each request stands for itself, and so does a subscription.
#[test]
fn who_does_not_declare_the_extension_sees_a_task_that_works_and_brings_nothing() {
    let mut client = client("");
    let task = start(&mut client, json!([call(SLOTS, 1)]));
    let asked = wait_for_calls(&mut client, &task.task, 1);
    let live_only = abilities(json!({"lanes": ["live"], "channel": NAME}));
    let mut forbids = abilities(json!({}));
    forbids["extensions"][EXTENSION]["allowServerCalls"] = json!(false);
    for other in [without_tools(), live_only, forbids] {
        client.abilities = other;
        let shown = get(&mut client, &task.task);
        assert_eq!((&shown["status"], calls(&shown)), (&json!("working"), Map::new()), "{shown}");
        let message = shown["statusMessage"].as_str().unwrap();
        assert!(message.contains("tools of its client: `calendar.free_slots`"), "{message}");
        run(&mut client, &task.task, &asked);
        let id = client.begin("subscriptions/listen", json!({"notifications": {"taskIds": [task.task]}}));
        let told = client.wait_for("notifications/tasks");
        assert_eq!((&told["params"]["status"], calls(&told["params"])), (&json!("working"), Map::new()), "{told}");
        client.cancel(id);
    }
    // It need not name its tools again.
    client.abilities = without_tools();
    client.abilities["extensions"][EXTENSION] = json!({"allowServerCalls": true});
    assert_eq!(wait_for_calls(&mut client, &task.task, 1).keys().collect::<Vec<_>>(), asked.keys().collect::<Vec<_>>());
    let wrong = client.request("tasks/update", brought(&task.task, json!([])));
    assert_eq!(wrong.error_code(), -32602, "{}", wrong.message);
    client.begin("subscriptions/listen", json!({"notifications": {"taskIds": [task.task]}}));
    let told = client.wait_for("notifications/tasks")["params"].clone();
    assert_eq!((&told["status"], calls(&told).len()), (&json!("input_required"), 1), "{told}");
    assert!(told["_meta"]["io.modelcontextprotocol/subscriptionId"].is_number(), "{told}");
    client.begin("tasks/update", brought(&task.task, outcomes(&asked)));
    let ended = loop {
        let told = client.wait_for("notifications/tasks")["params"].take();
        if told["status"] == "completed" {
            break told;
        }
    };
    assert_eq!(calls(&ended), Map::new(), "{ended}");
    assert_eq!(report(&wait_for_status(&mut client, &task.task, "completed")), json!([free(1)]));
}

/// What is declared with the request that creates a task holds, and nothing later widens it.
#[test]
fn a_task_whose_request_declared_no_tools_calls_none() {
    let mut client = client("");
    client.abilities = without_tools();
    let task = start(&mut client, json!([{"list": true}, call(SLOTS, 1)]));
    client.abilities = abilities(json!({}));
    let said = report(&wait_for_status(&mut client, &task.task, "completed"));
    assert_eq!((&said[0], &said[1]["error"]), (&json!([]), &json!("not-supported")), "{said}");
}

/// A client that remembers what its tools have answered.
fn run_once(client: &mut Client, task: &str, ran: &mut Map<String, Value>) {
    for (key, call) in calls(&get(client, task)) {
        let outcome = ran.entry(key.clone()).or_insert_with(|| answer(&call)).clone();
        update(client, task, json!({key: outcome}));
    }
}

#[test]
fn a_killed_task_asks_again_for_what_has_no_outcome_and_runs_each_tool_once() {
    let mut client = client("");
    let two = json!({"many": [call(SLOTS, 1)["call"], call(SLOTS, 2)["call"]]});
    let task = start(&mut client, json!([two, call(SLOTS, 3), {"emit": "between"}, call(SLOTS, 4)]));
    let first = wait_for_calls(&mut client, &task.task, 2);
    client.server.restart_stdio();
    let again = wait_for_calls(&mut client, &task.task, 2);
    for (key, call) in &again {
        assert_eq!((&call["arguments"], &call["parent"]), (&first[key]["arguments"], &task.call), "the same call");
    }
    let (key, asked) = first.iter().next().unwrap();
    update(&mut client, &task.task, json!({key.clone(): answer(asked)}));
    // It is acknowledged, so it is stored.
    client.server.restart_stdio();
    let mut ran = Map::from_iter([(key.clone(), answer(asked))]);
    for _ in 0..3 {
        let shown = wait_for(&mut client, &task.task, |task| !calls(task).is_empty());
        assert!(calls(&shown).keys().all(|key| !ran.contains_key(key)), "it has an outcome: {shown}");
        run_once(&mut client, &task.task, &mut ran);
        client.server.restart_stdio();
    }
    let said = report(&wait_for_status(&mut client, &task.task, "completed"));
    assert_eq!(said, json!([[free(1), free(2)], free(3), said[2], free(4)]));
    assert_eq!(ran.len(), 4, "{ran:?}");
}

#[test]
fn a_suspended_task_goes_on_when_an_outcome_comes() {
    let mut client = client(NO_ROOM);
    let many: Vec<Value> = (1..3).map(|day| call(SLOTS, day)["call"].clone()).collect();
    let task = start(&mut client, json!([{"many": many}, {"ask": "who"}]));
    let asked = wait_for_calls(&mut client, &task.task, 2);
    wait_until_suspended(&client, &task.task);
    update(&mut client, &task.task, json!({"call-77": answer(asked.values().next().unwrap())}));
    assert_eq!(operators_view(&client, &task.task)["suspended"], true, "nobody has asked for it");
    client.server.restart_stdio();
    assert_eq!(operators_view(&client, &task.task)["suspended"], true, "nothing has to run");
    let (key, one) = asked.iter().next().unwrap();
    update(&mut client, &task.task, json!({key.clone(): answer(one)}));
    let left = wait_for_calls(&mut client, &task.task, 1);
    assert!(!left.contains_key(key), "it has its outcome: {left:?}");
    wait_until_suspended(&client, &task.task);
    // Any process over the folder goes on with it.
    let state = client.server.home.path().join("state");
    let second = Server::spawn(Home::new(), &config(NO_ROOM), &[], |command| {
        command.env("PORTCULLIS_STATE", &state);
    });
    second.wait_until_loaded();
    let mut second = Client::able(second, Era::Modern, false, abilities(json!({})));
    run(&mut second, &task.task, &left);
    let asks = wait_for(&mut client, &task.task, |task| task["inputRequests"]["who"].is_object());
    assert_eq!(calls(&asks), Map::new(), "{asks}");
    let answers = json!({"who": {"action": "accept", "content": {"name": "Al"}}});
    client.request("tasks/update", json!({"taskId": task.task, "inputResponses": answers})).result();
    let said = report(&wait_for_status(&mut client, &task.task, "completed"));
    assert_eq!(said, json!([[free(1), free(2)], r#"{"name":"Al"}"#]));
}

/// Of a running task and of a suspended one, whose call begins again meanwhile.
#[test]
fn a_call_without_an_outcome_is_given_up_in_time() {
    for server in ["", NO_ROOM] {
        let mut client = client(server);
        let soon = json!({"call": {"name": SLOTS, "arguments": {"day": 1}, "timeoutMs": 1_500}});
        let task = start(&mut client, json!([soon, call(SLOTS, 2)]));
        let second = wait_for(&mut client, &task.task, |task| days(&calls(task)) == [2]);
        let second = calls(&second);
        run(&mut client, &task.task, &second);
        let said = report(&wait_for_status(&mut client, &task.task, "completed"));
        assert_eq!((&said[0]["error"], &said[1]), (&json!("timeout"), &free(2)), "{said}");
    }
}

/// One that was asked for with its task is not made on a channel as well, and one under way on a channel is not asked for.
#[test]
fn a_call_goes_on_in_the_lane_in_which_it_began() {
    let both = || abilities(json!({"lanes": ["live", "retry"], "channel": NAME}));
    let mut client = client("");
    client.abilities = both();
    let task = start(&mut client, json!([call(SLOTS, 1), call(SLOTS, 2)]));
    let asked = wait_for_calls(&mut client, &task.task, 1);
    client.begin(LISTEN, json!({"channel": NAME}));
    client.wait_for(LISTENING);
    client.server.restart_stdio();
    client.begin(LISTEN, json!({"channel": NAME}));
    client.wait_for(LISTENING);
    assert!(wait_for_calls(&mut client, &task.task, 1).keys().eq(asked.keys()), "the same");
    // What comes before its answer counts, too.
    client.begin("tasks/update", brought(&task.task, outcomes(&asked)));
    let called = client.wait_for("notifications/dev.portcullis/reverse_call")["params"].clone();
    assert_eq!(called["arguments"]["day"], 2, "the first one of the channel: {called}");
    client.server.restart_stdio();
    let lost = wait_for(&mut client, &task.task, |task| task["status"] == "completed" || !calls(task).is_empty());
    let code = &lost["result"]["_meta"]["dev.portcullis/error"]["code"];
    assert_eq!((code, calls(&lost)), (&json!("outcome-unknown"), Map::new()), "{lost}");
    let respond = json!({"channel": NAME, "callId": called["callId"], "result": answer(&called)});
    assert_eq!(client.request(RESPOND, respond).error_code(), -32602);
}

#[test]
fn somebody_elses_calls_are_neither_seen_nor_answered() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]);
    let (_server, address) = Server::start_http_in(home, &config("auth.keys = \"keys.toml\""));
    let send = |key: &str, method: &str, mut params: Value| -> Value {
        let mut meta = suite::client::modern_meta(false);
        meta["io.modelcontextprotocol/clientCapabilities"] = abilities(json!({}));
        if let Some(more) = params["_meta"].as_object() {
            meta.as_object_mut().unwrap().extend(more.clone());
        }
        params["_meta"] = meta;
        let name = params["taskId"].as_str().or(params["name"].as_str()).unwrap_or_default().to_owned();
        let bearer = format!("Bearer {key}");
        let headers = [
            ("Authorization", &*bearer),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
            ("Mcp-Name", &*name),
        ];
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        request(address, "POST", &headers, &body.to_string()).answer(1, Instant::now()).message
    };
    let begin = json!({"name": "agent-calls__only", "arguments": script(json!([call(SLOTS, 1)]))});
    let hers = send(&alice, "tools/call", begin)["result"]["taskId"].as_str().unwrap().to_owned();
    let of = |id: &str| json!({"taskId": id});
    let asked = eventually(PATIENCE, || {
        let shown = send(&alice, "tasks/get", of(&hers));
        Some(calls(&shown["result"])).filter(|calls| !calls.is_empty())
    });
    let asked = asked.unwrap();
    let outcomes = outcomes(&asked);
    for (method, params) in
        [("tasks/get", &of as &dyn Fn(&str) -> Value), ("tasks/update", &|id: &str| brought(id, outcomes.clone()))]
    {
        let (foreign, unknown) = (send(&bob, method, params(&hers)), send(&bob, method, params("nobody")));
        assert_eq!(foreign, unknown, "{method}");
        assert_eq!(unknown["error"]["code"], -32602, "{method}");
    }
    assert_eq!(calls(&send(&alice, "tasks/get", of(&hers))["result"]).len(), 1, "nobody has answered it");
    send(&alice, "tasks/update", brought(&hers, outcomes));
    let ended = eventually(PATIENCE, || {
        let shown = send(&alice, "tasks/get", of(&hers))["result"].clone();
        (shown["status"] == "completed").then_some(shown)
    });
    assert_eq!(report(&ended.unwrap()), json!([free(1)]));
}
