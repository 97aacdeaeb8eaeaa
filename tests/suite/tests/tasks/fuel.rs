//! Tasks that use up their fuel: they wait until they get more, and pay for nothing twice.

use super::{client, get, start, steer, wait_for, wait_for_status};
use serde_json::{Value, json};
use suite::{Client, plugin, portcullis};

/// Some tens of milliseconds of computing.
const ROUNDS: u64 = 10_000_000;
/// Less than that takes, and far more than anything else does here.
const LITTLE: u64 = 20_000_000;

fn config(server: &str, fuel: u64) -> String {
    let job =
        format!("grants.client = {{ form = true, roots = true }}\nlimits.deadline = \"10m\"\nlimits.fuel = {fuel}");
    format!("{server}\n[server.tasks]\ninline = \"50ms\"\n\n") + &plugin("job", &job)
}

fn run(client: &Client, arguments: &[&str]) -> String {
    portcullis(&client.server.home, arguments).good().to_owned()
}

fn shown(client: &Client, task: &str) -> Value {
    serde_json::from_str(&run(client, &["task", "show", task, "--json"])).unwrap()
}

fn wait_until_paused(client: &mut Client, task: &str) -> Value {
    wait_for(client, task, |task| task["statusMessage"].as_str().is_some_and(|text| text.starts_with("Paused: all ")))
}

/// What a task of so many rounds costs that never waits.
fn cost(rounds: u64) -> u64 {
    let mut client = client(&config("", 1_000_000_000));
    let task = start(&mut client, &format!("compute-and-end {rounds}"));
    let ended = wait_for_status(&mut client, &task.task, "completed");
    ended["_meta"]["dev.portcullis/usage"]["fuel"].as_u64().unwrap_or_else(|| panic!("{ended}"))
}

#[test]
fn a_task_waits_for_fuel_and_goes_on_when_it_gets_some() {
    let mut client = client(&config("", LITTLE));
    let task = start(&mut client, "chunk before");
    steer(&mut client, &task, "fuel-left");
    steer(&mut client, &task, &format!("compute {ROUNDS}"));
    let paused = wait_until_paused(&mut client, &task.task);
    assert_eq!(paused["status"], "working", "{paused}");
    let fuel = shown(&client, &task.task)["fuel"].clone();
    assert!(fuel["used"].as_u64() >= Some(LITTLE) && fuel["limit"] == LITTLE, "{fuel}");
    let said = run(&client, &["task", "top-up", &task.task[..8], "--fuel", "1000000000"]);
    assert!(said.contains("gets 1000000000 units"), "{said}");
    wait_for(&mut client, &task.task, |task| task["statusMessage"] == "before");
    steer(&mut client, &task, "fuel-left");
    steer(&mut client, &task, "stop");
    let ended = wait_for_status(&mut client, &task.task, "completed");
    let said = ended["result"]["content"][0]["text"].as_str().unwrap();
    let left: Vec<u64> = said.split("Some(").skip(1).map(|it| it.split(')').next().unwrap().parse().unwrap()).collect();
    assert!(left[0] < LITTLE && left[1] > 500_000_000, "the guest sees what it got: {said}");
    let fuel = shown(&client, &task.task)["fuel"].clone();
    assert_eq!(fuel["used"], ended["_meta"]["dev.portcullis/usage"]["fuel"], "{ended}");
    assert_eq!((&fuel["added"], &fuel["limit"]), (&json!(1_000_000_000), &json!(1_000_000_000 + LITTLE)));
    let refused = portcullis(&client.server.home, &["task", "top-up", &task.task, "--fuel", "1"]).refused().to_owned();
    assert!(refused.contains("has ended"), "{refused}");
}

#[test]
fn a_waiting_task_is_cancelled_and_other_calls_run_meanwhile() {
    let mut client = client(&config("", LITTLE));
    let tasks: Vec<_> = (0..3).map(|_| start(&mut client, &format!("compute {ROUNDS}"))).collect();
    for task in &tasks {
        wait_until_paused(&mut client, &task.task);
    }
    let answered = client.request("tools/call", json!({"name": "job__run", "arguments": {"path": "stop"}}));
    assert_eq!(answered.result()["isError"], false);
    for task in &tasks {
        client.request("tasks/cancel", json!({"taskId": task.task})).result();
        wait_for_status(&mut client, &task.task, "cancelled");
    }
}

/// A call that is no task ends at its limit, and is no task that waits.
#[test]
fn only_a_task_waits() {
    let mut client = client(&config("", LITTLE).replace("50ms", "1m"));
    let arguments = json!({"path": format!("compute-and-end {ROUNDS}")});
    let answered = client.request("tools/call", json!({"name": "job__run", "arguments": arguments}));
    let error = answered.result();
    let said = error["content"][0]["text"].as_str().unwrap();
    assert!(error["isError"] == true && said.contains("limits.fuel"), "{error}");
}

