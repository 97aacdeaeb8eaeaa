//! Sending messages to a running call.

use serde_json::{Value, json};
use std::time::Instant;
use suite::client::modern_meta;
use suite::http::{Response, legacy, legacy_session, request};
use suite::{Called, Client, Era, Home, Server, plugin};

const STEER: &str = "dev.portcullis/steer";
const CALL: &str = "dev.portcullis/call";

fn config() -> String {
    plugin("steered", "grants.client.form = true") + &plugin("ask", "grants.client.form = true")
}

fn client(era: Era, config: &str) -> Client {
    Client::able(Server::start(config), era, true, json!({"elicitation": {"form": {}}}))
}

/// Starts a call, with a correlation id if there is one. Returns the id of the request and of the call.
fn begin(client: &mut Client, mark: Option<&str>) -> (u64, String) {
    let mut params = json!({"name": "steered__run", "arguments": {}});
    if let Some(mark) = mark {
        params["_meta"] = json!({"dev.portcullis/correlationId": mark});
    }
    let id = client.begin("tools/call", params);
    let ready = client.wait_for(Called::CHUNK);
    assert_eq!(said(&ready), "ready");
    (id, ready["params"]["_meta"][CALL].as_str().unwrap().to_owned())
}

fn said(chunk: &Value) -> &Value {
    &chunk["params"]["content"][0]["text"]
}

fn refused(client: &mut Client, params: Value) -> Value {
    let answer = client.request(STEER, params);
    assert_eq!(answer.error_code(), -32602, "{}", answer.message);
    answer.message["error"].clone()
}

#[test]
fn a_running_call_receives_its_clients_messages() {
    for era in Era::ALL {
        let mut client = client(era, &config());
        assert!(
            refused(&mut client, json!({"message": "hello"}))["message"].as_str().unwrap().contains("no such call")
        );
        let (id, call) = begin(&mut client, Some("story"));
        let ways = [json!({"call": call}), json!({"correlationId": "story"}), json!({})];
        for (mut params, words) in ways.into_iter().zip(["make it a comedy", "shorter", "and louder"]) {
            params["message"] = words.into();
            let told = client.request(STEER, params);
            assert_eq!(told.result()["call"], call, "{era:?}");
            assert_eq!(told.result()["resultType"], if era == Era::Modern { json!("complete") } else { Value::Null });
            let chunk = told.notifications.into_iter().map(|(_, chunk)| chunk).next();
            let chunk = chunk.unwrap_or_else(|| client.wait_for(Called::CHUNK));
            assert_eq!((said(&chunk), &chunk["params"]["_meta"][CALL]), (&json!(words), &json!(call)), "{era:?}");
        }
        client.request(STEER, json!({"message": "stop"})).result();
        let called = Called(client.wait(id, Instant::now()));
        assert_eq!((called.good(), &called.result()["_meta"][CALL]), ("heard 3".to_owned(), &json!(call)));
        assert!(refused(&mut client, json!({"call": call, "message": "hello"}))["data"].is_null(), "it is over");
    }
}

#[test]
fn an_ambiguous_message_is_refused_with_the_candidate_calls() {
    for era in Era::ALL {
        let mut client = client(era, &config());
        let (first, one) = begin(&mut client, Some("trip"));
        let (second, two) = begin(&mut client, Some("trip"));
        let (third, three) = begin(&mut client, None);
        let listed = |error: Value| error["data"]["running"].clone();
        let all = listed(refused(&mut client, json!({"message": "stop"})));
        let marked = |call: &str| json!({"call": call, "tool": "steered__run", "correlationId": "trip"});
        assert_eq!(all, json!([marked(&one), marked(&two), {"call": three, "tool": "steered__run"}]));
        let both = listed(refused(&mut client, json!({"message": "stop", "correlationId": "trip"})));
        assert_eq!(both, json!([marked(&one), marked(&two)]));
        for wrong in [json!({"message": "stop", "correlationId": "trap"}), json!({"message": "stop", "call": "0"})] {
            assert!(listed(refused(&mut client, wrong)).is_null());
        }
        for wrong in [json!({"call": two}), json!({"call": two, "message": ""}), json!({"call": 7, "message": "stop"})]
        {
            refused(&mut client, wrong);
        }
        refused(&mut client, json!({"call": two, "message": "x".repeat(4_097)}));
        for (id, call) in [(second, two), (first, one), (third, three)] {
            client.request(STEER, json!({"call": call, "message": "stop"})).result();
            assert_eq!(Called(client.wait(id, Instant::now())).good(), "heard 0", "{era:?}");
        }
    }
}

#[test]
fn a_parked_call_accepts_messages_until_its_queue_is_full() {
    let mut client = client(Era::Modern, &config());
    let mut params = json!({"name": "steered__run", "arguments": {"path": "ask"}});
    let asked = client.request("tools/call", params.clone());
    let call = asked.result()["_meta"][CALL].as_str().unwrap().to_owned();
    for number in 0..16 {
        let told = client.request(STEER, json!({"call": call, "message": number.to_string()}));
        assert_eq!(told.result()["call"], call);
    }
    let full = refused(&mut client, json!({"message": "one more"}));
    assert!(full["message"].as_str().unwrap().contains("16 messages"), "{full}");
    params["requestState"] = asked.result()["requestState"].clone();
    params["inputResponses"] = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    let called = Called(client.request("tools/call", params));
    assert_eq!(called.good(), (0..16).map(|number| number.to_string()).collect::<Vec<_>>().join(", "));
    assert_eq!(called.result()["_meta"][CALL], call, "it is the same call");
}

