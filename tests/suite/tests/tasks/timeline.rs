//! The picture of a task's call: its steps with those of calls below it, what it used over time, and the live view.

use super::{Started, abilities, answers, client, config, start, started, steer, wait_for, wait_for_status};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use suite::web::{Reply, Web};
use suite::{
    Client, Era, Home, PATIENCE, Server, agent, eventually, paths, plugin, plugin_from, portcullis, with_manifest,
};

fn run(client: &Client, arguments: &[&str]) -> String {
    portcullis(&client.server.home, arguments).good().to_owned()
}

fn timeline(client: &Client, task: &str) -> Value {
    let shown = run(client, &["task", "show", task, "--timeline", "--json"]);
    serde_json::from_str::<Value>(&shown).unwrap()["timeline"].clone()
}

fn steps(timeline: &Value) -> &Vec<Value> {
    timeline["steps"].as_array().unwrap_or_else(|| panic!("{timeline}"))
}

/// Each sample has at least as much fuel as the one before. Returns the last.
fn last_sample(timeline: &Value) -> Option<(u64, u64)> {
    let samples = timeline["samples"].as_array().unwrap();
    let number = |sample: &Value, name: &str| sample[name].as_u64().unwrap_or_else(|| panic!("{sample}"));
    for pair in samples.windows(2) {
        let of = |name| (number(&pair[0], name), number(&pair[1], name));
        assert!(of("fuel").0 <= of("fuel").1 && of("at").0 <= of("at").1, "{samples:?}");
    }
    samples.last().map(|last| (number(last, "fuel"), number(last, "memory")))
}

