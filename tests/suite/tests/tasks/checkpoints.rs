//! Calls that save checkpoints, and whose host is killed behind each: they go on, and get nothing anew.

use super::crash::World;
use super::{answers, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use suite::{PATIENCE, eventually};

/// Runs an errand that saves after each line. Whenever it asks, its host is killed, if so wanted, and it is answered. Returns
/// how it ended, or that it waits for fuel, and the keys of its questions.
fn run(mut world: World, lines: &str, killed: bool) -> (Value, BTreeSet<String>) {
    let mut client = world.start(None);
    // The first line takes until the call is a task.
    let path = format!("get WEB/first\n{lines}").replace("WEB", &world.web.url(""));
    let call = json!({"name": "errand__run", "arguments": {"path": path, "n": 1}});
    // On a busy machine it may ask before it is a task. Such a call is left alone.
    let begin = || client.request("tools/call", call.clone()).result()["taskId"].as_str().map(str::to_owned);
    let task = eventually(PATIENCE, begin).unwrap_or_else(|| panic!("no call becomes a task"));
    let mut answered = BTreeSet::new();
    loop {
        let keys = |task: &Value| -> Vec<String> {
            task["inputRequests"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
        };
        let asks = |task: &Value| keys(task).iter().any(|key| !answered.contains(key));
        let waits_for_fuel =
            |task: &Value| task["statusMessage"].as_str().is_some_and(|text| text.starts_with("Paused: all "));
        let now = wait_for(&mut client, &task, |task| {
            asks(task)
                || waits_for_fuel(task)
                || !["working", "input_required"].contains(&task["status"].as_str().unwrap_or_default())
        });
        if !asks(&now) {
            return (now, answered);
        }
        if killed {
            client.server.restart_stdio();
        }
        let asked = keys(&now);
        let responses = answers(&asked.iter().map(|key| (&**key, "Ada")).collect::<Vec<_>>());
        answered.extend(asked);
        client.request("tasks/update", json!({"taskId": task, "inputResponses": responses})).result();
    }
}

fn text(ended: &Value) -> &str {
    ended["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{ended}"))
}

#[test]
fn what_a_call_is_charged_is_what_it_has_used() {
    let lines = "burn 40000000\nget WEB/a\nask\nburn 40000000\nget WEB/a\nask\nappend log a;\nask";
    let [plain, killed] = [false, true].map(|killed| run(World::with("", ""), lines, killed));
    assert_eq!(text(&plain.0), text(&killed.0));
    assert_eq!(plain.1, killed.1, "the keys of questions go on");
    assert_eq!(plain.1.len(), 3, "{:?}", plain.1);
    let usage = |ended: &Value| ended["result"]["_meta"]["dev.portcullis/usage"].clone();
    let (plain, killed) = (usage(&plain.0), usage(&killed.0));
    assert_eq!(plain["questions"], killed["questions"], "{plain} {killed}");
    let fuel = |usage: &Value| usage["fuel"].as_f64().unwrap_or_else(|| panic!("{usage}"));
    assert!(fuel(&plain) > 4e7, "{plain}");
    assert!((fuel(&plain) / fuel(&killed) - 1.0).abs() < 0.02, "{plain} {killed}");
}

/// The output of a task as its resource shows it, and what its result says of its chunks.
#[test]
fn what_a_call_has_said_before_a_checkpoint_stays_with_its_task() {
    let lines = "say one\nask\nsay two\nsay three\nask\nask\nsay four\nask\nsay five";
    let [plain, killed] = [false, true].map(|killed| run(World::with("", ""), lines, killed));
    let said = |(ended, _): &(Value, BTreeSet<String>)| {
        let summary = &ended["result"]["_meta"]["dev.portcullis/stream"];
        [&summary["chunks"], &summary["dropped"], &summary["sha256"]].map(Value::clone)
    };
    assert_eq!(said(&plain)[..2], [json!(5), json!(0)], "{}", plain.0);
    assert_eq!(said(&plain), said(&killed), "{}", killed.0);
    assert_eq!(text(&plain.0), text(&killed.0), "chunks keep their numbers");
}

#[test]
fn a_process_that_begins_at_a_checkpoint_shows_what_was_said_before() {
    let mut client = World::with("", "").start(None);
    let call = json!({"name": "errand__run", "arguments": {"path": "say one\nsay two\nask\nsay three", "n": 1}});
    let task = eventually(PATIENCE, || {
        client.request("tools/call", call.clone()).result()["taskId"].as_str().map(str::to_owned)
    });
    let task = task.unwrap_or_else(|| panic!("no call becomes a task"));
    let mut answer: Vec<String> = Vec::new();
    for expected in [vec!["one", "two"], vec!["one", "two", "three"]] {
        if let Some(key) = answer.pop() {
            let responses = answers(&[(&*key, "Ada")]);
            client.request("tasks/update", json!({"taskId": task, "inputResponses": responses})).result();
        }
        let now = wait_for(&mut client, &task, |task| task["status"] != "working");
        answer.extend(now["inputRequests"].as_object().into_iter().flatten().map(|(key, _)| key.clone()));
        client.server.restart_stdio();
        // The process takes the task up first. What was said before a checkpoint that the kill prevented is said again.
        let shown = eventually(PATIENCE, || {
            let read = client.request("resources/read", json!({"uri": format!("portcullis://tasks/{task}")}));
            let shown = read.result()["contents"][0]["text"].as_str().unwrap();
            let shown: Value = serde_json::from_str(shown).unwrap();
            let said = shown["output"]["chunks"].as_array().map_or(0, Vec::len);
            (said >= expected.len()).then_some(shown)
        });
        let shown = shown.unwrap_or_else(|| panic!("no output\n{}", client.server.log()));
        let output = &shown["output"];
        let chunks = output["chunks"].as_array().unwrap();
        let said: Vec<_> = chunks.iter().map(|chunk| chunk["content"][0]["text"].as_str().unwrap()).collect();
        assert_eq!((said.len(), &output["dropped"], said), (expected.len(), &json!(0), expected), "{shown}");
    }
}

/// Each of its instances asks for the seed of its hash maps where the one before did not.
#[test]
fn a_call_with_hash_maps_goes_on_behind_its_checkpoints() {
    let lines = "map\nmap-and-ask\nask\nmap-and-ask\nmap\nappend log a;\nask";
    let [plain, killed] = [false, true].map(|killed| run(World::with("", ""), lines, killed));
    assert_eq!(text(&plain.0), text(&killed.0));
    assert_eq!(plain.1, killed.1, "nothing is asked twice");
}

#[test]
fn a_call_that_saves_gets_no_limit_anew() {
    let often = |line: &str| format!("{line}\nask\n").repeat(6);
    for (limits, line, said) in [
        ("limits.fuel = 150000000", "burn 15000000", "fuel"),
        ("limits.questions = 4", "size log", "questions"),
        ("limits.metering = \"ticks\"\nlimits.cpu = \"150ms\"", "burn 400000000", "units of fuel"),
    ] {
        let (ended, _) = run(World::with(limits, ""), &often(line), true);
        assert!(ended.to_string().contains(said), "{limits}: {ended}");
        let is_done = ended["status"] == "completed" && ended["result"]["isError"] == false;
        assert!(!is_done, "{limits}: {ended}");
    }
    let (ended, _) = run(World::with("", ", requests = 4"), &often("get WEB/a"), true);
    let (sent, refused) = (text(&ended).matches("get: 201").count(), text(&ended).matches("get: failed").count());
    assert_eq!((sent, refused), (4, 3), "{ended}");
}
