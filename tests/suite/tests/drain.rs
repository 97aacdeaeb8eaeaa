//! Stopping: what runs comes to its end and its client hears of it; everything else goes at once.

use serde_json::json;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use suite::http::{Response, legacy, legacy_session, modern, request_at};
use suite::{Client, Era, Server, plugin};

/// The whole of it, whatever the clients do. The rest is for a busy machine to end the process.
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
    // Some say nothing before their answer; they have begun long before the last of the others has.
    let plain =
        |_| std::thread::spawn(move || suite::http::call(address, "slow-stream__run", json!({"n": 80}), false).good());
    let plain: Vec<_> = (0..4).map(plain).collect();
    let mut calls: Vec<_> = (0..20).map(|which| begin(address, which, 60)).collect();
    // One whose client lost its connection: it runs on, and its client may still come back for the rest.
    let params = json!({"name": "slow-stream__run", "arguments": {"n": 60}, "_meta": {"progressToken": 1}});
    let body = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params}).to_string();
    let last = legacy(address, &session, "POST", &[], &body).event().unwrap().id.unwrap();

    let told = Instant::now();
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
    assert!(told.elapsed() < ALL, "it took {:?}", told.elapsed());
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0, "an idle connection is closed");
}

#[test]
fn what_does_not_end_is_cut_off_in_time() {
    let (mut server, address) = Server::start_http(&plugin("slow-stream", "limits.deadline = \"1h\""));
    let mut calls: Vec<_> = (0..2).map(|which| begin(address, which, 9_000)).collect();
    let told = Instant::now();
    server.terminate();
    assert!(server.ended().success());
    assert!(told.elapsed() > ALL - SLACK, "it is given its time: {:?}", told.elapsed());
    assert!(told.elapsed() < ALL + SLACK, "it took {:?}", told.elapsed());
    for call in &mut calls {
        while call.event().is_some() {}
    }
    // The one whose client can come back is told what happened.
    let address = server.restart();
    assert_eq!(request_at(address, "GET", "/ready", &[], "").status, 200);
}

#[test]
fn told_twice_it_hurries() {
    let (mut server, address) = Server::start_http(&plugin("slow-stream", "limits.deadline = \"1h\""));
    let _calls: Vec<_> = (0..2).map(|which| begin(address, which, 9_000)).collect();
    let told = Instant::now();
    server.terminate();
    server.wait_for_log("stopping");
    server.terminate();
    assert!(server.ended().success());
    assert!(told.elapsed() < Duration::from_secs(5), "it took {:?}", told.elapsed());
}

#[test]
fn over_stdio_too() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&(plugin("slow-stream", "") + &plugin("echo", ""))), era, true);
        let ids: Vec<_> = (0..20).map(|_| client.begin_call("slow-stream__run", json!({"n": 20}))).collect();
        // Their order is that of the requests, so all of them have begun when this one is answered.
        client.check_alive();
        let told = Instant::now();
        client.server.terminate();
        client.server.wait_for_log("stopping");
        for id in ids {
            let answer = client.wait(id, told);
            assert_eq!(answer.result()["content"][0]["text"], "20 parts", "{era:?}");
        }
        assert!(client.server.ended().success());
        assert!(told.elapsed() < ALL, "{era:?}: it took {:?}", told.elapsed());
    }
}

#[test]
fn over_stdio_what_does_not_end_is_cut_off() {
    let mut client = Client::of(&(plugin("wait-forever", "limits.deadline = \"1h\"") + &plugin("echo", "")));
    client.begin_call("wait-forever__run", json!({}));
    client.check_alive();
    let told = Instant::now();
    client.server.terminate();
    client.server.wait_for_log("stopping");
    client.server.terminate();
    assert!(client.server.ended().success());
    assert!(told.elapsed() < Duration::from_secs(5), "it took {:?}", told.elapsed());
}
