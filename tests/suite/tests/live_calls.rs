//! Lane `live`: calls on a client's open channel, who may answer them, and what happens to unanswered calls.

use crate::live::{LISTEN, LISTENING, NAME, RESPOND, declared, ends_empty, opened, refused, send};
use serde_json::{Value, json};
use std::time::Instant;
use suite::http::{self, legacy};
use suite::{Called, Client, Era, Home, Server, plugin};

const CALL: &str = "notifications/dev.portcullis/reverse_call";
const CANCELLED: &str = "notifications/dev.portcullis/reverse_cancelled";

/// A plugin that calls tools of its client.
fn relay(settings: &str) -> String {
    plugin("relay", &format!("grants.agent-tools = [\"calendar.*\"]\n{settings}"))
}

fn free(n: u64) -> Value {
    json!({"name": "relay__run", "arguments": {"path": "calendar.free", "n": n}})
}

fn text_result(words: &str) -> Value {
    json!({"content": [{"type": "text", "text": words}]})
}

/// A client with an open channel, and the id of the request that holds it open.
fn listening(era: Era, config: &str, lanes: &[&str]) -> (Client, u64) {
    let mut client = Client::able(Server::start(config), era, false, declared(lanes));
    let id = client.begin(LISTEN, json!({"channel": NAME}));
    opened(&client.wait_for(LISTENING));
    (client, id)
}

#[test]
fn a_call_is_sent_on_the_channel_and_accepts_one_answer() {
    for era in Era::ALL {
        let (mut client, _) = listening(era, &relay(""), &["live"]);
        let id = client.begin("tools/call", free(3));
        let call = client.wait_for(CALL)["params"].clone();
        let expected = json!({"channel": NAME, "name": "calendar.free", "arguments": {"n": 3}, "plugin": "relay",
            "tool": "run", "purpose": "misbehaving"});
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&call[field], value, "{era:?}: {call}");
        }
        let answer = |id: &Value, outcome: (&str, Value)| {
            let mut answer = json!({"channel": NAME, "callId": id});
            answer[outcome.0] = outcome.1;
            answer
        };
        let forged = answer(&json!("AAAAAAAAAAAAAAAAAAAAAA"), ("result", text_result("forged")));
        let unknown = refused(&client.request(RESPOND, forged)).to_owned();
        let right = answer(&call["callId"], ("result", text_result("ten o'clock")));
        ends_empty(client.request(RESPOND, right.clone()).result(), era);
        assert_eq!(refused(&client.request(RESPOND, right)), unknown, "{era:?}");
        assert_eq!(Called(client.wait(id, Instant::now())).good(), "ten o'clock", "{era:?}");

        let id = client.begin("tools/call", free(4));
        let call = client.wait_for(CALL)["params"].clone();
        let no = answer(&call["callId"], ("error", json!({"code": "declined", "message": "the user said no"})));
        client.request(RESPOND, no).result();
        let declined = Called(client.wait(id, Instant::now()));
        assert!(declined.is_error() && declined.text().contains("the user said no"), "{}", declined.result());
    }
}

#[test]
fn a_client_is_notified_when_a_call_no_longer_waits() {
    for era in Era::ALL {
        let (mut client, listen) = listening(era, &relay("limits.answer-timeout = \"1s\""), &["live"]);
        let late = client.begin("tools/call", free(1));
        let call = client.wait_for(CALL)["params"]["callId"].clone();
        let told = client.wait_for(CANCELLED);
        let gone = |reason: &str, call: &Value| json!({"channel": NAME, "callId": call, "reason": reason});
        assert_eq!(told["params"], gone("timeout", &call), "{era:?}");
        let timeout = Called(client.wait(late, Instant::now()));
        assert!(timeout.is_error() && timeout.text().contains("Timeout"), "{}", timeout.result());
        refused(&client.request(RESPOND, json!({"channel": NAME, "callId": call, "result": text_result("late")})));

        let cancelled = client.begin("tools/call", free(2));
        let call = client.wait_for(CALL)["params"]["callId"].clone();
        client.cancel(cancelled);
        assert_eq!(client.wait_for(CANCELLED)["params"], gone("cancelled", &call), "{era:?}");

        let lost = client.begin("tools/call", free(3));
        client.wait_for(CALL);
        client.cancel(listen);
        let lost = Called(client.wait(lost, Instant::now()));
        assert!(lost.is_error() && lost.text().contains("NotSupported"), "{era:?}: {}", lost.result());
        let none = Called(client.request("tools/call", free(4)));
        assert!(none.is_error() && none.text().contains("NotSupported"), "{era:?}: {}", none.result());
    }
}

#[test]
fn over_http_calls_reach_only_their_own_principal() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]);
    let (_server, address) = Server::start_http_in(home, &(relay("") + "[server.auth]\nkeys = \"keys.toml\"\n"));
    let mut hers = send(address, Some(&alice), 1, LISTEN, json!({"channel": NAME}));
    opened(&hers.message().unwrap());
    // Bob cannot use Alice's channel, although he gives the same name.
    let none = Called(send(address, Some(&bob), 2, "tools/call", free(1)).answer(2, Instant::now()));
    assert!(none.is_error() && none.text().contains("NotSupported"), "{}", none.result());
    let mut his = send(address, Some(&bob), 3, LISTEN, json!({"channel": NAME}));
    opened(&his.message().unwrap());
    let key = alice.clone();
    let calling = std::thread::spawn(move || {
        Called(send(address, Some(&key), 4, "tools/call", free(2)).answer(4, Instant::now())).good()
    });
    let call = hers.message().unwrap();
    assert_eq!(call["method"], CALL);
    let answer = json!({"channel": NAME, "callId": call["params"]["callId"], "result": text_result("ten")});
    let respond = |key: &str| send(address, Some(key), 5, RESPOND, answer.clone()).answer(5, Instant::now());
    let foreign = respond(&bob);
    refused(&foreign);
    respond(&alice).result();
    assert_eq!(calling.join().unwrap(), "ten");
    assert_eq!(respond(&alice).message["error"], foreign.message["error"], "the same words for all of them");
}