#[test]
fn a_waiting_call_of_an_older_client_accepts_messages() {
    let mut client = client(Era::Legacy, &config());
    let id = client.begin("tools/call", json!({"name": "steered__run", "arguments": {"path": "ask"}}));
    let question = client.wait_for("elicitation/create");
    client.request(STEER, json!({"message": "hello"})).result();
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    client.server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    assert_eq!(Called(client.wait(id, Instant::now())).good(), "hello");
}

#[test]
fn a_plugin_that_reads_no_messages_refuses_them() {
    let mut client = client(Era::Modern, &config());
    let asked = client.call("ask__run", json!({}));
    let call = asked.result()["_meta"][CALL].clone();
    let deaf = refused(&mut client, json!({"call": call, "message": "hello"}));
    assert!(deaf["message"].as_str().unwrap().contains("`ask__run` does not read messages"), "{deaf}");
}

#[test]
fn over_http_only_the_calls_principal_can_steer_it() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]);
    let config = config() + "[server.auth]\nkeys = \"keys.toml\"\n";
    let (_server, address) = Server::start_http_in(home, &config);
    let send = |key: &str, method: &str, mut params: Value| {
        params["_meta"] = modern_meta(true);
        let bearer = format!("Bearer {key}");
        let mut headers =
            vec![("Authorization", &*bearer), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        headers.extend((!name.is_empty()).then_some(("Mcp-Name", &*name)));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        request(address, "POST", &headers, &body.to_string())
    };
    let answer = |response: Response| response.answer(1, Instant::now());
    let mut running = send(&alice, "tools/call", json!({"name": "steered__run", "arguments": {}}));
    let call = running.message().unwrap()["params"]["_meta"][CALL].clone();
    let unknown = answer(send(&bob, STEER, json!({"call": "0", "message": "stop"})));
    for params in [json!({"call": call, "message": "stop"}), json!({"message": "stop"})] {
        let foreign = answer(send(&bob, STEER, params));
        assert_eq!((foreign.error_code(), &foreign.message), (-32602, &unknown.message));
    }
    assert_eq!(answer(send(&alice, STEER, json!({"call": call, "message": "stop"}))).result()["call"], call);
    assert_eq!(Called(answer(running)).good(), "heard 0");
}

#[test]
fn an_older_http_session_can_steer() {
    let (_server, address) = Server::start_http(&config());
    let session = legacy_session(address, true);
    let send = |id: u64, method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        legacy(address, &session, "POST", &[], &body.to_string())
    };
    let mut running = send(1, "tools/call", json!({"name": "steered__run", "arguments": {}}));
    let call = running.message().unwrap()["params"]["_meta"][CALL].clone();
    let told = send(2, STEER, json!({"call": call, "message": "stop"})).answer(2, Instant::now());
    assert_eq!(told.result(), &json!({"call": call}));
    assert_eq!(Called(running.answer(1, Instant::now())).good(), "heard 0");
}

#[test]
fn the_operator_can_offer_steering_as_a_tool() {
    for era in Era::ALL {
        let mut plain = client(era, &config());
        assert!(plain.tools().iter().all(|tool| tool["name"] != "steer_call"));
        let call = plain.request("tools/call", json!({"name": "steer_call", "arguments": {"message": "stop"}}));
        assert_eq!(call.error_code(), -32602);

        let mut client = client(era, &("[server]\nfallback-tools = true\n".to_owned() + &config()));
        let tools = client.tools();
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["ask__run", "steer_call", "steered__run", "task_cancel", "task_result", "task_status"]);
        let nothing = client.call("steer_call", json!({"message": "stop"}));
        assert!(nothing.is_error() && nothing.text().contains("no such call"), "{}", nothing.result());
        let (first, one) = begin(&mut client, None);
        let (second, two) = begin(&mut client, None);
        let several = client.call("steer_call", json!({"message": "stop"}));
        assert!(several.is_error() && several.text().contains(&one) && several.text().contains(&two));
        assert!(client.call("steer_call", json!({"words": "stop"})).is_error());
        let told = client.call("steer_call", json!({"message": "stop", "call": two}));
        assert_eq!(told.result()["structuredContent"], json!({"call": two}));
        assert_eq!(Called(client.wait(second, Instant::now())).good(), "heard 0");
        client.call("steer_call", json!({"message": "stop"})).good();
        assert_eq!(Called(client.wait(first, Instant::now())).good(), "heard 0");
    }
}

#[test]
fn the_extension_is_listed() {
    let listed = |answer: &Value| answer["capabilities"]["extensions"]["dev.portcullis/steering"].clone();
    let mut client = client(Era::Modern, &config());
    assert_eq!(listed(client.request("server/discover", json!({})).result()), json!({}));
    assert_eq!(client.request("dev.portcullis/unknown", json!({})).error_code(), -32601);
}
