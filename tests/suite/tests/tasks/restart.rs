//! A host with open tasks: what many of them cost while they wait, how soon it serves again after it was killed, and that time
//! goes on for them meanwhile. `PORTCULLIS_OPEN_TASKS` sets how many.

use super::{abilities, answers, get, job, start, wait_for, wait_for_status};
use serde_json::{Value, from_str, json};
use std::time::{Duration, Instant};
use suite::{Client, Era, Server, portcullis};

/// Without the variable. A test is no measurement.
const TASKS: usize = 60;
/// With this build and beside other tests.
const MOST: Duration = Duration::from_secs(10);
/// How long it is watched while nothing happens: longer than the time after which leases are renewed.
const QUIET: Duration = Duration::from_secs(22);

#[test]
fn a_host_with_many_open_tasks_serves_again_at_once() {
    let measured = std::env::var("PORTCULLIS_OPEN_TASKS").ok().and_then(|count| count.parse().ok());
    let count = measured.unwrap_or(TASKS);
    // The others wait without their instances.
    let parked = count / 10;
    let limits = format!(
        "[server]\nparked = {{ calls = {parked}, per-principal = {parked} }}\n\
         [server.tasks]\ninline = \"50ms\"\nkept = {count}\nper-principal = {count}\n\n"
    );
    let mut client = Client::able(Server::start(&(limits + &job())), Era::Modern, false, abilities());
    let before = client.server.memory();
    let tasks: Vec<_> = (0..count).map(|_| start(&mut client, "ask").task).collect();
    for task in &tasks {
        wait_for_status(&mut client, task, "input_required");
    }
    let each = client.server.memory().saturating_sub(before) / count as u64;
    let listed = Instant::now();
    let shown = portcullis(&client.server.home, &["task", "list", "--open", "--json"]).good().to_owned();
    let listed = listed.elapsed();
    let suspended = shown.lines().filter(|line| from_str::<Value>(line).unwrap()["suspended"] == true).count();
    let mut took: Vec<_> = tasks.iter().take(1_000).map(|task| timed(|| drop(get(&mut client, task)))).collect();
    took.sort();
    println!(
        "{count} open tasks, {suspended} of them suspended: {each} bytes of memory each; list {listed:?}, get {:?} (p50), {:?} (p99)",
        took[took.len() / 2],
        took[took.len() * 99 / 100],
    );
    if measured.is_some() {
        let idle = client.server.cpu();
        std::thread::sleep(QUIET);
        let idle = (client.server.cpu() - idle).as_secs_f64() / QUIET.as_secs_f64() * 100.0;
        println!("{idle:.2} % of a processor while nothing happens");
    }
    assert!(suspended + parked >= count, "{suspended} of {count}");
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
    println!("serving again after {serving:?}, and the last 20 of them had gone on after {all:?}");
    assert!(serving < MOST, "{serving:?}");
}

#[test]
fn what_a_task_has_slept_it_does_not_sleep_again() {
    const SLEEP: u64 = 8_000;
    let mut client = Client::able(Server::start(&super::config("")), Era::Modern, false, abilities());
    let began = Instant::now();
    let tasks = ["sleep", "receive"].map(|wait| start(&mut client, &format!("{wait} {SLEEP}")).task);
    for task in &tasks {
        wait_for(&mut client, task, |task| task["statusMessage"] == "asleep");
    }
    std::thread::sleep(Duration::from_secs(3));
    client.server.kill();
    let killed = Instant::now();
    client.server.restart_stdio();
    for task in &tasks {
        let ended = wait_for_status(&mut client, task, "completed");
        let (since_kill, in_all) = (killed.elapsed(), began.elapsed().as_millis());
        assert!(since_kill < Duration::from_millis(SLEEP), "{since_kill:?} after its host was killed");
        let slept: u128 = ended["result"]["content"][0]["text"].as_str().unwrap().parse().unwrap();
        assert!((u128::from(SLEEP)..=in_all).contains(&slept), "by its own clock {slept} of {in_all}");
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}
