//! A client that calls the server while it runs a reverse call: the call joins the chain and shares its remaining
//! limits.

use crate::upstream::{misbehaving, until_found};

use super::{answer, asked, call, config, first, retry, script, two};
use serde_json::{Value, json};
use suite::{Called, Client, Era, Server, plugin};

/// Starts a reverse call: returns the arguments of its request, the result that contains the call, and the chain.
fn midway(client: &mut Client) -> (Value, Called, Value) {
    let (arguments, called) = first(client, json!([call("calendar.free_slots", 1)]));
    let chain = asked(&called).values().next().unwrap()["chain"].clone();
    assert_eq!(chain.as_str().unwrap().len(), 22);
    (arguments, called, chain)
}

fn chained(name: &str, arguments: Value, chain: &Value) -> Value {
    json!({"name": name, "arguments": arguments, "_meta": {"dev.portcullis/chain": chain}})
}

/// Retries the request that is waiting for the reverse call.
fn go_on(client: &mut Client, arguments: &Value, asking: &Called) -> Called {
    let (key, fields) = asked(asking).iter().next().unwrap();
    let outcomes = json!({key: answer(fields)});
    Called(client.request("tools/call", retry(arguments, &asking.result()["continuation"], outcomes)))
}

fn client(settings: &str) -> Client {
    let config = config().replace("[plugins.agent-calls]\n", &format!("[plugins.agent-calls]\n{settings}\n"));
    // Its own fuel limit is so high that only the chain's remaining fuel can stop it.
    let burn = plugin("burn", "limits.fuel = 1_000_000_000_000");
    Client::able(Server::start(&(config + &plugin("echo", "") + &burn)), Era::Modern, false, two())
}

#[test]
fn a_call_back_from_the_client_belongs_to_the_chain() {
    let mut client = client("");
    let (arguments, asking, chain) = midway(&mut client);
    let echoed = Called(client.request("tools/call", chained("echo__run", json!({"n": 5}), &chain)));
    assert!(echoed.good().contains("\"n\":5"), "{}", echoed.text());
    let own = echoed.usage()["fuel"].as_u64().unwrap();
    let after = go_on(&mut client, &arguments, &asking);
    assert_eq!(after.usage()["calls"], 2, "the client's tool, and what it called");
    // The cost is charged to the call that it belongs to.
    let (arguments, asking, _) = midway(&mut client);
    let alone = go_on(&mut client, &arguments, &asking);
    let difference = after.usage()["fuel"].as_u64().unwrap() - alone.usage()["fuel"].as_u64().unwrap();
    assert_eq!(difference, own);
}

#[test]
fn a_tool_that_already_runs_in_the_chain_is_refused() {
    let mut client = client("");
    let (arguments, asking, chain) = midway(&mut client);
    let params = chained("agent-calls__run", script(json!([{"list": true}])), &chain);
    let refused = Called(client.request("tools/call", params));
    assert_eq!(refused.code(), "cycle", "{}", refused.result());
    assert!(refused.text().contains("plugins.agent-calls.run -> calendar.free_slots"), "{}", refused.text());
    assert!(go_on(&mut client, &arguments, &asking).good().contains("free on 1"));
}

#[test]
fn depth_is_counted_across_the_client() {
    let mut client = client("limits.depth = 1");
    let (_, _, chain) = midway(&mut client);
    let refused = Called(client.request("tools/call", chained("echo__run", json!({}), &chain)));
    assert_eq!((refused.code(), refused.number("limit")), ("depth-exceeded", 1), "{}", refused.result());
}

#[test]
fn a_servers_tool_belongs_to_the_chain_too() {
    let config = config().replace("[plugins.agent-calls]\n", "[plugins.agent-calls]\nlimits.depth = 1\n");
    let server = Server::start(&(config + &misbehaving("good", "")));
    let mut client = until_found(Client::able(server, Era::Modern, false, two()));
    let (_, _, chain) = midway(&mut client);
    let refused = Called(client.request("tools/call", chained("odd__run", json!({}), &chain)));
    assert_eq!((refused.code(), refused.number("limit")), ("depth-exceeded", 1), "{}", refused.result());
}

#[test]
fn fuel_is_limited_to_what_the_chain_has_left() {
    let mut client = client("limits.fuel = 60_000_000");
    let (arguments, asking, chain) = midway(&mut client);
    let burnt = Called(client.request("tools/call", chained("burn__run", json!({"n": 1_000_000_000}), &chain)));
    assert_eq!(burnt.code(), "fuel-exhausted", "{}", burnt.result());
    assert!(burnt.number("limit") <= 30_000_000, "half of what was left: {}", burnt.error());
    assert!(go_on(&mut client, &arguments, &asking).usage()["fuel"].as_u64().unwrap() >= burnt.number("limit"));
}

#[test]
fn cpu_time_is_limited_to_what_the_chain_has_left() {
    let mut client = client("limits = { metering = \"ticks\", cpu = \"400ms\" }");
    let (arguments, asking, chain) = midway(&mut client);
    let burnt = Called(client.request("tools/call", chained("burn__run", json!({"n": 1_000_000_000_000u64}), &chain)));
    assert_eq!(burnt.code(), "cpu-exhausted", "{}", burnt.result());
    let limit = burnt.number("limitMs");
    assert!(limit <= 200, "half of what was left: {}", burnt.error());
    let paid = go_on(&mut client, &arguments, &asking).usage()["cpuMs"].as_f64().unwrap();
    assert!(paid >= limit as f64, "{paid} ms of {limit} ms are paid for by the call that it belongs to");
}

#[test]
fn a_chain_that_is_not_open_is_refused() {
    let mut client = client("");
    let (arguments, asking, chain) = midway(&mut client);
    for other in [json!("AAAAAAAAAAAAAAAAAAAAAA"), json!(""), json!(7), json!({})] {
        let refused = client.request("tools/call", chained("echo__run", json!({}), &other));
        assert_eq!(refused.error_code(), -32602, "{other}");
    }
    go_on(&mut client, &arguments, &asking);
    let late = client.request("tools/call", chained("echo__run", json!({}), &chain));
    assert_eq!(late.error_code(), -32602);
}
