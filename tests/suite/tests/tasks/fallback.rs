//! Clients that do not know tasks: a call that takes long is answered with a text, and the host's own tools follow it.

use super::{config, steer};
use serde_json::{Value, json};
use std::time::Instant;
use suite::{Client, Era, Server};

fn client(era: Era) -> Client {
    Client::able(Server::start(&config("fallback-tools = true")), era, false, json!({}))
}

fn moved(client: &mut Client, tool: &str) -> super::Started {
    let answer = client.request("tools/call", json!({"name": tool, "arguments": {"path": "word"}}));
    let result = answer.result();
    let task = result["_meta"]["dev.portcullis/task"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned();
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("still running") && text.contains(&task) && result["isError"] == false, "{text}");
    assert!(text.contains(&format!("portcullis://tasks/{task}")), "{text}");
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "some clients fail at links: {result}");
    super::Started { task, call: result["_meta"][super::CALL].clone() }
}

fn document(client: &mut Client, task: &str) -> Value {
    let uri = format!("portcullis://tasks/{task}");
    let read = client.request("resources/read", json!({"uri": uri}));
    assert_eq!(read.result()["contents"][0]["uri"], uri);
    serde_json::from_str(read.result()["contents"][0]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn a_call_that_takes_long_is_followed_by_tools_and_as_a_resource() {
    for era in Era::ALL {
        for tool in ["job__run", "job__only"] {
            let mut client = client(era);
            let running = moved(&mut client, tool);
            let now = document(&mut client, &running.task);
            assert_eq!((&now["status"], &now["tool"]), (&json!("working"), &json!(tool)), "{era:?}");
            client.call("steer_call", json!({"message": "chunk a piece"})).good();
            let piece = suite::eventually(suite::PATIENCE, || {
                let status = client.call("task_status", json!({"task": running.task}));
                let status = status.result()["structuredContent"].clone();
                (!status["output"]["chunks"][0].is_null()).then_some(status)
            });
            assert_eq!(piece.unwrap()["output"]["chunks"][0]["content"][0]["text"], "a piece");
            let after = client.call("task_status", json!({"task": running.task, "after": 0}));
            assert_eq!(after.result()["structuredContent"]["output"]["chunks"], json!([]), "{}", after.result());
            let early = client.call("task_result", json!({"task": running.task, "wait": 0}));
            assert_eq!(early.result()["structuredContent"]["status"], "working", "it says that it is not the result");
            let waiting = client.begin_call("task_result", json!({"task": running.task}));
            client.call("steer_call", json!({"message": "stop"})).good();
            let result = client.wait(waiting, Instant::now());
            assert_eq!(result.result()["content"][0]["text"], "said: word", "{era:?}");
            let ended = document(&mut client, &running.task);
            assert_eq!((&ended["status"], &ended["result"]["isError"]), (&json!("completed"), &json!(false)));
        }
    }
}

#[test]
fn a_task_is_cancelled_by_a_tool() {
    for era in Era::ALL {
        let mut client = client(era);
        let running = moved(&mut client, "job__run");
        let ended = client.call("task_cancel", json!({"task": running.task}));
        assert_eq!(ended.result()["structuredContent"]["status"], "cancelled", "{}", ended.result());
        assert!(client.call("task_result", json!({"task": running.task})).is_error());
        for (tool, arguments) in [
            ("task_result", json!({"task": "x"})),
            ("task_status", json!({})),
            ("task_cancel", json!({"task": running.task, "more": 1})),
        ] {
            let wrong = tool != "task_result";
            let refused = client.call(tool, arguments);
            assert!(refused.is_error() && refused.text().starts_with("invalid arguments: ") == wrong, "{tool}");
        }
    }
}

#[test]
fn subscribers_of_the_resource_are_told_of_changes() {
    let mut client = client(Era::Legacy);
    let running = moved(&mut client, "job__run");
    let uri = format!("portcullis://tasks/{}", running.task);
    client.request("resources/subscribe", json!({"uri": uri})).result();
    for what in ["output", "more of the same output"] {
        client.call("steer_call", json!({"message": "chunk a piece"})).good();
        assert_eq!(client.wait_for("notifications/resources/updated")["params"]["uri"], uri, "{what}");
    }
    client.call("steer_call", json!({"message": "stop"})).good();
    client.call("task_result", json!({"task": running.task})).good();
    let listed = client.request("resources/templates/list", json!({}));
    assert!(listed.result().to_string().contains("portcullis://tasks/{id}"));
}

#[test]
fn without_the_tools_a_long_call_stays_a_plain_call() {
    for era in Era::ALL {
        let mut client = Client::able(Server::start(&config("")), era, true, json!({}));
        let id = client.begin_call("job__run", json!({"path": "chunk ready"}));
        let ready = client.notified();
        let of = super::Started { task: String::new(), call: ready["params"]["_meta"][super::CALL].clone() };
        // Longer than the host waits before a call becomes a task.
        std::thread::sleep(std::time::Duration::from_millis(100));
        steer(&mut client, &of, "stop");
        assert_eq!(client.wait(id, Instant::now()).result()["content"][0]["text"], "said: ", "{era:?}");
    }
}
