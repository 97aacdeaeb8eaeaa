//! Idempotency keys: a call that is repeated under the same key runs once, and each repetition gets the answer of the first.

mod bounds;
mod durable;
mod over_http;
mod waiting;

use serde_json::{Value, json};
use std::fs;
use std::time::Instant;
use suite::{Answer, Called, Client, Era, Home, Server, plugin};

const KEY: &str = "dev.portcullis/idempotencyKey";
const REPEATED: &str = "dev.portcullis/repeated";
const CALL: &str = "dev.portcullis/call";
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A shop that writes its orders into the folder `work`, with further lines for `[server]` or its tables.
pub(crate) fn config(server: &str) -> String {
    shop(server, "")
}

fn shop(server: &str, settings: &str) -> String {
    let grants = r#"grants.client.form = true
grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]
limits.deadline = "10m"
limits.metering = "ticks"
limits.cpu = "10m"
"#;
    format!("[server]\n{server}\n\n{}", plugin("order", &format!("{grants}{settings}")))
}

/// How many orders were taken.
pub(crate) fn orders(home: &Home) -> usize {
    taken(home).len()
}

/// The key of each order, as the guest saw it.
fn taken(home: &Home) -> Vec<String> {
    let text = fs::read_to_string(home.work().join("orders")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Parameters of a call under a key.
pub(crate) fn buy(key: &str, how: &str) -> Value {
    call("order__buy", key, json!({"how": how}))
}

fn call(tool: &str, key: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments, "_meta": {KEY: key}})
}

pub(crate) fn send(client: &mut Client, params: &Value) -> Answer {
    client.request("tools/call", params.clone())
}

pub(crate) fn is_repeated(answer: &Answer) -> bool {
    answer.result()["_meta"][REPEATED] == true
}

/// Everything but the mark.
fn unmarked(answer: &Answer) -> Value {
    let mut result = answer.result().clone();
    result["_meta"].as_object_mut().unwrap().remove(REPEATED);
    result
}

pub(crate) fn code(answer: &Answer) -> &Value {
    assert_eq!(answer.result()["isError"], true, "{}", answer.message);
    &answer.result()["_meta"]["dev.portcullis/error"]["code"]
}

#[test]
fn a_repeated_call_runs_once_and_gets_the_same_result() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&config("")), era, false);
        let first = send(&mut client, &buy("k1", ""));
        assert!(!is_repeated(&first));
        for _ in 0..3 {
            let again = send(&mut client, &buy("k1", ""));
            assert!(is_repeated(&again));
            assert_eq!(unmarked(&again), *first.result(), "{era:?}");
        }
        assert_eq!(taken(&client.server.home), ["k1"], "the guest sees the key");
        let text = Called(send(&mut client, &buy("k2", ""))).good();
        assert_eq!(text, "order 2 under k2", "another key");
        // Without a key, each call is one.
        for _ in 0..2 {
            client.call("order__buy", json!({"how": ""})).good();
        }
        assert_eq!(orders(&client.server.home), 4);
        let failed = send(&mut client, &buy("k3", "fail"));
        assert_eq!(failed.result()["isError"], true);
        let again = send(&mut client, &buy("k3", "fail"));
        assert!(is_repeated(&again) && unmarked(&again) == *failed.result(), "a failure is a result");
        assert_eq!(orders(&client.server.home), 5);
    }
}

#[test]
fn the_mark_of_the_client_is_that_of_the_repetition() {
    let mut client = Client::of(&config(""));
    let mut params = buy("k", "");
    for word in ["one", "two"] {
        params["_meta"]["dev.portcullis/correlationId"] = json!(word);
        let answer = send(&mut client, &params);
        assert_eq!(answer.result()["_meta"]["dev.portcullis/correlationId"], word);
    }
    let answer = send(&mut client, &buy("k", ""));
    assert!(answer.result()["_meta"].get("dev.portcullis/correlationId").is_none());
    assert_eq!(orders(&client.server.home), 1);
}

#[test]
fn a_key_is_for_one_call() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&config("")), era, false);
        send(&mut client, &call("order__buy", "k", json!({"how": "", "order_id": 1}))).result();
        for other in [
            call("order__buy", "k", json!({"how": "", "order_id": 2})),
            call("order__buy", "k", json!({"how": ""})),
            call("order__sell", "k", json!({"how": "", "order_id": 1})),
        ] {
            let refused = send(&mut client, &other);
            assert_eq!(refused.error_code(), -32602, "{era:?}");
            assert!(refused.message["error"]["message"].as_str().unwrap().contains("used for another call"));
        }
        // The order of arguments says nothing.
        let text = r#"{"order_id":1,"how":""}"#;
        assert!(is_repeated(&send(&mut client, &call("order__buy", "k", serde_json::from_str(text).unwrap()))));
        for bad in [json!(""), json!("x".repeat(257)), json!(7), json!(null), json!(["k"])] {
            let refused = send(&mut client, &json!({"name": "order__buy", "arguments": {}, "_meta": {KEY: bad}}));
            assert_eq!(refused.error_code(), -32602, "{bad}");
        }
        assert_eq!(orders(&client.server.home), 1);
        send(&mut client, &buy(&"x".repeat(256), "")).result();
    }
}

