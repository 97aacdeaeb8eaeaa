//! Straight-line guests that ask their client questions: one component behaves the same in both revisions.

use serde_json::{Value, json};
use suite::{Called, Client, Era, Home, Server, plugin};

/// All client capabilities.
fn all() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
}

const GRANTS: &str = r#"grants.client = { form = true, url = ["example.com"], sample = { calls = 8, tokens = 1_000 }, roots = true }
grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]
"#;

fn config() -> String {
    plugin("ask", GRANTS)
}

/// The answers of a cooperative client's user, model and workspace.
fn answer(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" if params["mode"] == "url" => {
            assert_eq!(params["url"], "https://example.com/page?q=1");
            json!({"action": "accept"})
        }
        "elicitation/create" => {
            let properties = params["requestedSchema"]["properties"].as_object().unwrap();
            let filled =
                properties.keys().map(|key| (key.clone(), if key == "ok" { json!(true) } else { json!("Ada") }));
            json!({"action": "accept", "content": filled.collect::<serde_json::Map<_, _>>()})
        }
        "sampling/createMessage" => {
            assert_eq!(params["maxTokens"], 100);
            json!({"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m", "stopReason": "endTurn"})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///repo", "name": "repo"}]}),
        other => panic!("asked for {other}"),
    }
}

/// A client of either revision that answers every question.
fn client(server: Server, era: Era) -> Client {
    let mut client = Client::able(server, era, false, all());
    client.answering = Some(answer);
    client
}

/// The params of a retry with these answers.
fn retry(tool: &str, arguments: &Value, state: &Value, responses: Value) -> Value {
    json!({"name": tool, "arguments": arguments, "requestState": state, "inputResponses": responses})
}

/// Makes a call and answers all its rounds by the 2026-07-28 protocol; returns the result and the number of rounds.
fn through(client: &mut Client, arguments: &Value) -> (Called, usize) {
    let mut called = client.call("ask__run", arguments.clone());
    let mut rounds = 0;
    while called.result()["resultType"] == "input_required" {
        rounds += 1;
        let asked = called.result()["inputRequests"].as_object().unwrap().clone();
        let responses: serde_json::Map<_, _> = asked
            .iter()
            .map(|(key, request)| (key.clone(), answer(request["method"].as_str().unwrap(), &request["params"])))
            .collect();
        let params = retry("ask__run", arguments, &called.result()["requestState"], responses.into());
        called = Called(client.request("tools/call", params));
    }
    (called, rounds)
}

fn effects(client: &Client) -> usize {
    std::fs::read_to_string(client.server.home.work().join("effects")).map_or(0, |text| text.lines().count())
}

/// Makes the first round of a call and returns its `input_required` result.
fn parked(client: &mut Client, arguments: &Value) -> Value {
    let called = client.call("ask__run", arguments.clone());
    assert_eq!(called.result()["resultType"], "input_required", "{}", called.result());
    called.result().clone()
}

