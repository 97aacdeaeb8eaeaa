//! Crowds of connections that send nothing, or little, or read nothing: others are served all the same, and nobody who is
//! being served is cut off.

use serde_json::json;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use suite::http::{call, modern, request_at};
use suite::{Called, Home, Server, plugin};

/// Descriptors of the server, of which five eighths are for connections.
const DESCRIPTORS: usize = 256;
/// Connections of the crowd: more than the server may have.
const CROWD: usize = 400;

/// Starts it with few descriptors. A confined process hides from an ordinary user how many it has.
fn server(home: Home, config: &str) -> (Server, SocketAddr) {
    let server = Server::spawn(home, config, &["--no-confine", "--http", "127.0.0.1:0"], |command| {
        let mut limited = Command::new("prlimit");
        limited
            .arg(format!("--nofile={DESCRIPTORS}:{DESCRIPTORS}"))
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        }
        limited.current_dir(command.get_current_dir().unwrap());
        limited.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        *command = limited;
    });
    let address = server.address();
    (server, address)
}

/// Opens the crowd. Each member sends this; the server may close it at any moment.
fn crowd(address: SocketAddr, sent: &[u8]) -> Vec<TcpStream> {
    let member = |number| {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(9));
        let mut stream = stream.unwrap_or_else(|error| panic!("number {number} is kept out: {error}"));
        let _ = stream.write_all(sent);
        stream
    };
    (0..CROWD).map(member).collect()
}

#[test]
fn others_are_served_beside_every_crowd() {
    let (server, address) = server(Home::new(), &plugin("echo", ""));
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let body = format!("{head}Content-Length: 1000\r\n\r\n{{\"jsonrpc\":");
    let (mut served, mut longest) = (0, Duration::ZERO);
    let asking = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(50);
    for (what, sent) in
        [("nothing", ""), ("half a head", head), ("half a body", &body), ("questions, and reads no answer", &asking)]
    {
        let members = crowd(address, sent.as_bytes());
        for _ in 0..20 {
            let began = Instant::now();
            assert_eq!(request_at(address, "GET", "/health", &[], "").status, 200, "beside a crowd that sends {what}");
            assert!(call(address, "echo__run", json!({"path": "Ada"}), false).good().contains("Ada"));
            longest = longest.max(began.elapsed());
            served += 1;
        }
        assert!(server.descriptors() <= DESCRIPTORS / 8 * 5 + 40, "{} descriptors", server.descriptors());
        drop(members);
    }
    println!("hostile: crowds: {served} of {served} served beside {CROWD} connections, the longest in {longest:?}");
}

#[test]
fn nobody_who_is_being_served_is_cut_off() {
    let (_server, address) = server(Home::new(), &(plugin("slow-stream", "") + &plugin("echo", "")));
    let (params, sent) =
        (json!({"name": "slow-stream__run", "arguments": {"n": 240}, "_meta": {"progressToken": 1}}), Instant::now());
    // Its answer has begun when this returns. It takes longer than a first request may take to come.
    let streaming = modern(address, 1, "tools/call", params, false);
    let members = crowd(address, b"");
    assert!(call(address, "echo__run", json!({"path": "Ada"}), false).good().contains("Ada"));
    assert_eq!(Called(streaming.answer(1, sent)).good(), "240 parts");
    drop(members);
}
