//! A host that was killed with many open tasks serves again at once, and goes on with all of them. `PORTCULLIS_OPEN_TASKS` sets
//! how many.

use super::{abilities, answers, job, start, wait_for_status};
use serde_json::json;
use std::time::{Duration, Instant};
use suite::{Client, Era, Server};

/// Without the variable. A test is no measurement.
const TASKS: usize = 60;
/// With this build and beside other tests.
const MOST: Duration = Duration::from_secs(10);

#[test]
fn a_host_with_many_open_tasks_serves_again_at_once() {
    let count = std::env::var("PORTCULLIS_OPEN_TASKS").ok().and_then(|count| count.parse().ok()).unwrap_or(TASKS);
    let limits = format!(
        "[server]\nparked = {{ calls = {count}, per-principal = {count}, memory = \"64 GiB\" }}\n\
         [server.tasks]\ninline = \"50ms\"\nkept = {count}\nper-principal = {count}\n\n"
    );
    let mut client = Client::able(Server::start(&(limits + &job())), Era::Modern, false, abilities());
    let tasks: Vec<_> = (0..count).map(|_| start(&mut client, "ask").task).collect();
    for task in &tasks {
        wait_for_status(&mut client, task, "input_required");
    }
    client.server.kill();
    let began = Instant::now();
    client.server.restart_stdio();
    client.request("server/discover", json!({})).result();
    let serving = began.elapsed();
    for task in tasks.iter().rev().take(20) {
        wait_for_status(&mut client, task, "input_required");
        let responses = answers(&[("first", "Al"), ("second", "Bo")]);
        client.request("tasks/update", json!({"taskId": task, "inputResponses": responses})).result();
        wait_for_status(&mut client, task, "working");
    }
    let all = began.elapsed();
    println!("{count} open tasks: serving again after {serving:?}, and the last of them had gone on after {all:?}");
    assert!(serving < MOST, "{serving:?}");
}
