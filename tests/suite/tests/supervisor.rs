//! A client over stdio goes on when the process that serves it is killed, or replaced: its supervisor starts another one.

mod signals;

use crate::idempotency::{buy, code, config, is_repeated, orders, send};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;
use suite::{Client, Era, Home, PATIENCE, Server, eventually, modern_meta, paths, plugin, portcullis, serving_process};

const TOOLS: &str = "notifications/tools/list_changed";

/// An order without a key.
fn order(how: &str) -> Value {
    json!({"name": "order__buy", "arguments": {"how": how}})
}

fn wait_for_orders(client: &Client, count: usize) {
    eventually(PATIENCE, || (orders(&client.server.home) == count).then_some(())).expect("an order");
}

/// The session log, in the memory of the supervisor.
fn session_log(server: &Server) -> PathBuf {
    let open = fs::read_dir(format!("/proc/{}/fd", server.started())).unwrap().flatten().map(|entry| entry.path());
    let is_one =
        |path: &PathBuf| fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("portcullis-session"));
    open.into_iter().find(is_one).expect("the session log of a supervisor")
}

fn wait_until_logged(server: &Server, text: &str) {
    let is_there = || {
        let log = fs::read(session_log(server)).unwrap();
        log.windows(text.len()).any(|part| part == text.as_bytes()).then_some(())
    };
    eventually(PATIENCE, is_there).unwrap_or_else(|| panic!("{text} is not logged"));
}

fn is_gone(process: u32) -> bool {
    eventually(PATIENCE, || (!fs::exists(format!("/proc/{process}")).unwrap()).then_some(())).is_some()
}

fn ended(server: &mut Server) -> ExitStatus {
    let serving = server.id();
    let status = server.ended();
    assert!(is_gone(serving), "the process that serves goes on");
    status
}

#[test]
fn a_client_goes_on_when_its_server_is_killed() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&config("")), era, false);
        assert_eq!(client.tools().len(), 3);
        let first = client.server.id();
        let call = client.begin("tools/call", order("wait 60000"));
        wait_for_orders(&client, 1);
        client.server.kill_serving();
        let answer = client.wait(call, Instant::now());
        assert_eq!(code(&answer), "outcome-unknown", "{era:?}");
        assert!(answer.result()["content"][0]["text"].as_str().unwrap().contains("it was not run again"));
        assert_ne!(client.server.id(), first);
        // Who lists the tools before is not told.
        if era == Era::Legacy {
            client.wait_for(TOOLS);
        }
        assert_eq!(client.tools().len(), 3);
        assert_eq!(send(&mut client, &order("")).result()["content"][0]["text"], "order 2 under none");
        assert!(client.server.end().success());
        client.server.wait_for_log("SIGKILL");
    }
}

#[test]
fn calls_with_keys_go_on_as_after_any_restart() {
    let mut client = Client::of(&config(""));
    let begun = client.begin("tools/call", buy("begun", "wait 60000"));
    wait_for_orders(&client, 1);
    let untouched = client.begin("tools/call", buy("untouched", "gate"));
    let are_claimed =
        || portcullis(&client.server.home, &["storage", "check"]).good().contains("  records: 2\n").then_some(());
    eventually(PATIENCE, are_claimed).expect("two keys");
    client.server.kill_serving();
    let answer = client.wait(begun, Instant::now());
    assert!(code(&answer) == "outcome-unknown" && is_repeated(&answer));
    client.server.home.write("work/gate", "");
    let answer = client.wait(untouched, Instant::now());
    assert_eq!(answer.result()["content"][0]["text"], "order 2 under untouched");
    assert_eq!(orders(&client.server.home), 2);
}

#[test]
fn a_parked_call_is_resumed_in_the_next_process() {
    let mut client = Client::able(Server::start(&config("")), Era::Modern, false, json!({"elicitation": {"form": {}}}));
    let asked = send(&mut client, &order("ask")).result().clone();
    assert_eq!(asked["resultType"], "input_required");
    client.server.kill_serving();
    let mut answered = order("ask");
    answered["requestState"] = asked["requestState"].clone();
    answered["inputResponses"] = json!({"ok": {"action": "accept", "content": {"ok": true}}});
    assert_eq!(send(&mut client, &answered).result()["content"][0]["text"], "order 1 under none");
}

/// Both processes number what they ask from the same number on.
#[test]
fn an_answer_to_a_process_that_was_killed_answers_nothing_else() {
    let grants = "grants.client.form = true\n";
    let abilities = json!({"elicitation": {}});
    let mut client = Client::able(Server::start(&plugin("ask", grants)), Era::Legacy, false, abilities);
    let ask = |client: &mut Client| {
        let call = client.begin_call("ask__run", json!({"path": "form"}));
        (call, client.wait_for("elicitation/create")["id"].clone())
    };
    let (call, old) = ask(&mut client);
    wait_until_logged(&client.server, &format!("q{old}"));
    client.server.kill_serving();
    assert_eq!(client.wait_for("notifications/cancelled")["params"]["requestId"], old);
    assert_eq!(code(&client.wait(call, Instant::now())), "outcome-unknown");
    let (call, new) = ask(&mut client);
    assert_ne!(old, new);
    for (id, name) in [(old, "Eve"), (new, "Ada")] {
        let result = json!({"action": "accept", "content": {"name": name}});
        client.server.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }
    let answer = client.wait(call, Instant::now());
    assert!(answer.result()["content"][0]["text"].as_str().unwrap().contains("Ada"), "{}", answer.message);
}

