//! Real clients with a job that takes longer than the proxy before the host keeps a connection. It outlives several cuts, runs
//! once, and its result comes once: as a task, or by the tools of the host for clients that do not know tasks.

use super::TASKS;
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};
use suite::cutting::CuttingProxy;
use suite::{Server, paths, plugin};

/// After which a proxy cuts a connection; 60 s in real life.
const CUT: Duration = Duration::from_millis(500);
/// Chunks of the job, 50 ms each.
const CHUNKS: u32 = 50;

/// Runs a client, which is cut off at least so often.
fn follow(mut client: Command, cuts: usize) {
    let config = "[server]\nfallback-tools = true\n[server.tasks]\ninline = \"50ms\"\n\n".to_owned()
        + &plugin("slow-stream", "");
    let (server, address) = Server::start_http(&config);
    let proxy = CuttingProxy::start(address, CUT, "dev.portcullis/task\":");
    let began = Instant::now();
    client.args(["slow-stream__run", &json!({"n": CHUNKS}).to_string(), &format!("http://{}/mcp", proxy.address)]);
    let ran = suite::cli::run(client);
    let seen: Value = serde_json::from_str(ran.good().trim()).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    println!("{} cuts, {:?}, {seen}", proxy.cuts(), began.elapsed());
    assert_eq!(seen["results"], json!([format!("{CHUNKS} parts")]), "{seen}");
    assert!(proxy.cuts() >= cuts && seen["failures"].as_u64() >= Some(cuts as u64), "{} cuts: {seen}", proxy.cuts());
    assert!(began.elapsed() > 4 * CUT, "one connection would have been enough");
    let listed = suite::portcullis(&server.home, &["task", "list", "--json"]).good().to_owned();
    assert_eq!(listed.lines().count(), 1, "it ran once: {listed}");
}

#[test]
fn a_python_client_without_tasks_gets_the_result_once() {
    let mut client = Command::new(paths::python());
    client.arg(paths::client_script("long_job.py"));
    follow(client, 2);
}

#[test]
fn a_typescript_client_without_tasks_gets_the_result_once() {
    let mut client = Command::new("node");
    client.arg(paths::client_script("long_job.mjs")).env("PORTCULLIS_NODE_MODULES", paths::node_modules());
    follow(client, 2);
}

/// It polls, and keeps no connection for so long.
#[test]
fn a_rust_client_follows_the_task() {
    follow(Command::new(paths::rmcp_long_job()), 0);
}

#[test]
fn a_task_that_has_expired_is_a_documented_error() {
    let config = "[server.tasks]\ninline = \"50ms\"\nkeep = \"0s\"\n\n".to_owned() + &plugin("slow-stream", "");
    let abilities = json!({"extensions": {TASKS: {}}});
    let mut client = suite::Client::able(Server::start(&config), suite::Era::Modern, false, abilities);
    let call = json!({"name": "slow-stream__run", "arguments": {"n": 3}});
    let task = super::started(&client.request("tools/call", call)).task;
    let gone = suite::eventually(suite::PATIENCE, || {
        let answer = client.request("tasks/get", json!({"taskId": task}));
        answer.message.get("error").cloned()
    });
    assert_eq!(gone.unwrap()["code"], -32602);
}
