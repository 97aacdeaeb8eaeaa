//! Tasks whose host is killed, or stopped, and started again: their calls go on where they were.

use super::{CALL, abilities, answers, config, get, start, started, steer, wait_for, wait_for_status};
use serde_json::{Value, json};
use std::fs;
use suite::{Client, Era, Home, Server, paths, plugin_from, portcullis};

/// A client whose server keeps its state in a folder that nothing else of its configuration names.
fn client(state: &tempfile::TempDir, config: &str) -> Client {
    declaring(state, config, abilities())
}

fn declaring(state: &tempfile::TempDir, config: &str, abilities: Value) -> Client {
    let folder = state.path().join("a/b");
    let server = Server::spawn(Home::new(), config, &[], |command| {
        command.env("PORTCULLIS_STATE", folder);
    });
    server.wait_until_loaded();
    Client::able(server, Era::Modern, false, abilities)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn update(client: &mut Client, task: &str, responses: Value) {
    client.request("tasks/update", json!({"taskId": task, "inputResponses": responses})).result();
}

#[test]
fn a_killed_task_goes_on_with_what_it_was_told() {
    let state = folder();
    let mut client = client(&state, &config(""));
    let task = start(&mut client, "one");
    steer(&mut client, &task, "chunk before");
    steer(&mut client, &task, "ask");
    let asked = wait_for_status(&mut client, &task.task, "input_required");
    client.server.restart_stdio();
    let again = wait_for_status(&mut client, &task.task, "input_required");
    assert_eq!(again["inputRequests"], asked["inputRequests"], "the same questions under the same keys");
    update(&mut client, &task.task, answers(&[("second", "Bo")]));
    client.server.restart_stdio();
    // It was stored for whoever goes on with the task.
    wait_for(&mut client, &task.task, |task| {
        task["inputRequests"].as_object().is_some_and(|requests| requests.keys().eq(["first"]))
    });
    update(&mut client, &task.task, answers(&[("second", "Too late"), ("first", "Al")]));
    wait_for_status(&mut client, &task.task, "working");
    steer(&mut client, &task, "chunk after");
    steer(&mut client, &task, "again");
    let again = wait_for_status(&mut client, &task.task, "input_required");
    assert_eq!(again["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["first-2"]);
    client.server.restart_stdio();
    wait_for_status(&mut client, &task.task, "input_required");
    update(&mut client, &task.task, answers(&[("first", "Wrong"), ("first-2", "Cy")]));
    steer(&mut client, &task, "stop");
    let ended = wait_for_status(&mut client, &task.task, "completed");
    let said = r#"said: one, {"name":"Al"}, {"name":"Bo"}, {"name":"Cy"}"#;
    assert_eq!(ended["result"]["content"][0]["text"], said);
    assert_eq!(ended["result"]["_meta"][CALL], task.call, "it is the same call");
    assert_eq!(ended["result"]["_meta"]["dev.portcullis/usage"]["chunks"], 2);
    let log = format!("portcullis://runs/{}", task.call.as_str().unwrap());
    let read = client.request("resources/read", json!({"uri": log}));
    let text = read.result()["contents"][0]["text"].as_str().unwrap();
    let log: Value = serde_json::from_str(text).unwrap();
    let chunks: Vec<_> = log["chunks"].as_array().unwrap().iter().map(|it| &it["content"][0]["text"]).collect();
    assert_eq!(chunks, ["before", "after"], "{log}");
    client.server.restart_stdio();
    assert_eq!(get(&mut client, &task.task), ended, "an end is final");
    let uri = format!("portcullis://tasks/{}?after=0", task.task);
    let read = client.request("resources/read", json!({"uri": uri}));
    let document: Value = serde_json::from_str(read.result()["contents"][0]["text"].as_str().unwrap()).unwrap();
    let chunks = document["output"]["chunks"].as_array().unwrap_or_else(|| panic!("{document}"));
    assert_eq!((chunks.len(), &chunks[0]["content"][0]["text"]), (1, &json!("after")), "{document}");
}

/// Also one that moved away from its request.
#[test]
fn a_stopped_host_leaves_its_tasks_to_the_next() {
    let state = folder();
    let mut client = client(&state, &config(""));
    let only = start(&mut client, "one");
    let moved = started(&client.request("tools/call", json!({"name": "job__run", "arguments": {"path": "two"}})));
    client.server.terminate();
    assert!(client.server.ended().success());
    client.server.restart_stdio();
    for (task, word) in [(only, "one"), (moved, "two")] {
        assert_eq!(get(&mut client, &task.task)["status"], "working");
        // It is steered once it runs.
        suite::eventually(suite::PATIENCE, || {
            let answer = client.request("dev.portcullis/steer", json!({"call": task.call, "message": "stop"}));
            answer.message.get("result").map(|_| ())
        });
        let ended = wait_for_status(&mut client, &task.task, "completed");
        assert_eq!(ended["result"]["content"][0]["text"], format!("said: {word}"));
    }
}

#[test]
fn a_task_that_goes_on_can_be_cancelled() {
    let state = folder();
    let mut client = client(&state, &config(""));
    for path in ["spin", "wait", "ask"] {
        let task = start(&mut client, path);
        if path == "ask" {
            wait_for_status(&mut client, &task.task, "input_required");
        }
        client.server.restart_stdio();
        client.request("tasks/cancel", json!({"taskId": task.task})).result();
        wait_for_status(&mut client, &task.task, "cancelled");
    }
}

/// With another component the steps mean something else.
#[test]
fn a_task_whose_plugin_has_changed_fails_and_says_so() {
    let state = folder();
    let component = state.path().join("job.wasm");
    let bytes = fs::read(paths::guest("job")).unwrap();
    fs::write(&component, &bytes).unwrap();
    let settings = "[server.tasks]\ninline = \"50ms\"\n\n".to_owned() + &plugin_from("job", &component, "");
    let mut client = client(&state, &settings);
    let task = start(&mut client, "wait");
    client.server.kill();
    // A custom section, which changes nothing that it does.
    fs::write(&component, [bytes, b"\0\x02\x01x".to_vec()].concat()).unwrap();
    client.server.restart_stdio();
    let ended = wait_for_status(&mut client, &task.task, "failed");
    let message = ended["statusMessage"].as_str().unwrap();
    assert!(message.contains("plugin has changed"), "{message}");
    let recorded = suite::eventually(suite::PATIENCE, || {
        let records = fs::read_to_string(state.path().join("a/b/audit/audit.jsonl")).ok()?;
        let of_call = |line: &&str| line.contains(task.call.as_str().unwrap()) && line.contains("\"cancelled\"");
        (records.lines().filter(of_call).count() == 1).then_some(())
    });
    assert!(recorded.is_some(), "the end of its call is in the audit");
    // Without its plugin, a task waits.
    let waiting = start(&mut client, "wait");
    client.server.kill();
    fs::remove_file(&component).unwrap();
    client.server.restart_stdio();
    wait_for(&mut client, &waiting.task, |task| {
        task["status"] == "working" && task["statusMessage"].as_str().is_some_and(|why| why.contains("job__only"))
    });
    client.request("tasks/cancel", json!({"taskId": waiting.task})).result();
    wait_for_status(&mut client, &waiting.task, "cancelled");
}

/// For clients without the extension: the link is as good as before.
#[test]
fn a_link_to_a_task_outlives_the_host() {
    let state = folder();
    let mut client = declaring(&state, &config("fallback-tools = true"), json!({}));
    let linked = client.request("tools/call", json!({"name": "job__run", "arguments": {"path": "one"}}));
    let task = linked.result()["_meta"]["dev.portcullis/task"].as_str().unwrap().to_owned();
    client.server.restart_stdio();
    let stop = json!({"call": linked.result()["_meta"][CALL], "message": "stop"});
    suite::eventually(suite::PATIENCE, || {
        client.request("dev.portcullis/steer", stop.clone()).message.get("result").map(|_| ())
    });
    let ended = client.call("task_result", json!({"task": task}));
    assert_eq!(ended.text(), "said: one");
}

#[test]
fn a_plugin_may_ask_that_its_steps_survive_more_and_the_operator_decides() {
    let home = Home::new();
    let strong = home.path().join("strong.wasm").display().to_string();
    let weak = paths::guest("wait-forever").display().to_string();
    let words = ["plugin", "manifest", &weak, "--set", "survive=power-loss", "--output", &strong];
    portcullis(&home, &words).good();
    assert!(portcullis(&home, &["check", &strong]).good().contains("survive a loss of power"));
    for (limits, expected) in [("", "power-loss"), ("limits.survive = \"crash\"", "crash")] {
        let state = folder();
        let settings = "[server.tasks]\ninline = \"50ms\"\n\n".to_owned();
        let mut client = client(&state, &(settings + &plugin_from("strong", strong.as_ref(), limits)));
        started(&client.request("tools/call", json!({"name": "strong__run"})));
        client.server.kill();
        let stored = ["durable.db", "durable.db-wal"].map(|name| fs::read(state.path().join("a/b").join(name)));
        let stored = stored.map(|bytes| String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()).concat();
        assert!(stored.contains(&format!("\"survive\":\"{expected}\"")), "{limits}: not {expected}");
    }
}