#[test]
fn the_same_component_gets_the_same_answers_in_both_eras() {
    for (path, rounds, expected) in [
        ("form", 1, r#"{"name":"Ada"}"#),
        ("rounds", 2, r#"{"name":"Ada"}, {"name":"Ada"}"#),
        ("confirm", 1, r#"{"ok":true}"#),
        ("many", 1, r#"{"name":"Ada"} | Paris | file:///repo"#),
        ("url", 1, "accepted"),
        ("sample", 1, "Paris"),
        ("roots", 1, "file:///repo"),
    ] {
        let arguments = json!({"path": path});
        for era in Era::ALL {
            let mut client = client(Server::start(&config()), era);
            let (called, took) = through(&mut client, &arguments);
            assert_eq!(called.good(), expected, "{path} {era:?}");
            assert_eq!(took, if era == Era::Modern { rounds } else { 0 }, "{path}");
            assert_eq!(
                called.usage()["questions"],
                if path == "rounds" {
                    2
                } else if path == "many" {
                    3
                } else {
                    1
                }
            );
            assert_eq!(effects(&client), usize::from(["rounds", "confirm"].contains(&path)), "{path} {era:?}");
        }
    }
}

#[test]
fn undeclared_questions_are_refused_without_effects() {
    for (path, required) in [
        ("confirm", json!({"elicitation": {"form": {}}})),
        ("url", json!({"elicitation": {"url": {}}})),
        ("sample", json!({"sampling": {}})),
        ("roots", json!({"roots": {}})),
    ] {
        let mut modern = Client::able(Server::start(&config()), Era::Modern, false, json!({}));
        let answer = modern.request("tools/call", json!({"name": "ask__run", "arguments": {"path": path}}));
        assert_eq!(answer.error_code(), -32021, "{path}");
        let said = answer.message["error"]["message"].as_str().unwrap();
        assert!(said.contains("this client does not let it"), "{said}");
        assert_eq!(answer.message["error"]["data"]["requiredCapabilities"], required, "{path}");
        let mut legacy = Client::able(Server::start(&config()), Era::Legacy, false, json!({}));
        let called = legacy.run("ask", json!({"path": path}));
        assert_eq!(called.code(), "unsupported", "{path}");
        assert_eq!(effects(&modern) + effects(&legacy), 0);
    }
    // Capabilities are taken from each request, not from the connection.
    let mut client = Client::able(Server::start(&config()), Era::Modern, false, all());
    parked(&mut client, &json!({"path": "form"}));
    client.abilities = json!({});
    let answer = client.request("tools/call", json!({"name": "ask__run", "arguments": {"path": "form"}}));
    assert_eq!(answer.error_code(), -32021);
}

#[test]
fn ungranted_questions_are_never_sent() {
    let mut client = Client::able(Server::start(&plugin("ask", "")), Era::Modern, false, all());
    let called = client.run("ask", json!({"path": "form"}));
    assert_eq!(called.code(), "denied");
    assert!(called.text().ends_with("Ask the user, who alone can allow it"), "{}", called.text());
    client.server.wait_for_log("To allow it: portcullis grant ask 'client.form = true'");
    for (path, word) in [("secret", "elicit-url"), ("nested", "flat")] {
        let mut client = Client::able(Server::start(&config()), Era::Modern, false, all());
        let called = client.run("ask", json!({"path": path}));
        assert!(called.is_error() && called.text().contains(word), "{}", called.text());
    }
}

#[test]
fn wrong_and_missing_answers_are_asked_again() {
    let mut client = Client::able(Server::start(&config()), Era::Modern, false, all());
    let arguments = json!({"path": "form"});
    let mut round = parked(&mut client, &arguments);
    for (at, responses) in [
        json!({"user_name": {"action": "accept", "content": {"name": 7}}}),
        json!({"other": {"action": "accept", "content": {"name": "Ada"}}}),
        json!({"user_name": null}),
    ]
    .into_iter()
    .enumerate()
    {
        let params = retry("ask__run", &arguments, &round["requestState"], responses);
        let again = client.request("tools/call", params).result().clone();
        assert_eq!(again["resultType"], "input_required", "{at}: {again}");
        assert_ne!(again["requestState"], round["requestState"]);
        let message = again["inputRequests"]["user_name"]["params"]["message"].as_str().unwrap();
        assert!(message.contains("/name: "), "{message}");
        round = again;
    }
    let good = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}, "extra": 1});
    let called = Called(client.request("tools/call", retry("ask__run", &arguments, &round["requestState"], good)));
    assert_eq!(called.good(), r#"{"name":"Ada"}"#);
    // Repeated wrong answers end the call.
    let mut round = parked(&mut client, &arguments);
    for _ in 0..3 {
        let params = retry("ask__run", &arguments, &round["requestState"], json!({}));
        round = client.request("tools/call", params).result().clone();
    }
    let called = Called(client.request("tools/call", retry("ask__run", &arguments, &round["requestState"], json!({}))));
    assert!(called.is_error() && called.text().contains("NotAnswered"), "{}", called.text());
    // The first request may already contain answers, without any state.
    let good = json!({"user_name": {"action": "decline"}});
    let params = json!({"name": "ask__run", "arguments": arguments, "inputResponses": good});
    assert_eq!(Called(client.request("tools/call", params)).good(), "declined");
}

#[test]
fn a_state_works_once_and_only_for_its_own_call() {
    let home = Home::new();
    let config = config() + &plugin("echo", "");
    let mut client = Client::able(Server::start_in(home, &config), Era::Modern, false, all());
    let arguments = json!({"path": "rounds", "n": 1});
    let responses = || json!({"step0": {"action": "accept", "content": {"name": "Ada"}}});
    let state = parked(&mut client, &arguments)["requestState"].clone();
    let text = state.as_str().unwrap().to_owned();
    let refused = |client: &mut Client, tool: &str, arguments: &Value, state: &str| {
        let answer = client.request("tools/call", retry(tool, arguments, &json!(state), responses()));
        assert_eq!(answer.error_code(), -32602, "{}", answer.message);
        let message = answer.message["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("Invalid or expired requestState"), "{message}");
    };
    // Flip 1,000 bits, spread over the whole state.
    let bits = text.len() * 8;
    for flip in 0..1_000 {
        let at = flip * bits / 1_000;
        let mut bytes = text.clone().into_bytes();
        bytes[at / 8] ^= 1 << (at % 8);
        if let Ok(flipped) = String::from_utf8(bytes) {
            refused(&mut client, "ask__run", &arguments, &flipped);
        }
    }
    refused(&mut client, "ask__run", &json!({"path": "rounds", "n": 2}), &text);
    refused(&mut client, "echo__run", &json!({"path": "rounds", "n": 1}), &text);
    assert_eq!(effects(&client), 0);
    let called = Called(client.request("tools/call", retry("ask__run", &arguments, &state, responses())));
    assert_eq!((called.good().as_str(), effects(&client)), (r#"{"name":"Ada"}"#, 1));
    refused(&mut client, "ask__run", &arguments, &text);
    assert_eq!(effects(&client), 1);
}

#[test]
fn the_oldest_parked_call_is_dropped_at_the_limit() {
    let config = config() + "[server]\nparked = { calls = 3, per-principal = 2, stored = false }\n";
    let mut client = Client::able(Server::start(&config), Era::Modern, false, all());
    let arguments = json!({"path": "form"});
    let states: Vec<_> = (0..3).map(|_| parked(&mut client, &arguments)["requestState"].clone()).collect();
    let good = || json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    let answer = client.request("tools/call", retry("ask__run", &arguments, &states[0], good()));
    assert_eq!(answer.error_code(), -32602);
    assert!(answer.message["error"]["message"].as_str().unwrap().contains("too many calls"), "{}", answer.message);
    for state in &states[1..] {
        let called = Called(client.request("tools/call", retry("ask__run", &arguments, state, good())));
        assert_eq!(called.good(), r#"{"name":"Ada"}"#);
    }
}

#[test]
fn calls_that_wait_on_their_own_stream_are_counted_too() {
    let config = config() + "[server]\nparked = { calls = 3, per-principal = 2 }\n";
    let mut client = Client::able(Server::start(&config), Era::Legacy, false, all());
    let sent = std::time::Instant::now();
    let calls: Vec<_> = (0..3).map(|_| client.begin_call("ask__run", json!({"path": "form"}))).collect();
    let crowded =
        suite::eventually(suite::PATIENCE, || calls.iter().copied().find(|id| client.is_answered(*id))).unwrap();
    let called = Called(client.wait(crowded, sent));
    assert!(called.is_error() && called.text().contains("ran out of questions: the limit is 2"), "{}", called.text());
    // The other calls still wait; cancelling them frees their slots.
    calls.iter().filter(|id| **id != crowded).for_each(|id| client.cancel(*id));
    client.answering = Some(answer);
    let next = suite::eventually(suite::PATIENCE, || {
        let called = client.run("ask", json!({"path": "form"}));
        (!called.is_error()).then(|| called.good())
    });
    assert_eq!(next.as_deref(), Some(r#"{"name":"Ada"}"#));
}

#[test]
fn parked_calls_expire() {
    let config = plugin("ask", &format!("{GRANTS}limits.answer-timeout = \"300ms\"\n"));
    let mut client = Client::able(Server::start(&config), Era::Modern, false, all());
    let arguments = json!({"path": "form"});
    let state = parked(&mut client, &arguments)["requestState"].clone();
    // The test needs the answer limit to pass.
    std::thread::sleep(std::time::Duration::from_millis(400));
    let good = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    let answer = client.request("tools/call", retry("ask__run", &arguments, &state, good));
    assert_eq!(answer.error_code(), -32602);
    assert!(answer.message["error"]["message"].as_str().unwrap().contains("in time"), "{}", answer.message);
}

#[test]
fn waiting_for_answers_does_not_count_against_the_deadline() {
    let config = plugin("ask", &format!("{GRANTS}limits.deadline = \"1500ms\"\n"));
    let mut client = Client::able(Server::start(&config), Era::Modern, false, all());
    let arguments = json!({"path": "form"});
    let state = parked(&mut client, &arguments)["requestState"].clone();
    std::thread::sleep(std::time::Duration::from_millis(1_800));
    let good = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    let called = Called(client.request("tools/call", retry("ask__run", &arguments, &state, good)));
    assert_eq!(called.good(), r#"{"name":"Ada"}"#);
}

#[test]
fn chunks_go_to_the_request_that_is_open() {
    let mut client = Client::able(Server::start(&config()), Era::Modern, true, all());
    let arguments = json!({"path": "chunks"});
    let first = client.call("ask__run", arguments.clone());
    assert_eq!(first.chunks().iter().map(|chunk| &chunk["seq"]).collect::<Vec<_>>(), [0]);
    let good = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    let second =
        Called(client.request("tools/call", retry("ask__run", &arguments, &first.result()["requestState"], good)));
    let chunks: Vec<_> = second.chunks().into_iter().cloned().collect();
    assert_eq!((chunks.len(), &chunks[0]["seq"], &chunks[0]["content"][0]["text"]), (1, &json!(1), &json!("after")));
    assert_ne!(first.chunks()[0]["token"], chunks[0]["token"]);
    let whole = suite::digest(first.chunks().into_iter().chain(&chunks));
    assert_eq!(*second.stream(), json!({"chunks": 2, "dropped": 0, "sha256": whole}), "of both requests together");
    assert_eq!((first.ends().len(), &second.ends()[0]["seq"]), (0, &json!(2)));
}

#[test]
fn a_state_is_invalid_after_the_plugin_changes() {
    let home = Home::new();
    let mut bytes = std::fs::read(suite::paths::guest("ask")).unwrap();
    let path = home.write("ask.wasm", &bytes);
    let config = suite::plugin_from("ask", &path, GRANTS);
    let mut client = Client::able(Server::start_in(home, &config), Era::Modern, false, all());
    let arguments = json!({"path": "rounds", "n": 1});
    let state = parked(&mut client, &arguments)["requestState"].clone();
    // The same code with one more custom section is another version.
    bytes.extend([0, 2, 1, b'v']);
    super::reload::replace(&path, &bytes);
    client.server.wait_for_log("reloaded: ");
    let good = json!({"step0": {"action": "accept", "content": {"name": "Ada"}}});
    let answer = client.request("tools/call", retry("ask__run", &arguments, &state, good));
    assert_eq!(answer.error_code(), -32602);
    assert_eq!(effects(&client), 0);
}

/// The client accepts the form without the field that it does not show. The answer is for another process than the one that asked.
#[test]
fn numbers_that_a_client_does_not_show_are_asked_for_as_text() {
    let mut client = Client::able(Server::start(&config()), Era::Modern, false, all());
    let arguments = json!({"path": "nights"});
    let kind = |round: &Value| {
        round["inputRequests"]["nights"]["params"]["requestedSchema"]["properties"]["n"]["type"].clone()
    };
    let answer = |round: &Value, content: Value| {
        let responses = json!({"nights": {"action": "accept", "content": content}});
        retry("ask__run", &arguments, &round["requestState"], responses)
    };
    let first = client.call("ask__run", arguments.clone()).result().clone();
    assert_eq!(kind(&first), "integer");
    let second = client.request("tools/call", answer(&first, json!({}))).result().clone();
    assert_eq!(kind(&second), "string");
    client.server.kill_serving();
    let called = Called(client.request("tools/call", answer(&second, json!({"n": "3"}))));
    assert_eq!(called.good(), r#"{"n":3}"#);
}