#[test]
fn an_argument_is_the_key_of_plain_clients() {
    let mut client = Client::of(&shop("", "idempotency = { buy = \"order_id\" }"));
    let order = |id: Value| json!({"name": "order__buy", "arguments": {"how": "", "order_id": id}});
    for id in [json!("a"), json!(7), json!(7.5)] {
        let first = send(&mut client, &order(id.clone()));
        let again = send(&mut client, &order(id));
        assert!(is_repeated(&again) && unmarked(&again) == *first.result());
    }
    assert_eq!(taken(&client.server.home), ["a", "7", "7.5"]);
    let other = json!({"name": "order__buy", "arguments": {"how": "wait 1", "order_id": "a"}});
    assert_eq!(send(&mut client, &other).error_code(), -32602);
    for bad in [json!(true), json!({}), json!(""), json!(["a"])] {
        assert_eq!(send(&mut client, &order(bad)).error_code(), -32602);
    }
    // Without the argument there is no key; a key in `_meta` comes first, and is another one.
    for _ in 0..2 {
        client.call("order__buy", json!({"how": ""})).good();
        client.call("order__buy", json!({"how": "", "order_id": null})).good();
        client.call("order__sell", json!({"how": "", "order_id": "a"})).good();
    }
    assert_eq!(orders(&client.server.home), 9);
    let meta = call("order__buy", "a", json!({"how": "", "order_id": "a"}));
    assert!(!is_repeated(&send(&mut client, &meta)) && is_repeated(&send(&mut client, &meta)));
    assert_eq!(orders(&client.server.home), 10);
}

#[test]
fn an_argument_that_does_not_exist_is_an_error_at_load() {
    for (setting, said) in [
        ("idempotency = { bye = \"order_id\" }", "names the tool `bye`, and it has buy, only, sell"),
        ("idempotency = { buy = \"order\" }", "names the argument `order` of the tool `buy`"),
    ] {
        let server = Server::spawn(Home::new(), &shop("", setting), &["--strict"], |_| {});
        server.wait_for_log(said);
    }
}

#[test]
fn what_was_not_started_leaves_no_key() {
    let mut client = Client::of(&shop("", "limits.rate = \"1/h\""));
    for _ in 0..2 {
        // The schema refuses it, before the rate counts.
        let refused = send(&mut client, &call("order__buy", "k", json!({"how": 7})));
        assert_eq!(code(&refused), "invalid-arguments");
        assert!(!is_repeated(&refused));
    }
    send(&mut client, &buy("other", ""));
    for how in ["", "wait 1"] {
        let refused = send(&mut client, &buy("k", how));
        assert_eq!(code(&refused), "rate-limited", "and not that the key was used for another call");
    }
    assert_eq!(orders(&client.server.home), 1);
}

/// A tool may say so of its arguments after it has done something.
#[test]
fn what_its_tool_refuses_has_run() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&shop("", "")), era, false);
        for repeated in [false, true, true] {
            let refused = send(&mut client, &buy("k", "invalid"));
            assert_eq!(code(&refused), "invalid-arguments", "{era:?}");
            assert_eq!(is_repeated(&refused), repeated, "{era:?}");
        }
        assert_eq!(orders(&client.server.home), 1, "{era:?}");
    }
}

#[test]
fn a_call_that_was_cancelled_says_so() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&config("")), era, false);
        let id = client.begin("tools/call", buy("k", "spin"));
        suite::eventually(suite::PATIENCE, || (orders(&client.server.home) == 1).then_some(())).unwrap();
        client.cancel(id);
        let again = send(&mut client, &buy("k", "spin"));
        assert_eq!(code(&again), "cancelled", "{era:?}");
        assert!(is_repeated(&again) && Called(again).text().contains("cancelled before it ended"));
        assert_eq!(orders(&client.server.home), 1);
    }
}

#[test]
fn tools_of_the_host_itself_ignore_keys() {
    let mut client = Client::of(&config("fallback-tools = true"));
    for id in ["a", "b"] {
        let status = call("task_status", "k", json!({"task": id}));
        assert_eq!(send(&mut client, &status).result()["isError"], true);
    }
}

/// Two that are sent together, and their answers.
fn both(client: &mut Client, params: &Value) -> [Answer; 2] {
    let ids = [0; 2].map(|_| client.begin("tools/call", params.clone()));
    ids.map(|id| client.wait(id, Instant::now()))
}

#[test]
fn two_that_arrive_at_once_run_once() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&config("")), era, false);
        let [one, other] = both(&mut client, &buy("k", "wait 500"));
        assert_eq!(unmarked(&one), unmarked(&other));
        assert!(is_repeated(&one) != is_repeated(&other));
        assert_eq!(orders(&client.server.home), 1);
    }
}