#[test]
fn calls_fail_when_their_stream_breaks() {
    let (_server, address) = Server::start_http(&relay(""));
    let mut stream = send(address, None, 1, LISTEN, json!({"channel": NAME}));
    opened(&stream.message().unwrap());
    let calling = std::thread::spawn(move || {
        Called(send(address, None, 2, "tools/call", free(1)).answer(2, Instant::now())).text()
    });
    assert_eq!(stream.message().unwrap()["method"], CALL);
    drop(stream);
    let text = calling.join().unwrap();
    assert!(text.contains("NotSupported"), "{text}");
}

#[test]
fn a_legacy_http_session_can_answer_calls() {
    let (_server, address) = Server::start_http(&relay(""));
    let session = http::legacy_session_able(address, &declared(&["live"]), "2025-11-25", &[]);
    let ask = |id: u64, method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        legacy(address, &session, "POST", &[], &body.to_string())
    };
    let mut stream = ask(1, LISTEN, json!({"channel": NAME}));
    opened(&stream.message().unwrap());
    let running = ask(2, "tools/call", free(1));
    let call = stream.message().unwrap();
    let answer = json!({"channel": NAME, "callId": call["params"]["callId"], "result": text_result("ten")});
    assert_eq!(ask(3, RESPOND, answer).answer(3, Instant::now()).result(), &json!({}));
    assert_eq!(Called(running.answer(2, Instant::now())).good(), "ten");
}

#[test]
fn without_an_open_channel_another_lane_is_used() {
    let mut client = Client::able(Server::start(&relay("")), Era::Modern, false, declared(&["live", "retry"]));
    let asked = client.request("tools/call", free(1));
    assert_eq!(asked.result()["resultType"], "dev.portcullis/client-tools", "{}", asked.message);
    let mut client = Client::able(Server::start(&relay("")), Era::Legacy, false, declared(&["live", "request"]));
    let id = client.begin("tools/call", free(1));
    let asked = client.wait_for("dev.portcullis/tools/call");
    client.server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": text_result("ten")}));
    assert_eq!(Called(client.wait(id, Instant::now())).good(), "ten");
}

#[test]
fn concurrent_calls_each_get_their_own_answer() {
    for era in Era::ALL {
        let config = plugin("agent-calls", "grants = { agent-tools = [\"calendar.*\"], client = { form = true } }");
        let mut abilities = declared(&["live"]);
        abilities["elicitation"] = json!({"form": {}});
        let mut client = Client::able(Server::start(&config), era, false, abilities);
        client.begin(LISTEN, json!({"channel": NAME}));
        opened(&client.wait_for(LISTENING));
        let step = |n: u64| json!({"name": "calendar.free", "arguments": {"n": n}});
        let many: Vec<Value> = (0..3).map(step).collect();
        // The calls follow a question, for which a modern call is parked.
        let steps = json!([{"ask": "who"}, {"many": many}]);
        let mut params = json!({"name": "agent-calls__run", "arguments": {"path": steps.to_string()}});
        let ada = json!({"action": "accept", "content": {"name": "Ada"}});
        let id = if era == Era::Modern {
            let asked = client.request("tools/call", params.clone());
            params["requestState"] = asked.result()["requestState"].clone();
            params["inputResponses"] = json!({"who": ada});
            client.begin("tools/call", params)
        } else {
            let id = client.begin("tools/call", params);
            let question = client.wait_for("elicitation/create");
            client.server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": ada}));
            id
        };
        let calls: Vec<Value> = (0..3).map(|_| client.wait_for(CALL)["params"].clone()).collect();
        for call in calls.iter().rev() {
            let words = format!("free {}", call["arguments"]["n"]);
            let answer = json!({"channel": NAME, "callId": call["callId"], "result": text_result(&words)});
            client.request(RESPOND, answer).result();
        }
        let came = Called(client.wait(id, Instant::now())).good();
        let at = |n: u64| came.find(&format!("free {n}")).unwrap_or_else(|| panic!("{era:?}: {came}"));
        assert!(at(0) < at(1) && at(1) < at(2), "{era:?}: {came}");
    }
}

#[test]
fn a_stopping_server_ends_waiting_calls() {
    let (mut server, address) = Server::start_http(&relay(""));
    let mut stream = send(address, None, 1, LISTEN, json!({"channel": NAME}));
    opened(&stream.message().unwrap());
    let calling = std::thread::spawn(move || {
        Called(send(address, None, 2, "tools/call", free(1)).answer(2, Instant::now())).text()
    });
    assert_eq!(stream.message().unwrap()["method"], CALL);
    let told = Instant::now();
    server.terminate();
    ends_empty(stream.answer(1, told).result(), Era::Modern);
    let text = calling.join().unwrap();
    assert!(text.contains("NotSupported"), "{text}");
    assert!(server.ended().success());
}