#[test]
fn the_steps_of_a_nested_call_are_shown_below_the_step_that_made_it() {
    let tasks = "[server.tasks]\ninline = \"50ms\"\n\n".to_owned();
    let config = tasks
        + &plugin("pass-on", "grants.agent-tools = [\"*.*\"]\nlimits.deadline = \"10m\"")
        + &agent("job", "job", "limits.deadline = \"10m\"");
    let mut client = client(&config);
    let call = json!({"name": "pass-on__run", "arguments": {"path": "job.run>chunk below"}});
    let task = started(&client.request("tools/call", call)).task;
    let is_below = |step: &&Value| step["depth"] == 1 && step["import"] == "poll.block";
    let polls = |client: &Client| {
        let polled = |timeline: &Value| steps(timeline).iter().find(is_below).and_then(|step| step["ends"].as_u64());
        eventually(PATIENCE, || polled(&timeline(client, &task))).expect("it waits below")
    };
    let before = polls(&client);
    client.server.restart_stdio();
    eventually(PATIENCE, || (polls(&client) > before).then_some(())).expect("it goes on");
    client.request("tasks/cancel", json!({"taskId": task})).result();
    wait_for_status(&mut client, &task, "cancelled");

    let timeline = timeline(&client, &task);
    let (mut above, mut ended) = (Vec::<&Value>::new(), timeline["begins"].as_u64().unwrap());
    for step in steps(&timeline) {
        let (depth, begins) = (step["depth"].as_u64().unwrap() as usize, step["begins"].as_u64().unwrap());
        above.truncate(depth);
        assert_eq!(above.len(), depth, "what is above comes before: {timeline}");
        assert!(above.iter().all(|above| above["begins"].as_u64().unwrap() <= begins), "{timeline}");
        ended = ended.max(begins);
        above.push(step);
    }
    assert!(ended <= timeline["until"].as_u64().unwrap(), "{timeline}");
    let at = steps(&timeline).iter().position(|step| step["import"] == "agent-tools.call").unwrap();
    let (call, below) = (&steps(&timeline)[at], &steps(&timeline)[at + 1]);
    assert_eq!((&call["name"], &call["waits"]), (&json!("job.run"), &json!(false)), "{timeline}");
    assert_eq!((&below["depth"], &below["import"]), (&json!(1), &json!("output.emit")), "{timeline}");
    assert!(timeline["waited"].as_u64() >= Some(1_000), "{timeline}");
    assert!(!timeline.to_string().contains("chunk below"), "no arguments: {timeline}");

    let shown = run(&client, &["task", "show", &task, "--timeline"]);
    assert!(shown.contains("  agent-tools.call job.run") && shown.contains("    poll.block x"), "{shown}");
    let (_, picture) = shown.split_once("timeline ").unwrap();
    assert!(picture.contains('░') && picture.contains('█') && picture.contains("fuel used"), "{shown}");
    assert!(picture.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

/// Whoever asks why a task could not go on wants to know what it had done.
#[test]
fn a_task_that_was_lost_keeps_its_picture() {
    let home = Home::new();
    let job = std::fs::read(paths::guest("job")).unwrap();
    let component = home.write("job.wasm", &job);
    let config = "[server.tasks]\ninline = \"50ms\"\n\n".to_owned() + &plugin_from("job", &component, "");
    let mut client = Client::able(Server::start_in(home, &config), Era::Modern, false, abilities());
    let task = start(&mut client, "chunk a piece").task;
    wait_for(&mut client, &task, |task| task["statusMessage"] == "a piece");
    client.server.kill();
    // A custom section, which changes nothing that it does.
    client.server.home.write("job.wasm", [job, b"\0\x02\x01x".to_vec()].concat());
    client.server.restart_stdio();
    wait_for_status(&mut client, &task, "failed");
    let timeline = timeline(&client, &task);
    assert!(steps(&timeline).iter().any(|step| step["import"] == "output.emit"), "{timeline}");
}

/// Its path and query may be secrets.
#[test]
fn of_a_request_its_method_and_host_are_shown() {
    let is_task = Arc::new(AtomicBool::new(false));
    let may_answer = is_task.clone();
    let web = Web::serve(move |_| {
        eventually(PATIENCE, || may_answer.load(Ordering::SeqCst).then_some(()));
        Reply::new(200, "fine")
    });
    let allow = format!("GET http://127.0.0.1:{}", web.address.port());
    let manifest = json!({"name": "fetcher", "version": "0.1.0", "requests": {"http": [allow]}});
    let home = Home::new();
    let component = with_manifest(std::fs::read(paths::guest("fetcher")).unwrap(), &manifest);
    let grants = format!("grants.http = [{{ allow = \"{allow}\", private = true }}]");
    let fetcher = plugin_from("fetcher", &home.write("fetcher.wasm", component), &grants);
    let server = Server::start_in(home, &format!("[server.tasks]\ninline = \"0s\"\n\n{fetcher}"));
    let mut client = Client::able(server, Era::Modern, false, abilities());
    let request = format!("GET {}\nauthorization: hidden", web.url("/hidden?of=hidden"));
    let called = client.request("tools/call", json!({"name": "fetcher__run", "arguments": {"path": request}}));
    let task = started(&called).task;
    is_task.store(true, Ordering::SeqCst);
    let ended = wait_for_status(&mut client, &task, "completed");
    assert!(ended["result"]["content"][0]["text"].as_str().unwrap().contains("fine"), "{ended}");
    let timeline = timeline(&client, &task);
    let asked = steps(&timeline).iter().find(|step| step["import"] == "http.handle").unwrap();
    assert_eq!((&asked["name"], &asked["waits"]), (&json!("GET 127.0.0.1"), &json!(true)), "{timeline}");
    assert!(asked["ends"].is_u64() && !timeline.to_string().contains("hidden"), "{timeline}");
}

/// The picture of a question is the same however often its call was begun again.
#[test]
fn a_question_waits_from_its_first_moment_also_while_its_call_is_suspended() {
    let no_room = config("parked = { calls = 0, per-principal = 0 }");
    let mut client = client(&no_room);
    let task = start(&mut client, "names").task;
    let open = |client: &Client| {
        let timeline = timeline(client, &task);
        let open = steps(&timeline).iter().find(|step| step["import"] == "client.ask")?.clone();
        (open["ends"].is_null() && open["waits"] == true).then(|| open["begins"].as_u64())?
    };
    let asked = eventually(PATIENCE, || open(&client)).expect("it waits");
    client.server.restart_stdio();
    assert_eq!(open(&client), Some(asked));
    let update = json!({"taskId": task, "inputResponses": answers(&[("first", "Al"), ("second", "Bo")])});
    client.request("tasks/update", update).result();
    wait_for_status(&mut client, &task, "completed");
    let timeline = timeline(&client, &task);
    let answered = steps(&timeline).iter().find(|step| step["import"] == "client.ask").unwrap();
    assert_eq!(answered["begins"], asked, "{timeline}");
    assert!(answered["took"].as_u64() <= timeline["waited"].as_u64() && answered["ends"].is_u64(), "{timeline}");
    assert!(last_sample(&timeline).is_some(), "also of a call that was short: {timeline}");
}

#[test]
fn what_a_task_uses_is_seen_over_time_and_over_a_kill() {
    let job = plugin("job", "grants.client = { form = true, roots = true }\nlimits.deadline = \"10m\"");
    let tasks = "[server.tasks]\ninline = \"50ms\"\n\n".to_owned() + &job;
    let mut client = client(&tasks);
    let task = start(&mut client, "wait");
    let compute = |client: &mut Client, more: u64| {
        let before = last_sample(&timeline(client, &task.task)).map_or(0, |(fuel, _)| fuel);
        steer(client, &task, "compute 20000000");
        let grows = || last_sample(&timeline(client, &task.task)).filter(|(fuel, _)| *fuel >= before + more);
        eventually(PATIENCE, grows).expect("it is stored while it runs")
    };
    let (used, memory) = compute(&mut client, 20_000_000);
    assert!(memory > 64 << 10, "{memory}");
    let listed = run(&client, &["task", "watch"]);
    let row = listed.lines().find(|line| line.starts_with(&task.task[..8])).unwrap_or_else(|| panic!("{listed}"));
    assert!(row.contains("working") && row.contains("job__only") && row.contains("local"), "{listed}");
    client.server.restart_stdio();
    wait_until_steered(&mut client, &task);
    let (again, _) = last_sample(&timeline(&client, &task.task)).unwrap();
    assert!(again >= used, "a run that begins again takes nothing back");
    compute(&mut client, 20_000_000);
    steer(&mut client, &task, "stop");
    let ended = wait_for_status(&mut client, &task.task, "completed");
    let (fuel, memory) = last_sample(&timeline(&client, &task.task)).unwrap();
    assert_eq!((&json!(fuel), memory), (&ended["_meta"]["dev.portcullis/usage"]["fuel"], 0), "{ended}");
    client.server.kill();
    assert_eq!(last_sample(&timeline(&client, &task.task)), Some((fuel, memory)), "kept as long as the task");
}

/// It has its instance all the time.
#[test]
fn a_task_that_waits_is_not_sampled() {
    let mut client = client(&config(""));
    let task = start(&mut client, "names").task;
    wait_for_status(&mut client, &task, "input_required");
    let passes = |seconds: u64| {
        let begun = Instant::now();
        eventually(PATIENCE, || (begun.elapsed() >= Duration::from_secs(seconds)).then_some(())).unwrap();
    };
    // What it did before is stored by then.
    passes(3);
    let (before, cpu) = (timeline(&client, &task)["samples"].clone(), client.server.cpu());
    assert!(before.as_array().is_some_and(|samples| !samples.is_empty()), "{before}");
    passes(4);
    assert_eq!(timeline(&client, &task)["samples"], before);
    assert!(client.server.cpu() - cpu < Duration::from_millis(200), "{:?}", client.server.cpu() - cpu);
}

/// A task that a new process serves is steered once its call runs.
fn wait_until_steered(client: &mut Client, task: &Started) {
    let message = json!({"call": task.call, "message": "report here again"});
    eventually(PATIENCE, || client.request("dev.portcullis/steer", message.clone()).message.get("result").map(drop));
    wait_for(client, &task.task, |task| task["statusMessage"] == "here again");
}

#[test]
fn what_guests_say_cannot_control_a_terminal() {
    let mut client = client(&config(""));
    let task = start(&mut client, "report \u{1b}[2Jred\u{7}\nsecond line");
    wait_for(&mut client, &task.task, |task| task["statusMessage"].is_string());
    for arguments in
        [&["task", "watch"][..], &["task", "watch", &task.task], &["task", "show", &task.task, "--timeline"]]
    {
        let shown = run(&client, arguments);
        assert!(shown.contains(r"\u{1b}[2Jred\u{7}\nsecond line"), "{shown:?}");
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    }
}

/// `script` gives it a terminal.
#[test]
fn at_a_terminal_it_is_drawn_until_a_key_ends_it_and_leaves_the_terminal_as_it_was() {
    let mut client = Client::able(Server::start(&config("")), Era::Modern, false, abilities());
    let task = start(&mut client, "report \u{1b}[2Jred");
    for arguments in ["watch".to_owned(), format!("watch {}", task.task)] {
        let program = format!("{} task {arguments}", paths::binary().display());
        let mut command = Command::new("script");
        command.args(["-qec", &program, "/dev/null"]).current_dir(client.server.home.path());
        command.env("PORTCULLIS_STATE", client.server.home.path().join("state"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script of util-linux");
        let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (mut seen, mut part) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&seen).contains("\x1b[J") {
            let read = screen.read(&mut part).unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&seen));
            seen.extend(&part[..read]);
        }
        keys.write_all(b"xq").unwrap();
        screen.read_to_end(&mut seen).unwrap();
        let status = eventually(PATIENCE, || child.try_wait().unwrap()).expect("a key ends it");
        let seen = String::from_utf8_lossy(&seen);
        assert!(status.success() && seen.contains("job__only"), "{status} {seen:?}");
        let (enter, leave) = ("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H", "\x1b[?7h\x1b[?25h\x1b[?1049l");
        assert!(seen.contains(enter) && seen.trim_end().ends_with(leave), "{seen:?}");
        assert!(
            !seen.contains("\x1b[2J") && !seen.contains("xq"),
            "it never clears the screen, and shows no keys: {seen:?}"
        );
    }
}
