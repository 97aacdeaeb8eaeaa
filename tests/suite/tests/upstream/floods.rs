//! Servers behind the host that have too much to say.

use super::{misbehaving, until_found};
use serde_json::json;
use std::time::Instant;
use suite::{Client, Era, PATIENCE, Server, eventually};

#[test]
fn refused_questions_do_not_fill_the_log() {
    let able = json!({"elicitation": {}});
    let mut client = Client::able(Server::start(&misbehaving("secret", "")), Era::Modern, false, able);
    client.call("odd__run", json!({"n": 100})).good();
    let lines = client.server.log().matches("a question is refused").count();
    println!("hostile: questions: {lines} lines of log for 801 that are refused");
    assert!((1..=256).contains(&lines), "{lines} lines");
}

/// A server that says at each look that its tools have changed, and lists others with other faults each time.
#[test]
fn a_server_whose_tools_always_change_costs_little() {
    let mut client = until_found(Client::of(&misbehaving("always-new-list", "")));
    let listed = |client: &mut Client| {
        let tools = client.tools();
        tools[0]["description"].as_str().and_then(|number| number.parse::<u64>().ok()).expect("the number of the list")
    };
    let (began, first) = (Instant::now(), listed(&mut client));
    eventually(PATIENCE, || (listed(&mut client) >= first + 3).then_some(())).expect("changes are followed");
    let lists = listed(&mut client) - first;
    let most = began.elapsed().as_secs() + 2;
    let lines = client.server.log().matches("wrong name").count() as u64;
    println!("hostile: lists: {lines} lines of log for {lists} lists in {:?}", began.elapsed());
    assert!(lists <= most, "{lists} lists in {:?}", began.elapsed());
    assert!(lines <= 16 * (first + lists + 1), "{lines} lines for {} lists", first + lists);
}
