//! The same over stdio, where a server reads many requests at once.

use super::{config, home, journal, records, requests, sent, sent_by, stable};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use suite::client::modern_meta;
use suite::{Client, Era, Home, PATIENCE, Server, Watch, eventually, paths, plugin};

/// Requests that are sent at once.
const BATCH: usize = 16;
/// Until something is in the log that has happened.
const SOON: Duration = Duration::from_secs(20);
const ENDLESS: &str = "limits.fuel = 1_000_000_000_000_000\nlimits.deadline = \"1h\"";

/// Only the ordinary way serves the first request, which tells rmcp how the client speaks.
fn opening() -> Value {
    listing("opening")
}

fn listing(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": modern_meta(false)}})
}

/// With a field that only the ordinary way knows, and ignores.
fn with_unknown_field(line: &str) -> String {
    line.replace(r#""_meta":{"#, r#""_meta":{"unknown":1,"#).replace(",}", "}")
}

/// The id of a line that is certainly answered. Others are answered at once, or never.
fn id_of_request(line: &str) -> Option<String> {
    if line.matches("\"id\":").count() > 1 {
        // Which of them counts is what is compared.
        return None;
    }
    let message: Value = serde_json::from_str(line).ok()?;
    (message["jsonrpc"] == "2.0" && message["method"].is_string()).then(|| message["id"].to_string())
}

/// Sends the lines in batches. The answers by id, for each id in a fixed order.
fn exchange(server: &mut Server, lines: &[String]) -> BTreeMap<String, Vec<Value>> {
    server.send(&opening());
    for batch in lines.chunks(BATCH) {
        server.send_raw(batch.join("\n").as_bytes());
    }
    // The end of the input would leave running calls little time.
    // One idle moment may be that of a call that sleeps, or of a busy machine: it has to answer in between.
    let (mut received, mut open): (Vec<Value>, BTreeSet<String>) =
        (Vec::new(), lines.iter().filter_map(|line| id_of_request(line)).collect());
    while !open.is_empty() {
        let (_, answer) = server.receive(PATIENCE).unwrap_or_else(|| {
            let missing = lines.iter().find(|line| open.iter().any(|id| line.contains(id)));
            panic!("no answer to {open:?}, {missing:?}\n{}", server.log())
        });
        open.remove(&answer["id"].to_string());
        received.push(answer);
    }
    for id in ["idle", "still idle", "idle at the end"] {
        Watch::start(server).until_idle(server);
        server.send(&listing(id));
        while received.last().is_none_or(|answer: &Value| answer["id"] != id) {
            let (_, answer) = server.receive(PATIENCE).unwrap_or_else(|| panic!("no answer\n{}", server.log()));
            received.push(answer);
        }
    }
    let mut answers = BTreeMap::<_, Vec<Value>>::new();
    for mut answer in received.into_iter().chain(server.rest()) {
        stable(&mut answer);
        answers.entry(answer["id"].to_string()).or_default().push(answer);
    }
    answers.values_mut().for_each(|answers| answers.sort_by_key(Value::to_string));
    answers
}

#[test]
fn nobody_can_tell_which_way_a_call_went() {
    let calls = [requests::calls(), requests::changed(), requests::declared()].into_iter().flatten();
    // Each request has an id of its own. One whose id was damaged is tried over HTTP.
    let numbered = calls.enumerate().filter(|(_, sent)| sent.body.matches("\"id\":7,").count() == 1);
    let direct: Vec<_> =
        numbered.map(|(at, sent)| sent.body.replace("\"id\":7,", &format!("\"id\":{},", 1000 + at))).collect();
    let ordinary: Vec<_> = direct.iter().map(|line| with_unknown_field(line)).collect();
    let [mut near, mut far] = [(); 2].map(|()| Server::start_in(home(), &config()));
    let (one, other) = (exchange(&mut near, &direct), exchange(&mut far, &ordinary));
    for (id, answers) in &one {
        let line = direct.iter().find(|line| line.contains(&format!("\"id\":{id},")));
        assert_eq!(Some(answers), other.get(id), "{line:?}");
    }
    assert_eq!(one.len(), other.len());
    let good = one.values().filter(|answers| answers[0]["result"]["isError"] == json!(false)).count();
    assert!(good > 150, "{good} of {} requests were good", direct.len());
    let (one, other) = (records(&near), records(&far));
    assert!(one == other && one.len() > good, "audit records");
}

/// Without it, every other test here would say nothing.
#[test]
fn a_plain_call_goes_past_rmcp() {
    let server = Server::spawn(Home::new(), &plugin("echo", ""), &[], |command| {
        command.env("PORTCULLIS_LOG", "rmcp=debug");
    });
    let mut client = Client::of_server(server);
    client.check_alive();
    let call = |client: &mut Client| {
        let id = client.begin_call("echo__run", json!({"path": "Ada"}));
        assert_eq!(client.wait(id, Instant::now()).result()["isError"], false);
        format!("received request id={id} ")
    };
    let direct: Vec<_> = (0..8).map(|_| call(&mut client)).collect();
    client.progress = true;
    let ordinary = call(&mut client);
    let logged = eventually(SOON, || client.server.log().contains(&ordinary).then_some(()));
    logged.expect("a client that reads progress needs events");
    // Nothing is logged later that was received before.
    let log = client.server.log();
    assert!(direct.iter().all(|line| !log.contains(line)), "{log}");
}

/// The client asked for a session, in which questions are requests of the server.
#[test]
fn nothing_goes_past_rmcp_in_a_session() {
    let server = Server::spawn(Home::new(), &plugin("echo", ""), &[], |command| {
        command.env("PORTCULLIS_LOG", "rmcp=debug");
    });
    let mut client = Client::new(server, Era::Legacy, false);
    client.server.send_raw(sent("echo__run", json!({"path": "Ada"})).body.replace("\"id\":7", "\"id\":900").as_bytes());
    client.wait(900, Instant::now()).result();
    let received = || client.server.log().contains("received request id=900").then_some(());
    eventually(SOON, received).expect("rmcp gets it");
}

/// A client in whose session a call computes, and the call's id.
fn spinning() -> (Client, u64) {
    let mut client = Client::of(&(plugin("spin", ENDLESS) + &plugin("echo", "")));
    client.check_alive();
    let before = client.server.cpu();
    let id = client.begin_call("spin__run", json!({}));
    super::wait_until_computing(&client.server, before);
    (client, id)
}

#[test]
fn a_cancelled_call_is_recorded_with_its_cost_and_not_answered() {
    let (mut client, id) = spinning();
    client.cancel(id);
    eventually(SOON, || client.server.log().contains("cancelled").then_some(())).expect("it is cancelled");
    // Its id is free again at once.
    let again = sent("echo__run", json!({"path": "Ada"})).body.replace("\"id\":7", &format!("\"id\":{id}"));
    client.server.send_raw(again.as_bytes());
    assert_eq!(client.wait(id, Instant::now()).result()["isError"], false);
    client.check_alive();
    let answers = client.server.rest();
    assert!(answers.iter().all(|answer| answer["id"] != id), "{answers:?}");
    assert_cancelled(&client.server);
}

fn assert_cancelled(server: &Server) {
    let journal = journal(server);
    let record = journal.iter().find(|record| record["outcome"] == "cancelled").expect("a record");
    assert!(record["fuel"].as_u64().unwrap() > 1_000_000, "{record}");
}

#[test]
fn a_call_that_outlives_its_client_is_cancelled_and_recorded_with_its_cost() {
    let (mut client, id) = spinning();
    let left = Instant::now();
    let answers = client.server.rest();
    assert!(left.elapsed() < Duration::from_secs(10), "it took {:?}", left.elapsed());
    assert!(answers.iter().any(|answer| answer["id"] == id && answer["result"]["isError"] == true), "{answers:?}");
    assert_cancelled(&client.server);
}

#[test]
fn calls_are_answered_after_the_end_of_the_input() {
    let mut server = Server::start(&plugin("slow-stream", ""));
    server.send(&opening());
    for id in 0..20 {
        let call = sent("slow-stream__run", json!({"n": 20})).body.replace("\"id\":7", &format!("\"id\":{id}"));
        server.send_raw(call.as_bytes());
    }
    let answers = server.rest();
    let texts = answers.iter().filter(|answer| answer["result"]["content"][0]["text"] == "20 parts");
    assert_eq!(texts.count(), 20, "{answers:?}");
}

#[test]
fn a_second_signal_ends_a_call_and_it_is_answered() {
    let (mut client, id) = spinning();
    client.server.terminate();
    client.server.wait_for_log("stopping");
    client.server.terminate();
    let answer = client.wait(id, Instant::now());
    assert!(answer.result().to_string().contains(r#""code":"cancelled""#));
    assert!(client.server.ended().success());
    assert_cancelled(&client.server);
}

/// Two requests with one id break the protocol. Both are answered, whichever way they go.
#[test]
fn an_id_that_is_used_twice_is_answered_twice() {
    let mut server = Server::start(&plugin("slow-stream", ""));
    server.send(&opening());
    let call = sent("slow-stream__run", json!({"n": 10})).body;
    server.send_raw(format!("{call}\n{call}").as_bytes());
    let answers = server.rest();
    assert_eq!(answers.iter().filter(|answer| answer["id"] == 7).count(), 2, "{answers:?}");
}

/// Lines that end in any way, and one that does not end.
#[test]
fn lines_may_end_as_on_any_system() {
    let mut server = Server::start(&plugin("echo", ""));
    server.send(&opening());
    let line = |id: u64| sent("echo__run", json!({"path": "Ada"})).body.replace("\"id\":7", &format!("\"id\":{id}"));
    server.send_raw(format!("{}\r\n\r\n\n  {}  ", line(1), line(2)).as_bytes());
    server.send_raw(format!("\u{feff}{}", line(3)).as_bytes());
    let answers = server.rest();
    for id in 1..=3 {
        assert!(answers.iter().any(|answer| answer["id"] == id && answer["result"]["isError"] == false), "{answers:?}");
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_is_served() {
    let mut server = Server::start(&plugin("echo", ""));
    server.send(&opening());
    server.send_raw(&vec![b'x'; 17 << 20]);
    server.send_raw(sent("echo__run", json!({"path": "Ada"})).body.as_bytes());
    let memory = server.memory();
    let answers = server.rest();
    let refused = answers.iter().find(|answer| answer["id"].is_null()).expect("a refusal");
    assert!(refused["error"]["message"].as_str().unwrap().contains("longer than 16 MiB"), "{refused}");
    assert!(answers.iter().any(|answer| answer["id"] == 7), "{answers:?}");
    assert!(memory < 160 << 20, "{memory} bytes");
}

/// A client that sends and does not read makes the server wait, not grow.
#[test]
fn answers_that_nobody_reads_do_not_fill_the_memory() {
    const CALLS: usize = 4_000;
    let home = Home::new();
    let config = home.write("portcullis.toml", plugin("echo", "limits.queue = 4_000"));
    let mut command = Command::new(paths::binary());
    command.args(["serve", "--config"]).arg(config).env("PORTCULLIS_CACHE", paths::cache());
    command.env("PORTCULLIS_STATE", home.path().join("state")).env_remove("RUST_BACKTRACE");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let call = sent_by("echo__run", json!({"path": "x".repeat(32 << 10)}), "{}").body;
    let numbered = |id: usize| {
        let line = call.replace("\"id\":7", &format!("\"id\":{id}")) + "\n";
        if id.is_multiple_of(2) { line } else { with_unknown_field(&line) }
    };
    let lines = opening().to_string() + "\n" + &(0..CALLS).map(numbered).collect::<String>();
    // The end of the input would leave running calls little time.
    let writing = std::thread::spawn(move || {
        input.write_all(lines.as_bytes()).unwrap();
        input
    });
    let resident = || {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", suite::serving_process(child.id()))).unwrap();
        statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let mut last = 0;
    let mut peak = 0;
    // It has stopped when its memory no longer changes.
    eventually(PATIENCE, || {
        let now = resident();
        peak = peak.max(now);
        std::thread::sleep(Duration::from_millis(300));
        (std::mem::replace(&mut last, now) == now && now > 40 << 20).then_some(())
    });
    assert!(peak < 250 << 20, "{peak} bytes");
    assert!(!writing.is_finished(), "the server has read everything");
    let mut answers = BufReader::new(output).lines().map(Result::unwrap).filter(|line| !line.contains("opening"));
    for answer in answers.by_ref().take(CALLS) {
        assert!(answer.contains(r#""isError":false"#), "{}", &answer[..answer.len().min(300)]);
    }
    drop(writing.join().unwrap());
    assert_eq!(answers.next(), None);
    assert!(child.wait().unwrap().success());
}
