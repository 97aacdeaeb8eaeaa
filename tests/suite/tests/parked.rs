//! Many parked calls at once: none is mixed up with another, and beyond the limit the oldest are dropped first.

use serde_json::{Value, json};
use std::time::Instant;
use suite::{Called, Client, Era, Server, plugin};

/// The default limit of parked calls.
const MANY: u64 = 1_000;

fn client(parked: &str) -> Client {
    let config = format!("[server]\nparked = {{ {parked} }}\n\n") + &plugin("ask", "grants.client.form = true");
    Client::able(Server::start(&config), Era::Modern, false, json!({"elicitation": {"form": {}}}))
}

fn arguments(number: u64) -> Value {
    json!({"path": "number", "n": number})
}

/// Parks this many calls and returns their request states.
fn park(client: &mut Client, many: u64) -> Vec<Value> {
    let sent = Instant::now();
    let ids: Vec<_> = (0..many).map(|number| client.begin_call("ask__run", arguments(number))).collect();
    let mut states = Vec::new();
    for (number, id) in (0..).zip(ids) {
        let asked = client.wait(id, sent);
        let question = &asked.result()["inputRequests"]["user_name"]["params"];
        assert_eq!(question["message"], format!("ask asks: Who has number {number}?"));
        states.push(asked.result()["requestState"].clone());
    }
    states
}

fn resume(client: &mut Client, number: u64, state: &Value) -> u64 {
    let responses = json!({"user_name": {"action": "accept", "content": {"name": format!("holder of {number}")}}});
    client.begin(
        "tools/call",
        json!({"name": "ask__run", "arguments": arguments(number), "requestState": state, "inputResponses": responses}),
    )
}

fn expected(number: u64) -> String {
    format!(r#"{number}: {{"name":"holder of {number}"}}"#)
}

#[test]
fn a_thousand_calls_wait_and_each_gets_its_own_answer() {
    let mut client = client(&format!("calls = {MANY}, per-principal = {MANY}, memory = \"4 GiB\""));
    let states = park(&mut client, MANY);
    // A permutation far from the order of arrival: 617 and 1,000 have no common factor.
    let order = (0..MANY).map(|step| (step * 617 + 101) % MANY);
    let sent = Instant::now();
    let resumed: Vec<_> = order.map(|number| (number, resume(&mut client, number, &states[number as usize]))).collect();
    for (number, id) in resumed {
        assert_eq!(Called(client.wait(id, sent)).good(), expected(number));
    }
    // No call is parked any more, so another one can be.
    let again = resume(&mut client, 0, &states[0]);
    assert_eq!(client.wait(again, sent).error_code(), -32602);
    park(&mut client, 1);
}

#[test]
fn parked_calls_are_bounded_by_memory() {
    const BOUND: u64 = 12 << 20;
    let mut client = client("memory = \"12 MiB\", stored = false");
    let peak = client.run("ask", json!({"path": "supported"})).usage()["peakMemory"].as_u64().unwrap();
    let all = 30;
    // The calls are sent one after the other, so that their order of age is known.
    let states: Vec<_> = (0..all)
        .map(|number| {
            let asked = client.call("ask__run", arguments(number));
            asked.result()["requestState"].clone()
        })
        .collect();
    let mut fit = 0;
    for (number, state) in (0..all).zip(&states) {
        let id = resume(&mut client, number, state);
        let answer = client.wait(id, Instant::now());
        if let Some(message) = answer.message["error"]["message"].as_str() {
            assert!(message.contains("too many calls were waiting"), "{message}");
            assert_eq!(fit, 0, "{number} of {all} is gone, and an older one is not");
        } else {
            assert_eq!(Called(answer).good(), expected(number));
            fit += 1;
        }
    }
    // What the host keeps for a call counts too.
    assert!((BOUND / (peak + (1 << 20))..=BOUND / peak).contains(&fit), "{fit} calls of {peak} bytes");
}
