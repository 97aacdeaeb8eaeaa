//! Tasks: calls of tools that go on after their request was answered, and how their clients follow them.

mod checkpoints;
mod client_tools;
mod crash;
mod durable;
mod fallback;
mod fuel;
mod long_jobs;
mod migration;
mod moving;
mod notifications;
mod operator;
mod principals;
mod reconciling;
mod restart;
mod servers;
mod suspended;
mod timeline;

use serde_json::{Value, json};
use suite::{Answer, Client, Era, PATIENCE, Server, eventually, plugin};

pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";
const CALL: &str = "dev.portcullis/call";

/// A server whose calls become tasks as soon as they do not answer at once.
fn config(server: &str) -> String {
    format!("[server]\n{server}\n[server.tasks]\ninline = \"50ms\"\n\n") + &job()
}

fn job() -> String {
    plugin(
        "job",
        "grants.client = { form = true, roots = true }\nlimits.deadline = \"10m\"\nlimits.metering = \"ticks\"\nlimits.cpu = \"10m\"",
    )
}

/// What a client declares that follows tasks and answers forms.
pub(crate) fn abilities() -> Value {
    json!({"elicitation": {"form": {}}, "extensions": {TASKS: {}}})
}

fn client(config: &str) -> Client {
    Client::able(Server::start(config), Era::Modern, false, abilities())
}

/// A task of the tool `only`, and its call.
struct Started {
    task: String,
    call: Value,
}

fn start(client: &mut Client, path: &str) -> Started {
    let created = client.request("tools/call", json!({"name": "job__only", "arguments": {"path": path}}));
    started(&created)
}

fn started(created: &Answer) -> Started {
    let result = created.result();
    assert_eq!((&result["resultType"], &result["status"]), (&json!("task"), &json!("working")), "{result}");
    let task = result["taskId"].as_str().unwrap().to_owned();
    assert!(task.len() >= 22, "128 bits at least");
    Started { task, call: result["_meta"][CALL].clone() }
}

fn steer(client: &mut Client, of: &Started, message: &str) {
    client.request("dev.portcullis/steer", json!({"call": of.call, "message": message})).result();
}

fn get(client: &mut Client, task: &str) -> Value {
    client.request("tasks/get", json!({"taskId": task})).result().clone()
}

/// Polls until the task is as wanted.
pub(crate) fn wait_for(client: &mut Client, task: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    eventually(PATIENCE, || {
        last = get(client, task);
        wanted(&last).then(|| last.clone())
    })
    .unwrap_or_else(|| panic!("it stays {last}"))
}

pub(crate) fn wait_for_status(client: &mut Client, task: &str, status: &str) -> Value {
    wait_for(client, task, |task| task["status"] == status)
}

