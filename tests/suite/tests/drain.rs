//! Shutdown: running calls finish and are answered; everything else is closed at once.

use crate::endings::verdicts;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use suite::http::{Response, legacy, legacy_session, modern, request_at};
use suite::{Client, Era, Home, Server, paths, plugin};

/// The drain limit, whatever the clients do. `SLACK` allows for a busy machine.
const ALL: Duration = Duration::from_secs(10);
const SLACK: Duration = Duration::from_secs(2);

fn begin(address: SocketAddr, which: u64, n: u64) -> Response {
    let params = json!({"name": "slow-stream__run", "arguments": {"n": n}, "_meta": {"progressToken": which}});
    let mut response = if which.is_multiple_of(2) {
        modern(address, which, "tools/call", params, true)
    } else {
        let body = json!({"jsonrpc": "2.0", "id": which, "method": "tools/call", "params": params});
        legacy(address, &legacy_session(address, true), "POST", &[], &body.to_string())
    };
    assert!(response.message().is_some(), "it runs");
    response
}

#[test]
fn twenty_calls_in_flight_are_answered() {
    let (mut server, address) = Server::start_http(&plugin("slow-stream", ""));
    let session = legacy_session(address, false);
    let mut own = legacy(address, &session, "GET", &[], "");
    assert!(own.event().is_some());
    let mut idle = TcpStream::connect(address).unwrap();
    // These calls send nothing before their answer; they start long before the last of the others.
    let plain =
        |_| std::thread::spawn(move || suite::http::call(address, "slow-stream__run", json!({"n": 80}), false).good());
    let plain: Vec<_> = (0..4).map(plain).collect();
    let mut calls: Vec<_> = (0..20).map(|which| begin(address, which, 60)).collect();
    // The client of this call loses its connection: the call keeps running, and the client may still resume it.
    let params = json!({"name": "slow-stream__run", "arguments": {"n": 60}, "_meta": {"progressToken": 1}});
    let body = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params}).to_string();
    let last = legacy(address, &session, "POST", &[], &body).event().unwrap().id.unwrap();

    let signalled = Instant::now();
    server.terminate();
    server.wait_for_log("stopping");
    assert!(own.event().is_none(), "a session's own stream is closed");
    let mut ready = suite::eventually(suite::PATIENCE, || {
        Some(request_at(address, "GET", "/ready", &[], "")).filter(|ready| ready.status == 503)
    });
    assert_eq!(ready.as_mut().unwrap().message(), Some(json!({"status": "stopping"})));
    assert_eq!(request_at(address, "GET", "/health", &[], "").status, 200);
    let refused = modern(address, 1, "tools/list", json!({}), false);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    calls.push(legacy(address, &session, "GET", &[("Last-Event-ID", &last)], ""));
    for (mut call, id) in calls.into_iter().zip((0..20).chain([99])) {
        let answer = std::iter::from_fn(|| call.message()).find(|message| message["id"] == id);
        assert_eq!(answer.unwrap()["result"]["content"][0]["text"], "60 parts", "call {id}");
    }
    for call in plain {
        assert_eq!(call.join().unwrap(), "80 parts");
    }
    assert!(server.ended().success());
    assert!(signalled.elapsed() < ALL, "it took {:?}", signalled.elapsed());
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0, "an idle connection is closed");
}

#[test]
fn calls_that_do_not_end_are_cut_off_at_the_deadline() {
    let (mut server, address) = Server::start_http(&plugin("slow-stream", "limits.deadline = \"1h\""));
    let mut calls: Vec<_> = (0..2).map(|which| begin(address, which, 9_000)).collect();
    let signalled = Instant::now();
    server.terminate();
    assert!(server.ended().success());
    assert!(signalled.elapsed() > ALL - SLACK, "it is given its time: {:?}", signalled.elapsed());
    assert!(signalled.elapsed() < ALL + SLACK, "it took {:?}", signalled.elapsed());
    for call in &mut calls {
        while call.event().is_some() {}
    }
    // The server can be started again.
    let address = server.restart();
    assert_eq!(request_at(address, "GET", "/ready", &[], "").status, 200);
}

#[test]
fn a_second_signal_stops_the_server_at_once() {
    let (mut server, address) = Server::start_http(&plugin("slow-stream", "limits.deadline = \"1h\""));
    let _calls: Vec<_> = (0..2).map(|which| begin(address, which, 9_000)).collect();
    let signalled = Instant::now();
    server.terminate();
    server.wait_for_log("stopping");
    server.terminate();
    assert!(server.ended().success());
    assert!(signalled.elapsed() < Duration::from_secs(5), "it took {:?}", signalled.elapsed());
    let cancelled = ("plugins.slow-stream".to_owned(), "cancelled".to_owned());
    assert_eq!(verdicts(&server.home), [cancelled.clone(), cancelled], "both are in the audit");
}

#[test]
fn calls_in_flight_are_answered_over_stdio() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&(plugin("slow-stream", "") + &plugin("echo", ""))), era, true);
        let ids: Vec<_> = (0..20).map(|_| client.begin_call("slow-stream__run", json!({"n": 20}))).collect();
        // Requests are processed in order, so all calls have started when this one is answered.
        client.check_alive();
        let signalled = Instant::now();
        client.server.terminate();
        client.server.wait_for_log("stopping");
        for id in ids {
            let answer = client.wait(id, signalled);
            assert_eq!(answer.result()["content"][0]["text"], "20 parts", "{era:?}");
        }
        assert!(client.server.ended().success());
        assert!(signalled.elapsed() < ALL, "{era:?}: it took {:?}", signalled.elapsed());
    }
}

#[test]
fn a_second_signal_cuts_off_a_call_over_stdio() {
    let mut client = Client::of(&(plugin("wait-forever", "limits.deadline = \"1h\"") + &plugin("echo", "")));
    client.begin_call("wait-forever__run", json!({}));
    client.check_alive();
    let signalled = Instant::now();
    client.server.terminate();
    client.server.wait_for_log("stopping");
    client.server.terminate();
    assert!(client.server.ended().success());
    assert!(signalled.elapsed() < Duration::from_secs(5), "it took {:?}", signalled.elapsed());
}

/// Such as one whose client, or log collector, has ended. The log lines are lost, and nothing else.
#[test]
fn a_server_whose_log_nobody_reads_goes_on_and_stops() {
    let home = Home::new();
    let file = home.write("portcullis.toml", plugin("panic", ""));
    let (reader, log) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(paths::binary());
    command.args(["serve", "--config"]).arg(file).current_dir(home.path());
    command.env("PORTCULLIS_CACHE", paths::cache()).env("PORTCULLIS_STATE", home.path().join("state"));
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for id in 0..3 {
        let params = json!({"name": "panic__run", "arguments": {}, "_meta": meta});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        writeln!(server.stdin.as_ref().unwrap(), "{request}").unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert!(answer["id"] == id && answer["result"]["isError"] == true, "{answer}");
    }
    assert!(Command::new("kill").arg(server.id().to_string()).status().unwrap().success());
    let ended = suite::eventually(suite::PATIENCE, || server.try_wait().unwrap());
    if ended.is_none() {
        server.kill().unwrap();
    }
    assert!(ended.is_some_and(|ended| ended.success()), "it stops when it is told to");
}
