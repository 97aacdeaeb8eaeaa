//! Many names, handshakes and ids, and one endless line: the host keeps nothing of what nobody needs.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use suite::http::{legacy, legacy_session};
use suite::{Client, Home, PATIENCE, Server, plugin, soak};

/// In a whole run.
const MANY: usize = 100_000;
/// What the host's memory may grow by.
const KEPT: u64 = 32 << 20;
/// Sent without waiting for answers.
const AT_ONCE: u64 = 100;

/// How many, and what the host's memory may grow by meanwhile. With a tenth of them, the allocator's own pages count for more.
fn many() -> (u64, u64) {
    (soak::share(MANY) as u64, if soak::is_whole() { KEPT } else { 8 << 20 })
}

fn server(arguments: &[&str]) -> Server {
    Server::measurable(Home::new(), &plugin("echo", ""), arguments, |_| {})
}

/// Does something so often; returns by how much the server's memory grew after the first tenth.
fn grown(many: u64, memory: impl Fn() -> u64, mut some: impl FnMut(u64)) -> u64 {
    (0..many / 10).step_by(AT_ONCE as usize).for_each(&mut some);
    let before = memory();
    (many / 10..many).step_by(AT_ONCE as usize).for_each(&mut some);
    memory().saturating_sub(before)
}

#[test]
fn nothing_is_kept_of_names() {
    let client = std::cell::RefCell::new(Client::of_server(server(&[])));
    let memory = || client.borrow().server.memory();
    let (many, bound) = many();
    let kept = grown(many, memory, |from| {
        let (mut client, sent) = (client.borrow_mut(), Instant::now());
        let ids: Vec<_> =
            (from..from + AT_ONCE).map(|name| client.begin_call(&format!("tool{name}__run"), json!({}))).collect();
        for id in ids {
            assert_eq!(client.wait(id, sent).error_code(), -32602);
        }
    });
    println!("hostile: names: {} KiB kept of {many} names of tools", kept >> 10);
    assert!(kept <= bound, "{} MiB", kept >> 20);
}

/// Sends all these messages over one connection without waiting, and returns the answers.
fn pipelined(stream: &mut TcpStream, bodies: impl Iterator<Item = Value>) -> String {
    let one = |body: Value| {
        let body = body.to_string();
        let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
        format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let requests: Vec<String> = bodies.map(one).collect();
    stream.write_all(requests.concat().as_bytes()).unwrap();
    let (mut answers, mut buffer) = (String::new(), vec![0; 1 << 16]);
    while answers.matches("HTTP/1.1 ").count() < requests.len() {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "the connection ended: {answers}");
        answers += &String::from_utf8_lossy(&buffer[..read]);
    }
    answers
}

#[test]
fn nothing_is_kept_of_handshakes() {
    let server = server(&["--http", "127.0.0.1:0"]);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (many, bound) = many();
    let kept = grown(
        many,
        || server.memory(),
        |from| {
            let one = |number: u64| json!({"jsonrpc": "2.0", "id": number, "method": "initialize", "params": {"protocolVersion": number}});
            let answers = pipelined(&mut stream, (from..from + AT_ONCE).map(one));
            assert!(
                !answers.contains("HTTP/1.1 200") && !answers.to_ascii_lowercase().contains("\nmcp-session-id:"),
                "{answers}"
            );
        },
    );
    println!("hostile: handshakes: {} KiB kept of {many} that go wrong", kept >> 10);
    assert!(kept <= bound, "{} MiB", kept >> 20);
}

#[test]
fn abandoned_sessions_leave_the_others_alone() {
    let server = server(&["--http", "127.0.0.1:0"]);
    let address = server.address();
    let live: Vec<_> = (0..3).map(|_| legacy_session(address, false)).collect();
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}).to_string();
    let all_live = || live.iter().all(|session| legacy(address, session, "POST", &[], &ping).status == 200);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let before = server.memory();
    server.forget_peak();
    let (many, _) = many();
    let (mut opened, begun) = (0, Instant::now());
    for from in (0..many).step_by(AT_ONCE as usize) {
        // Each is a whole handshake, and nobody comes back for its session.
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
        let hello = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params});
        let answers = pipelined(&mut stream, (from..from + AT_ONCE).map(hello));
        let (good, refused) = (answers.matches("HTTP/1.1 200").count(), answers.matches("HTTP/1.1 503").count());
        assert_eq!(good + refused, AT_ONCE as usize, "{answers}");
        opened += good;
        assert!(from % 1_000 != 0 || all_live(), "after {from}");
    }
    assert!(all_live(), "after all");
    let kept = server.peak_memory().saturating_sub(before);
    println!("hostile: sessions: {} KiB held at most for {many} abandoned ones, {opened} were opened", kept >> 10);
    assert!(kept <= KEPT, "{} MiB", kept >> 20);
    // One principal may have half of a thousand, and on a slow machine new ones take the places of those that are idle for 30 s.
    let turns = 1 + begun.elapsed().as_secs() / 30;
    assert!(opened > 400 && opened as u64 <= 500 * turns, "{opened} sessions in {turns} times 30 s");
}