fn answers(names: &[(&str, &str)]) -> Value {
    let answer = |name: &str| json!({"action": "accept", "content": {"name": name}});
    names.iter().map(|(key, name)| ((*key).to_owned(), answer(name))).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn a_task_is_created_polled_steered_and_ends_with_the_result_of_its_tool() {
    let mut client = client(&config(""));
    let discovered = client.request("server/discover", json!({}));
    assert_eq!(discovered.result()["capabilities"]["extensions"][TASKS], json!({}));
    let running = start(&mut client, "wait");
    let task = get(&mut client, &running.task);
    assert_eq!((&task["resultType"], &task["status"]), (&json!("complete"), &json!("working")), "{task}");
    assert_eq!((&task["ttlMs"], &task["pollIntervalMs"]), (&json!(24 * 60 * 60 * 1_000), &json!(1_000)));
    assert_eq!(task["_meta"][CALL], running.call);
    steer(&mut client, &running, "report half way");
    wait_for(&mut client, &running.task, |task| task["statusMessage"] == "half way");
    steer(&mut client, &running, "chunk a piece");
    wait_for(&mut client, &running.task, |task| task["statusMessage"] == "a piece");
    let log = format!("portcullis://runs/{}", running.call.as_str().unwrap());
    let read = client.request("resources/read", json!({"uri": log}));
    assert!(read.result()["contents"][0]["text"].as_str().unwrap().contains("a piece"));
    steer(&mut client, &running, "word");
    steer(&mut client, &running, "stop");
    let ended = wait_for_status(&mut client, &running.task, "completed");
    assert_eq!(ended["result"]["content"][0]["text"], "said: word", "{ended}");
    assert_eq!((&ended["result"]["isError"], &ended["result"]["_meta"][CALL]), (&json!(false), &running.call));
    assert!(ended["ttlMs"].as_u64().unwrap() < 3_600_000 + 120_000, "an hour after its end");
    assert!(ended["_meta"]["dev.portcullis/usage"]["wallMs"].is_number());
    assert!(client.request("tasks/cancel", json!({"taskId": running.task})).result().get("status").is_none());
    assert_eq!(get(&mut client, &running.task), ended, "an end is final");
}

/// `only` says that it may run long, and `run` does not.
#[test]
fn a_task_that_may_run_long_has_the_time_for_it() {
    let config = |limits: &str| "[server.tasks]\ninline = \"50ms\"\n\n".to_owned() + &plugin("job", limits);
    let mut unset = client(&config(""));
    let minutes = |client: &mut Client| {
        let long = start(client, "minutes-left");
        let long = wait_for_status(client, &long.task, "completed")["result"]["content"][0]["text"].clone();
        let short = client.call("job__run", json!({"path": "minutes-left"})).good();
        (long.as_str().unwrap().to_owned(), short)
    };
    assert_eq!(minutes(&mut unset), ("60".to_owned(), "1".to_owned()));
    // What the operator sets holds for both.
    assert_eq!(minutes(&mut client(&config("limits.deadline = \"3m\""))), ("3".to_owned(), "3".to_owned()));
}

#[test]
fn a_failure_of_the_tool_is_a_result_and_one_of_the_protocol_is_an_error() {
    let mut client = client(&config(""));
    let failing = start(&mut client, "fail");
    let ended = wait_for_status(&mut client, &failing.task, "completed");
    assert_eq!(ended["result"]["isError"], true);
    let broken = start(&mut client, "roots");
    let ended = wait_for_status(&mut client, &broken.task, "failed");
    assert_eq!(ended["error"]["code"], -32021, "{ended}");
    assert_eq!(ended["error"]["data"]["requiredCapabilities"], json!({"roots": {}}));
    assert!(ended.get("result").is_none() && ended["statusMessage"].is_string());
}

#[test]
fn a_task_asks_and_answers_may_come_one_by_one() {
    let mut client = client(&config(""));
    let asking = start(&mut client, "ask");
    let asked = wait_for_status(&mut client, &asking.task, "input_required");
    let requests = asked["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!(requests["second"]["method"], "elicitation/create");
    assert_eq!(requests["second"]["params"]["message"], "job asks: Who is second?");
    let update = |client: &mut Client, responses: Value| {
        let ack = client.request("tasks/update", json!({"taskId": asking.task, "inputResponses": responses}));
        assert_eq!(ack.result(), &json!({"resultType": "complete"}));
        get(client, &asking.task)
    };
    let left = update(&mut client, answers(&[("second", "Bo"), ("nobody", "X")]));
    assert_eq!(left["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["first"], "{left}");
    update(&mut client, answers(&[("second", "Too late")]));
    update(&mut client, answers(&[("first", "Al")]));
    wait_for_status(&mut client, &asking.task, "working");
    // The guest asks under the same name again; the key is another one.
    steer(&mut client, &asking, "again");
    let again = wait_for_status(&mut client, &asking.task, "input_required");
    assert_eq!(again["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["first-2"]);
    update(&mut client, answers(&[("first", "Wrong")]));
    update(&mut client, answers(&[("first-2", "Cy")]));
    steer(&mut client, &asking, "stop");
    let ended = wait_for_status(&mut client, &asking.task, "completed");
    let said = r#"said: {"name":"Al"}, {"name":"Bo"}, {"name":"Cy"}"#;
    assert_eq!(ended["result"]["content"][0]["text"], said);
}

#[test]
fn cancelling_ends_a_task_at_once_whatever_its_guest_does() {
    let mut client = client(&config(""));
    for path in ["spin", "wait", "ask"] {
        let running = start(&mut client, path);
        if path == "ask" {
            wait_for_status(&mut client, &running.task, "input_required");
        }
        let sent = std::time::Instant::now();
        for _ in 0..2 {
            let ack = client.request("tasks/cancel", json!({"taskId": running.task}));
            assert_eq!(ack.result(), &json!({"resultType": "complete"}));
        }
        let ended = wait_for_status(&mut client, &running.task, "cancelled");
        println!("{path}: cancelled after {:?}", sent.elapsed());
        assert!(ended["statusMessage"].is_string() && ended.get("result").is_none(), "{ended}");
    }
}

#[test]
fn what_a_client_does_not_declare_it_does_not_get() {
    let mut plain = Client::able(Server::start(&config("")), Era::Modern, false, json!({}));
    let required = json!({"extensions": {TASKS: {}}});
    for (method, params) in [
        ("tools/call", json!({"name": "job__only", "arguments": {}})),
        ("tasks/get", json!({"taskId": "x"})),
        ("tasks/update", json!({"taskId": "x", "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": "x"})),
        ("subscriptions/listen", json!({"notifications": {"taskIds": ["x"]}})),
    ] {
        let refused = plain.request(method, params);
        assert_eq!(refused.error_code(), -32021, "{method}");
        assert_eq!(refused.message["error"]["data"]["requiredCapabilities"], required, "{method}");
    }
    // Its other calls take as long as they take.
    let id = plain.begin("tools/call", json!({"name": "job__run", "arguments": {"path": "stop"}}));
    assert_eq!(plain.wait(id, std::time::Instant::now()).result()["content"][0]["text"], "said: ");
    let mut able = client(&config(""));
    for removed in ["tasks/list", "tasks/result"] {
        assert_eq!(able.request(removed, json!({"taskId": "x"})).error_code(), -32601, "{removed}");
    }
    for id in ["x", "", "../x", &"y".repeat(5_000)] {
        for (method, more) in [("tasks/get", None), ("tasks/update", Some(json!({}))), ("tasks/cancel", None)] {
            let mut params = json!({ "taskId": id });
            if let Some(more) = more {
                params["inputResponses"] = more;
            }
            assert_eq!(able.request(method, params).error_code(), -32602, "{method} {id:.9}");
        }
    }
    let hint = json!({"name": "job__run", "arguments": {"path": "stop"}, "task": {"ttl": 60_000}});
    assert_eq!(able.request("tools/call", hint).result()["resultType"], "complete", "a word of another revision");
}

#[test]
fn tasks_are_bounded() {
    let limits =
        "[server.tasks]\ninline = \"50ms\"\nkept = 3\nper-principal = 2\nresult = \"1 KiB\"\nkeep = \"0s\"\n\n";
    let mut client = client(&(limits.to_owned() + &job()));
    let (one, _two) = (start(&mut client, "wait"), start(&mut client, "wait"));
    let full = client.request("tools/call", json!({"name": "job__only", "arguments": {}}));
    assert!(
        full.result()["isError"] == true
            && full.result()["content"][0]["text"].as_str().unwrap().contains("server.tasks")
    );
    // A call that could be a task stays what it is.
    let id = client.begin("tools/call", json!({"name": "job__run", "arguments": {"path": "ask"}}));
    let asked = client.wait(id, std::time::Instant::now());
    assert_eq!(asked.result()["resultType"], "input_required");
    steer(&mut client, &one, "large 3000");
    // It is removed at once when it has ended.
    eventually(PATIENCE, || {
        let gone = client.request("tasks/get", json!({"taskId": one.task}));
        (gone.message["error"]["code"] == -32602).then_some(())
    })
    .unwrap();
    // Its place is free a moment after it is gone.
    let another = eventually(PATIENCE, || {
        let created = client.request("tools/call", json!({"name": "job__only", "arguments": {}}));
        created.result()["taskId"].as_str().map(str::to_owned)
    });
    assert_ne!(another.unwrap(), one.task);
}
