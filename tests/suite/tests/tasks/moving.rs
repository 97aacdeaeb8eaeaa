//! Calls that become tasks because they take long: the call goes on where it is.

use super::{CALL, abilities, answers, client, config, get, start, started, steer, wait_for_status};
use serde_json::{Value, json};
use std::time::Instant;
use suite::{Answer, Client, Era, Home, Server, http};

#[test]
fn a_call_that_takes_long_goes_on_as_a_task() {
    let mut client = client(&config(""));
    let quick = client.request("tools/call", json!({"name": "job__run", "arguments": {"path": "stop"}}));
    assert_eq!(quick.result()["resultType"], "complete");
    let moved = client.request("tools/call", json!({"name": "job__run", "arguments": {"path": "word"}}));
    let moved = started(&moved);
    steer(&mut client, &moved, "stop");
    let ended = wait_for_status(&mut client, &moved.task, "completed");
    assert_eq!(ended["result"]["content"][0]["text"], "said: word", "it was not begun again");
    assert_eq!(ended["result"]["_meta"]["dev.portcullis/usage"]["chunks"], 0);
}

#[test]
fn chunks_before_go_to_the_client_and_later_ones_to_the_log() {
    let declared = json!({"extensions": {super::TASKS: {}, "dev.portcullis/partial-results": {}}});
    let mut client = Client::able(Server::start(&config("")), Era::Modern, false, declared);
    let answer = client.request("tools/call", json!({"name": "job__run", "arguments": {"path": "chunk before"}}));
    let moved = started(&answer);
    let sent: Vec<&Value> = answer.notifications.iter().map(|(_, it)| &it["params"]["content"][0]["text"]).collect();
    assert_eq!(sent, ["before"]);
    steer(&mut client, &moved, "chunk after");
    steer(&mut client, &moved, "stop");
    let log = format!("portcullis://runs/{}", moved.call.as_str().unwrap());
    let log = suite::eventually(suite::PATIENCE, || {
        let read = client.request("resources/read", json!({"uri": log}));
        let text = read.message["result"]["contents"][0]["text"].as_str()?.to_owned();
        text.contains("\"final\":true").then_some(text)
    });
    let log: Value = serde_json::from_str(&log.unwrap()).unwrap();
    assert_eq!(
        (&log["chunks"][0]["seq"], &log["chunks"][0]["content"][0]["text"]),
        (&json!(1), &json!("after")),
        "{log}"
    );
}

#[test]
fn what_is_asked_at_first_is_asked_by_the_request_and_the_task_comes_after_it() {
    let mut client = client(&config(""));
    let call = json!({"name": "job__run", "arguments": {"path": "ask"}});
    let asked = client.request("tools/call", call.clone());
    assert_eq!(asked.result()["resultType"], "input_required");
    assert!(asked.result().get("taskId").is_none());
    let mut retry = call;
    retry["requestState"] = asked.result()["requestState"].clone();
    retry["inputResponses"] = answers(&[("first", "Al"), ("second", "Bo")]);
    let created = client.request("tools/call", retry);
    assert!(created.result().get("requestState").is_none());
    let moved = started(&created);
    assert_eq!(moved.call, asked.result()["_meta"][CALL], "it is the same call");
    steer(&mut client, &moved, "again");
    wait_for_status(&mut client, &moved.task, "input_required");
    let update = json!({"taskId": moved.task, "inputResponses": answers(&[("first", "Cy")])});
    client.request("tasks/update", update).result();
    steer(&mut client, &moved, "stop");
    let ended = wait_for_status(&mut client, &moved.task, "completed");
    let said = r#"said: {"name":"Al"}, {"name":"Bo"}, {"name":"Cy"}"#;
    assert_eq!(ended["result"]["content"][0]["text"], said);
}

#[test]
fn over_http_a_task_outlives_the_connection_that_began_it() {
    let (_server, address) = Server::start_http_in(Home::new(), &config(""));
    let answer = |method: &str, params: Value| ask(address, method, params);
    for tool in ["job__run", "job__only"] {
        // Each request has a connection of its own.
        let created = started(&answer("tools/call", json!({"name": tool, "arguments": {"path": "word"}})));
        let task = json!({"taskId": created.task});
        assert_eq!(answer("tasks/get", task.clone()).result()["status"], "working");
        let stop = json!({"call": created.call, "message": "stop"});
        assert_eq!(answer("dev.portcullis/steer", stop).result()["call"], created.call);
        let ended = suite::eventually(suite::PATIENCE, || {
            let got = answer("tasks/get", task.clone());
            (got.result()["status"] == "completed").then_some(got)
        });
        assert_eq!(ended.unwrap().result()["result"]["content"][0]["text"], "said: word");
    }
    let mut unknown = json!({"taskId": "one"});
    unknown["_meta"] = suite::client::modern_meta(false);
    unknown["_meta"]["io.modelcontextprotocol/clientCapabilities"] = abilities();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": unknown}).to_string();
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tasks/get"), ("Mcp-Name", "two")];
    let refused = http::request(address, "POST", &headers, &body);
    assert_eq!((refused.status, refused.answer(1, Instant::now()).error_code()), (400, -32020));
    // FastMCP leaves the name out.
    let served = http::request(address, "POST", &headers[..2], &body);
    assert_eq!(served.answer(1, Instant::now()).error_code(), -32602, "there is no such task");
}

/// A request of a client that follows tasks, on a connection of its own.
fn ask(address: std::net::SocketAddr, method: &str, mut params: Value) -> Answer {
    params["_meta"] = suite::client::modern_meta(false);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = abilities();
    let name = params["taskId"].as_str().or(params["name"].as_str()).unwrap_or_default().to_owned();
    let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
    headers.extend((!name.is_empty()).then_some(("Mcp-Name", &*name)));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    http::request(address, "POST", &headers, &body.to_string()).answer(1, Instant::now())
}

#[test]
fn what_a_client_was_told_of_a_task_survives_the_host() {
    let (mut server, address) = Server::start_http_in(Home::new(), &config(""));
    let begin = |path: &str| {
        started(&ask(address, "tools/call", json!({"name": "job__only", "arguments": {"path": path}}))).task
    };
    let (done, running) = (begin("stop"), begin("wait"));
    let ended = suite::eventually(suite::PATIENCE, || {
        let task = ask(address, "tasks/get", json!({"taskId": done}));
        (task.result()["status"] == "completed").then(|| task.result().clone())
    });
    let ended = ended.unwrap();
    // It is killed.
    let address = server.restart();
    assert_eq!(ask(address, "tasks/get", json!({"taskId": done})).result(), &ended);
    assert_eq!(ask(address, "tasks/get", json!({"taskId": running})).result()["status"], "working");
}

#[test]
fn a_host_with_tasks_ends_when_its_client_does() {
    let mut client = client(&config(""));
    let running = start(&mut client, "wait");
    assert_eq!(get(&mut client, &running.task)["status"], "working");
    client.server.close_stdin();
    assert!(client.server.ended().success());
}
