//! Tasks that call a tool of a server behind the host, and whose host is killed meanwhile.

use super::{abilities, wait_for};
use crate::upstream::{misbehaving, until_found};
use serde_json::{Value, json};
use std::fs;
use suite::{Client, Era, PATIENCE, Server, eventually, plugin};

fn config(settings: &str) -> String {
    let calls = plugin("agent-calls", "grants.agent-tools = [\"odd.*\"]");
    "[server.tasks]\ninline = \"50ms\"\n\n".to_owned() + &calls + &misbehaving("reads-late", settings)
}

fn pin() -> String {
    let other = Server::start(&config(&format!("definitions = \"sha256:{}\"", "0".repeat(64))));
    let pin = eventually(PATIENCE, || {
        let log = other.log().replace('\\', "");
        let (_, after) = log.split_once("accept them, set `")?;
        Some(after.split_once('`')?.0.to_owned())
    });
    pin.expect("the log says how to pin them")
}

/// Ends in the way that `is_over` says, after the host was killed while the server worked.
fn killed_meanwhile(settings: &str, again: bool) -> Value {
    let mut client = until_found(Client::able(Server::start(&config(settings)), Era::Modern, false, abilities()));
    let work = client.server.home.work();
    let begun = || eventually(PATIENCE, || work.join("begun").exists().then_some(())).expect("the server never begins");
    let steps = json!([{"call": {"name": "odd.run", "arguments": {"path": work}}}]).to_string();
    let created = client.request("tools/call", json!({"name": "agent-calls__only", "arguments": {"path": steps}}));
    let task = created.result()["taskId"].as_str().unwrap_or_else(|| panic!("{}", created.message)).to_owned();
    begun();
    fs::remove_file(work.join("begun")).unwrap();
    client.server.restart_stdio();
    if again {
        begun();
    }
    fs::write(work.join("go"), "what it has read").unwrap();
    let is_over = |task: &Value| task["status"] == "completed" || task["status"] == "failed";
    let ended = wait_for(&mut client, &task, is_over);
    assert_eq!(work.join("begun").exists(), again, "{ended}");
    ended
}

/// What such a tool says of itself counts if the operator has read and pinned it.
#[test]
fn a_step_that_only_reads_is_made_again_if_its_definition_is_pinned() {
    let ended = killed_meanwhile(&pin(), true);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(ended["result"].to_string().contains("what it has read"), "{ended}");
    let ended = killed_meanwhile("", false);
    assert!(ended.to_string().contains("unknown"), "{ended}");
}