#[test]
fn ten_thousand_ids_have_nothing_in_common() {
    let mut client = Client::of_server(server(&[]));
    let (mut ids, mut beginnings, mut ends) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for _ in 0..10_000 / AT_ONCE {
        let sent = Instant::now();
        let calls: Vec<_> = (0..AT_ONCE).map(|n| client.begin_call("echo__run", json!({"n": n}))).collect();
        for call in calls {
            let answer = client.wait(call, sent);
            let id = answer.result()["_meta"]["dev.portcullis/call"].as_str().unwrap().to_owned();
            assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
            // Two of 10,000 random numbers of 64 bits are the same once in 10^11 times.
            assert!(beginnings.insert(id[..16].to_owned()) && ends.insert(id[16..].to_owned()), "{id}");
            ids.insert(id);
        }
    }
    assert_eq!(ids.len(), 10_000);
}

#[test]
fn a_line_of_100_mib_is_not_kept() {
    let mut client = Client::of_server(server(&[]));
    client.check_alive();
    let before = client.server.memory();
    let (answer, grown) = client.measured(|client| {
        client.server.send_raw(&vec![b'x'; 100 << 20]);
        client.server.receive(Duration::from_secs(60))
    });
    assert!(answer.is_some_and(|(_, message)| message["error"].is_object()));
    // A line may have 16 MiB, and its buffer grows by doubling.
    assert!(grown <= 48 << 20, "{} MiB held while it came", grown >> 20);
    let kept = || client.server.memory().saturating_sub(before);
    suite::eventually(Duration::from_secs(10), || (kept() <= 8 << 20).then_some(()));
    println!("hostile: line: {} KiB kept of a line of 100 MiB, {} KiB held while it came", kept() >> 10, grown >> 10);
    assert!(kept() <= 8 << 20, "{} MiB kept", kept() >> 20);
    client.check_alive();
}

/// A text of many small values takes a hundred times as much memory as the text, and requests that take long keep theirs.
#[test]
fn large_messages_over_stdio_are_weighed_before_they_are_parsed() {
    let mut client = Client::of_server(server(&[]));
    client.check_alive();
    let objects = "{\"a\":0},".repeat(1 << 20) + "0";
    let (_, grown) = client.measured(|client| {
        for head in ["\"id\":4711,\"method\":\"tools/list\"", "\"method\":\"notifications/progress\""] {
            let text = format!("{{\"jsonrpc\":\"2.0\",{head},\"params\":{{\"x\":[{objects}]}}}}\n");
            client.server.send_raw(text.as_bytes());
        }
        let (_, refused) = client.server.receive(PATIENCE).expect("a refusal");
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(4711), &json!(-32600)), "{refused}");
        client.check_alive();
    });
    assert!(grown <= 64 << 20, "{} MiB for small objects", grown >> 20);
    let (most, padding) = (256 << 20, "x".repeat(12 << 20));
    let (ids, held) = client.measured(|client| {
        let listen = json!({"notifications": {"toolsListChanged": true}, "x": padding});
        let ids: Vec<_> = (0..20).map(|_| client.begin("subscriptions/listen", listen.clone())).collect();
        client.check_alive();
        ids
    });
    let served = ids.iter().filter(|id| !client.is_answered(**id)).count();
    assert_eq!(served, most / (24 << 20), "a text counts twice: as it is sent, and parsed");
    println!("hostile: large requests: {} MiB held of 20 requests of 12 MiB over stdio that take long", held >> 20);
    assert!(held <= most as u64, "{} MiB", held >> 20);
}