#[test]
fn a_line_is_read_by_two_processes() {
    let mut client = Client::of(&plugin("echo", ""));
    client.check_alive();
    let request = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/list", "params": {"_meta": modern_meta(false)}});
    let text = request.to_string();
    let (begin, end) = text.split_at(text.len() / 2);
    client.server.send_part(begin.as_bytes());
    wait_until_logged(&client.server, begin);
    client.server.kill_serving();
    client.server.send_raw(end.as_bytes());
    assert!(client.wait(77, Instant::now()).result()["tools"].is_array());
}

/// A client that reads slowly has a part of an answer when the process is killed that writes it.
#[test]
fn a_line_that_was_being_written_ends() {
    let home = Home::new();
    let file = home.write("portcullis.toml", plugin("echo", ""));
    let mut command = Command::new(paths::binary());
    command.args(["serve", "--config"]).arg(file).env("PORTCULLIS_CACHE", paths::cache());
    command.env("PORTCULLIS_STATE", home.path().join("state"));
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut input, mut output) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
    let mut send = |id: u64, method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = modern_meta(false);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}").unwrap();
    };
    // Far more than a pipe holds.
    send(1, "tools/call", json!({"name": "echo__run", "arguments": {"path": "x".repeat(1 << 20)}}));
    let mut begin = [0; 10];
    output.read_exact(&mut begin).unwrap();
    let serving = serving_process(server.id()).to_string();
    assert!(Command::new("kill").args(["-9", &serving]).status().unwrap().success());
    send(2, "tools/list", json!({}));
    let lines: Vec<_> =
        output.lines().map(Result::unwrap).map(|line| serde_json::from_str::<Value>(&line).ok()).take(3).collect();
    assert!(lines[0].is_none(), "the rest of the line that was cut off");
    let answers: Vec<_> = lines[1..].iter().flatten().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert!(answers.contains(&1) && answers.contains(&2), "{lines:?}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_subscription_goes_on() {
    let mut client = Client::of(&plugin("echo", ""));
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let id = client.begin("subscriptions/listen", wanted);
    let meta = "io.modelcontextprotocol/subscriptionId";
    for kills in 0..3 {
        if kills > 0 {
            client.server.kill_serving();
        }
        let told = client.wait_for("notifications/subscriptions/acknowledged");
        assert_eq!(told["params"]["_meta"][meta], id);
        if kills > 0 {
            assert_eq!(client.wait_for(TOOLS)["params"]["_meta"][meta], id, "another process may have other tools");
        }
    }
    assert!(!client.is_answered(id));
}

#[test]
fn a_client_over_stdio_is_told_when_its_server_serves_over_http() {
    let mut client = Client::of(&config(""));
    assert_eq!(client.tools().len(), 3);
    client.server.home.write("portcullis.toml", config("http = \"127.0.0.1:0\""));
    client.server.kill_serving();
    assert_eq!(client.server.ended().code(), Some(1));
    client.server.wait_for_log("serves over HTTP now");
}

/// The session log is a file that becomes long, although it takes little memory.
#[test]
fn where_files_have_a_limit_there_is_no_supervisor() {
    let home = Home::new();
    let program =
        home.write("limited", format!("#!/bin/sh\nulimit -f 16384\nexec {} \"$@\"\n", paths::binary().display()));
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut client = Client::of_server(Server::of_program(home, &program, &plugin("echo", "")));
    client.check_alive();
    assert_eq!(client.server.id(), client.server.started());
}

#[test]
fn arguments_may_end_with_two_dashes() {
    let mut client = Client::of_server(Server::spawn(Home::new(), &plugin("echo", ""), &["--"], |_| {}));
    client.check_alive();
    client.server.kill_serving();
    client.check_alive();
}

#[test]
fn processes_that_are_killed_again_and_again_are_not_replaced_for_ever() {
    let mut client = Client::of(&plugin("echo", ""));
    for _ in 0..5 {
        client.check_alive();
        client.server.kill_serving();
    }
    client.check_alive();
    client.server.kill_serving();
    assert_eq!(client.server.ended().code(), Some(128 + 9));
    assert!(client.server.log().contains("so no other is started"), "{}", client.server.log());
}

#[test]
fn without_a_supervisor_the_server_ends() {
    let server = Server::spawn(Home::new(), &plugin("echo", ""), &["--no-supervisor"], |_| {});
    server.wait_until_loaded();
    let mut client = Client::of_server(server);
    client.check_alive();
    assert_eq!(client.server.id(), client.server.started());
    client.server.kill();
    assert!(client.try_request("tools/list", json!({})).is_none());
}

/// What is logged of a client that has sent much, and has all answers, is removed.
#[test]
fn the_log_of_a_long_session_stays_short() {
    const MOST: u64 = 2 << 20;
    let mut client = Client::of(&plugin("echo", ""));
    for _ in 0..400 {
        client.run("echo", json!({"path": "x".repeat(32 << 10)})).good();
    }
    let memory = fs::metadata(session_log(&client.server)).unwrap().blocks() * 512;
    println!("{memory} bytes of session log after 13 MB of requests");
    assert!(memory < MOST, "{memory} bytes");
}
