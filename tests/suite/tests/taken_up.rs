//! Parked calls that another process takes up, because the one that parked them was killed, or dropped them.

mod errands;

use serde_json::{Value, json};
use std::fs;
use std::time::Instant;
use suite::{Answer, Called, Client, Era, Home, Server, paths, plugin, plugin_from};

const TRAVEL: &str = r#"grants.client = { form = true, sample = {} }
grants.filesystem = [{ host = "work", guest = "/bookings", access = "write" }]"#;
const BOOKED: &str = "Booked Lisbon for ";

fn able() -> Value {
    json!({"elicitation": {"form": {}}})
}

fn client(server: Server) -> Client {
    Client::able(server, Era::Modern, false, able())
}

/// The params of a retry.
fn retry(tool: &str, arguments: &Value, asked: &Called, responses: Value) -> Value {
    let state = &asked.result()["requestState"];
    json!({"name": tool, "arguments": arguments, "requestState": state, "inputResponses": responses})
}

/// One yes to each question that was asked.
fn yes(asked: &Called, content: Value) -> Value {
    let keys = asked.result()["inputRequests"].as_object().unwrap().keys();
    let answer = json!({"action": "accept", "content": content});
    keys.map(|key| (key.clone(), answer.clone())).collect::<serde_json::Map<_, _>>().into()
}

fn bookings(home: &Home) -> usize {
    fs::read_to_string(home.work().join("bookings.jsonl")).map_or(0, |text| text.lines().count())
}

/// Sends a retry.
fn send(client: &mut Client, params: &Value) -> Answer {
    let id = client.begin("tools/call", params.clone());
    client.wait(id, Instant::now())
}

#[test]
fn a_trip_confirmed_after_the_host_was_killed_is_booked_once() {
    let config = plugin_from("travel", &paths::real_plugin("travel"), TRAVEL);
    let mut client = client(Server::start(&config));
    let arguments = json!({"destination": "Lisbon"});
    let asked = client.call("travel__travel_agent", arguments.clone());
    assert_eq!(asked.result()["resultType"], "input_required");
    assert_eq!(bookings(&client.server.home), 0);
    client.server.restart_stdio();
    let confirmed = retry("travel__travel_agent", &arguments, &asked, yes(&asked, json!({"confirm": true})));
    let booked = Called(send(&mut client, &confirmed)).good();
    assert!(booked.starts_with(BOOKED), "{booked}");
    assert_eq!(bookings(&client.server.home), 1);
    assert_eq!(send(&mut client, &confirmed).error_code(), -32602, "a token works once");
    client.server.restart_stdio();
    assert_eq!(send(&mut client, &confirmed).error_code(), -32602, "also in another process");
    assert_eq!(bookings(&client.server.home), 1);
}

/// The guest asks twice, and each answer comes in another process.
#[test]
fn a_call_goes_on_with_what_it_knew() {
    let config = plugin(
        "ask",
        "grants.client.form = true\ngrants.filesystem = [{ host = \"work\", guest = \"/work\", access = \"write\" }]",
    );
    let mut client = client(Server::start(&config));
    let arguments = json!({"path": "rounds", "n": 2});
    let first = client.call("ask__run", arguments.clone());
    client.server.restart_stdio();
    let params = retry("ask__run", &arguments, &first, yes(&first, json!({"name": "Ada"})));
    let second = Called(send(&mut client, &params));
    assert_eq!(second.result()["resultType"], "input_required", "{:?}", second.result());
    client.server.restart_stdio();
    let params = retry("ask__run", &arguments, &second, yes(&second, json!({"name": "Bob"})));
    let said = Called(send(&mut client, &params)).good();
    assert!(said.contains("Ada") && said.contains("Bob"), "{said}");
}

/// A client that comes back without an answer is asked again, as it would be by the process that parked the call.
#[test]
fn a_missing_answer_is_asked_for_again() {
    let mut client = client(Server::start(&plugin("ask", "grants.client.form = true")));
    let arguments = json!({"path": "form"});
    let mut asked = client.call("ask__run", arguments.clone());
    for _ in 0..3 {
        client.server.restart_stdio();
        asked = Called(send(&mut client, &retry("ask__run", &arguments, &asked, json!({}))));
        assert_eq!(asked.result()["resultType"], "input_required", "{}", asked.result());
    }
    client.server.restart_stdio();
    let called = Called(send(&mut client, &retry("ask__run", &arguments, &asked, json!({}))));
    assert!(called.is_error(), "a question is asked four times at most: {}", called.result());
}

/// Five calls wait where two have room: the others are in the store.
#[test]
fn calls_that_lost_their_place_in_memory_go_on() {
    let config = "[server]\nparked = { calls = 2, per-principal = 2 }\n\n".to_owned()
        + &plugin("ask", "grants.client.form = true");
    let mut client = client(Server::start(&config));
    let arguments = json!({"path": "chunks"});
    let asked: Vec<_> = (0..5).map(|_| client.call("ask__run", arguments.clone())).collect();
    for asked in &asked {
        let params = retry("ask__run", &arguments, asked, yes(asked, json!({"name": "Ada"})));
        let called = Called(send(&mut client, &params));
        assert!(called.good().contains("Ada"), "{}", called.text());
        assert_eq!(called.usage()["chunks"], 2, "{}", called.result());
    }
}
