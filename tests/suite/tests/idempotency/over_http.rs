//! Over HTTP: connections that are lost, other principals, sessions.

use super::{KEY, buy, call, code, config, is_repeated, orders, taken, unmarked};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;
use suite::client::modern_meta;
use suite::http::{legacy, legacy_session, request, request_at};
use suite::{Answer, Home, PATIENCE, Server, eventually, portcullis};

fn headers<'a>(params: &'a Value, further: &[(&'static str, &'a str)]) -> Vec<(&'static str, &'a str)> {
    let name = params["name"].as_str().unwrap();
    let own = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", name)];
    own.into_iter().chain(further.iter().copied()).collect()
}

fn body(params: &Value, extension: bool) -> String {
    let mut params = params.clone();
    let key = params["_meta"][KEY].take();
    params["_meta"] = modern_meta(extension);
    if !key.is_null() {
        params["_meta"][KEY] = key;
    }
    if extension {
        params["_meta"]["dev.portcullis/partialResultToken"] = json!(1);
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

fn post(address: SocketAddr, params: &Value, further: &[(&'static str, &str)]) -> Answer {
    let sent = Instant::now();
    request(address, "POST", &headers(params, further), &body(params, false)).answer(1, sent)
}

/// Sends a request, and closes the connection once the order was taken.
fn lose(address: SocketAddr, home: &Home, params: &Value, extension: bool) {
    let before = orders(home);
    let body = body(params, extension);
    let mut head = format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n", body.len());
    head += "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";
    for (name, value) in headers(params, &[]) {
        head += &format!("{name}: {value}\r\n");
    }
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    eventually(PATIENCE, || (orders(home) > before).then_some(())).unwrap();
}

#[test]
fn a_call_whose_connection_was_lost_goes_on_to_its_end() {
    let (server, address) = Server::start_http(&config(""));
    let params = buy("k", "wait 1000");
    lose(address, &server.home, &params, false);
    let again = post(address, &params, &[]);
    assert!(is_repeated(&again));
    assert_eq!(again.result()["content"][0]["text"], "order 1 under k");
    assert_eq!(unmarked(&post(address, &params, &[])), unmarked(&again));
    assert_eq!(orders(&server.home), 1);
    // What it gives out meanwhile is nobody's, and stops nothing.
    let params = buy("l", "chunk 500");
    lose(address, &server.home, &params, true);
    let again = post(address, &params, &[]);
    assert_eq!(again.result()["content"][0]["text"], "order 2 under l", "{}", again.message);
    // Without a key it is cancelled.
    let params = json!({"name": "order__buy", "arguments": {"how": "spin"}});
    lose(address, &server.home, &params, false);
    suite::Watch::start(&server).until_idle(&server);
}

#[test]
fn a_host_that_stops_says_that_it_cancelled_the_call() {
    let (mut server, address) = Server::start_http(&config(""));
    let params = buy("k", "spin");
    lose(address, &server.home, &params, false);
    server.terminate();
    assert!(server.ended().success(), "{}", server.log());
    let address = server.restart();
    let again = post(address, &params, &[]);
    assert_eq!(code(&again), "cancelled", "{}", again.message);
    assert_eq!(orders(&server.home), 1);
}

#[test]
fn sessions_and_requests_without_one_have_the_same_keys() {
    let (server, address) = Server::start_http(&config(""));
    let session = legacy_session(address, false);
    let params = buy("k", "wait 300");
    let message = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}).to_string();
    let in_session = || legacy(address, &session, "POST", &[], &message).answer(5, Instant::now());
    let first = in_session();
    assert!(!is_repeated(&first));
    let again = in_session();
    assert!(is_repeated(&again) && unmarked(&again)["content"] == first.result()["content"]);
    let modern = post(address, &params, &[]);
    assert!(is_repeated(&modern));
    assert_eq!(modern.result()["content"], first.result()["content"]);
    assert_eq!(orders(&server.home), 1);
}

#[test]
fn a_key_belongs_to_its_principal() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]).map(|key| format!("Bearer {key}"));
    let (server, address) = Server::start_http_in(home, &config("auth.keys = \"keys.toml\""));
    let of = |key: &str, params: &Value| post(address, params, &[("Authorization", key)]);
    let hers = of(&alice, &buy("k", ""));
    let his = of(&bob, &buy("k", ""));
    assert!(!is_repeated(&his), "hers is as if it did not exist");
    assert_ne!(hers.result()["content"], his.result()["content"]);
    assert!(
        !is_repeated(&of(&bob, &buy("l", "wait 1"))) && !is_repeated(&of(&alice, &buy("l", ""))),
        "other arguments"
    );
    for (key, first) in [(&alice, &hers), (&bob, &his)] {
        let again = of(key, &buy("k", ""));
        assert!(is_repeated(&again) && unmarked(&again) == *first.result());
    }
    assert_eq!(taken(&server.home), ["k", "k", "l", "l"]);
}

#[test]
fn many_at_once_run_once() {
    let (server, address) = Server::start_http(&config(""));
    let params = buy("k", "wait 700");
    let sent: Vec<_> = (0..20)
        .map(|_| {
            let params = params.clone();
            std::thread::spawn(move || post(address, &params, &[]))
        })
        .collect();
    let answers: Vec<_> = sent.into_iter().map(|sent| sent.join().unwrap()).collect();
    assert_eq!(answers.iter().filter(|answer| !is_repeated(answer)).count(), 1);
    assert!(answers.iter().all(|answer| unmarked(answer) == unmarked(&answers[0])));
    assert_eq!(orders(&server.home), 1);
}

/// It would run again what it does not know of.
#[test]
fn with_a_damaged_store_nothing_runs_under_a_key() {
    let (mut server, address) = Server::start_http(&config(""));
    post(address, &buy("k", ""), &[]).result();
    server.kill();
    let state = server.home.path().join("state");
    for file in ["durable.db-wal", "durable.db-shm"] {
        let _ = fs::remove_file(state.join(file));
    }
    fs::write(state.join("durable.db"), "this is no database, and never was one".repeat(200)).unwrap();
    let address = server.restart();
    let mut ready = request_at(address, "GET", "/ready", &[], "");
    assert_eq!(ready.status, 503);
    let ready = ready.message().unwrap();
    assert_eq!(ready["status"], "no-storage");
    assert!(ready["storage"].as_str().unwrap().contains("durable.db"), "{ready}");
    for key in ["k", "another"] {
        assert_eq!(post(address, &buy(key, ""), &[]).error_code(), -32603);
    }
    let only = call("order__only", "k", json!({"how": ""}));
    assert_eq!(post(address, &only, &[]).error_code(), -32603, "nor a task");
    assert_eq!(orders(&server.home), 1);
    let mut without = buy("k", "");
    without["_meta"] = json!({});
    post(address, &without, &[]).result();
    assert_eq!(orders(&server.home), 2, "without a key it is a call as any");
    let file = server.home.path().join("portcullis.toml").display().to_string();
    let ran = portcullis(&server.home, &["serve", "--strict", "--config", &file]);
    assert!(ran.refused().contains("durable.db"), "{ran:?}");
}