/// Whatever happens to it, a call costs what it costs.
#[test]
fn what_is_charged_is_what_was_used_also_over_pauses_and_restarts() {
    let whole = cost(ROUNDS);
    let mut client = client(&config("[server.fuel]\nper-principal = 1_000_000_000", LITTLE));
    let task = start(&mut client, &format!("compute-and-end {ROUNDS}"));
    wait_until_paused(&mut client, &task.task);
    client.server.restart_stdio();
    wait_until_paused(&mut client, &task.task);
    run(&client, &["task", "top-up", &task.task, "--fuel", "1"]);
    wait_until_paused(&mut client, &task.task);
    client.server.kill();
    run(&client, &["task", "top-up", &task.task, "--fuel", "1000000000"]);
    client.server.restart_stdio();
    let ended = wait_for_status(&mut client, &task.task, "completed");
    assert_eq!(ended["_meta"]["dev.portcullis/usage"]["fuel"], whole, "{ended}");
    assert_eq!(get(&mut client, &task.task)["status"], "completed");
}

#[test]
fn a_day_ends_for_calls_and_is_waited_for_by_tasks() {
    let limits = format!("[server.fuel]\nper-principal = {LITTLE}");
    let mut client = client(&config(&limits, 1_000_000_000));
    let task = start(&mut client, &format!("compute {ROUNDS}"));
    let paused = wait_until_paused(&mut client, &task.task);
    assert!(paused["statusMessage"].as_str().unwrap().contains("in a day"), "{paused}");
    let refused = client.request("tools/call", json!({"name": "job__run", "arguments": {"path": "stop"}}));
    let said = refused.result()["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(said.contains("server.fuel.per-principal"), "{said}");
    assert_eq!(refused.result()["structuredContent"]["code"].as_str().unwrap_or("day-used-up"), "day-used-up");
    client.server.terminate();
    client.server.ended();
    client.server.restart_stdio();
    let refused = client.request("tools/call", json!({"name": "job__run", "arguments": {"path": "stop"}}));
    assert!(refused.result()["content"][0]["text"].as_str().unwrap().contains("in a day"), "a restart is no refill");
    run(&client, &["task", "top-up", &task.task, "--fuel", "1000000000"]);
    wait_for(&mut client, &task.task, |task| {
        !task["statusMessage"].as_str().is_some_and(|it| it.starts_with("Paused"))
    });
    steer(&mut client, &task, "stop");
    wait_for_status(&mut client, &task.task, "completed");
}

/// Of what may be asked so often, each answer counts once, whatever happens to the host.
#[test]
fn its_client_is_asked_and_may_let_it_use_more() {
    let config = config("", LITTLE).replace("limits.fuel", "limits.extensions = 2\nlimits.fuel");
    let more = |client: &mut Client, task: &str, key: &str, action: &str| {
        let answer = json!({key: {"action": action, "content": {}}});
        client.request("tasks/update", json!({"taskId": task, "inputResponses": answer})).result();
    };
    let mut client = client(&config);
    let task = start(&mut client, "chunk before");
    steer(&mut client, &task, &format!("compute {}", 20 * ROUNDS));
    let asked = wait_for_status(&mut client, &task.task, "input_required");
    let question = &asked["inputRequests"]["more-fuel"]["params"];
    let message = question["message"].as_str().unwrap_or_else(|| panic!("{asked}"));
    assert!(message.contains("`job__only`") && message.contains("20000000 units more"), "{message}");
    assert!(asked["statusMessage"].as_str().unwrap().starts_with("Paused: all 20000000 "), "{asked}");
    more(&mut client, &task.task, "more-fuel", "accept");
    let again = wait_for(&mut client, &task.task, |task| task["inputRequests"]["more-fuel-2"].is_object());
    assert!(again["inputRequests"]["more-fuel"].is_null(), "{again}");
    assert_eq!(shown(&client, &task.task)["fuel"]["limit"], 2 * LITTLE);
    client.server.restart_stdio();
    more(&mut client, &task.task, "more-fuel-2", "accept");
    // As often as may be: from now on, only the operator is left.
    let paused = wait_for(&mut client, &task.task, |task| {
        task["statusMessage"].as_str().is_some_and(|it| it.starts_with("Paused: all 60000000 "))
    });
    assert_eq!(
        (&paused["status"], shown(&client, &task.task)["fuel"]["added"].as_u64()),
        (&json!("working"), Some(2 * LITTLE))
    );
    // Who says no ends it; who says nothing leaves it to the operator, who may be quicker than the client.
    let [refused, dismissed, topped_up] =
        ["a", "b", "c"].map(|_| start(&mut client, &format!("compute-and-end {ROUNDS}")).task);
    for task in [&refused, &dismissed, &topped_up] {
        wait_for_status(&mut client, task, "input_required");
    }
    more(&mut client, &refused, "more-fuel", "decline");
    let ended = wait_for_status(&mut client, &refused, "completed");
    assert!(ended["result"].to_string().contains("limits.fuel"), "{ended}");
    more(&mut client, &dismissed, "more-fuel", "cancel");
    let left = wait_for_status(&mut client, &dismissed, "working");
    assert!(left["statusMessage"].as_str().unwrap().starts_with("Paused: all "), "{left}");
    run(&client, &["task", "top-up", &topped_up, "--fuel", "1000000000"]);
    wait_for_status(&mut client, &topped_up, "completed");
}
