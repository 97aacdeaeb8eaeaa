//! Random trees of calls: what the call at the top is charged is what all of them have used, whether they succeed, fail or trap, one
//! after the other or together. `PORTCULLIS_TREES` sets how many.

use fastrand::Rng;
use serde_json::{Value, json};
use suite::{Client, Era, Server, agent, plugin};

/// Without the variable.
const TREES: u64 = 60;
/// Calls below the one at the top, one below the other.
const DEPTH: usize = 3;
const LIMITS: &str = "grants.agent-tools = [\"*.*\"]\nlimits.fuel = 1_000_000_000";

fn tree(rng: &mut Rng, depth: usize) -> Value {
    let most = if depth < DEPTH { 3 } else { 1 };
    let below: Vec<_> = (0..rng.usize(..most)).map(|_| tree(rng, depth + 1)).collect();
    let end = match depth {
        0 => "done",
        _ => rng.choice(["done", "done", "fail", "trap"]).unwrap_or("done"),
    };
    json!({"thousands": format!("{:03}", rng.u32(1..60)), "below": below, "together": rng.bool(), "end": end})
}

/// Thousands of rounds in all calls.
fn work(tree: &Value) -> u64 {
    let own: u64 = tree["thousands"].as_str().unwrap().parse().unwrap();
    own + tree["below"].as_array().unwrap().iter().map(work).sum::<u64>()
}

/// The same calls, which compute as little as possible.
fn idle(tree: &Value) -> Value {
    let below: Vec<_> = tree["below"].as_array().unwrap().iter().map(idle).collect();
    json!({"thousands": "001", "below": below, "together": tree["together"], "end": tree["end"]})
}

fn charged(client: &mut Client, tree: &Value) -> u64 {
    let called = client.run("tree", json!({"n": 0, "path": tree.to_string()}));
    assert!(!called.is_error(), "{}", called.result());
    called.usage()["fuel"].as_u64().unwrap()
}

#[test]
fn a_tree_is_charged_what_its_calls_have_used() {
    let count = std::env::var("PORTCULLIS_TREES").ok().and_then(|count| count.parse().ok()).unwrap_or(TREES);
    let below: String = (1..=DEPTH).map(|depth| agent(&format!("t{depth}"), "tree", LIMITS)).collect();
    let server = Server::start(&(plugin("tree", LIMITS) + &below));
    let mut client = Client::able(server, Era::Modern, false, json!({}));
    let two = json!({"thousands": "002", "below": [], "together": true, "end": "done"});
    let thousand = charged(&mut client, &two) - charged(&mut client, &idle(&two));
    let (mut calls, mut failed) = (0, Vec::new());
    for seed in 0..count {
        let tree = tree(&mut Rng::with_seed(seed), 0);
        let cost = charged(&mut client, &tree) - charged(&mut client, &idle(&tree));
        let idle = idle(&tree);
        calls += work(&idle);
        let used = thousand * (work(&tree) - work(&idle));
        if cost != used {
            failed.push(format!("{seed}: {cost} instead of {used}: {tree}"));
        }
    }
    println!("{count} trees of {calls} calls, {thousand} units for a thousand rounds");
    assert!(failed.is_empty(), "{} of {count} trees, such as {:#?}", failed.len(), &failed[..failed.len().min(3)]);
    assert!(calls > count * 3, "{calls} calls");
}
