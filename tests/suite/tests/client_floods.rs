//! Clients that repeat one message as fast as they can, over several connections: others are served, and little is held.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use suite::http::{legacy_session_of, request, request_at};
use suite::{
    Called, Era, Home, PATIENCE, Server, eventually, modern_meta, own_memory, paths, plugin, serving_process, soak,
};

/// What all connections of one client may make the host hold, in bytes.
const MOST_HELD: u64 = 64 << 20;
/// What one flood may write to the log, in bytes.
const MOST_LOGGED: usize = 1 << 20;
/// Bytes of a flood over stdio, in a whole run.
const MOST_SENT: usize = 20 << 20;
/// Connections that flood at once.
const CONNECTIONS: usize = 4;
/// Messages that are written at once.
const BURST: usize = 16;
/// Calls of a neighbour beside each flood, in a whole run.
const CALLS: usize = 60;

/// A message: its method, or none for what is no message with one, and its parameters or its text.
type Row = (&'static str, Option<&'static str>, &'static str);

const MODERN: &[Row] = &[
    ("discovery", Some("server/discover"), "{}"),
    ("lists of tools", Some("tools/list"), "{}"),
    ("lists of resources", Some("resources/list"), "{}"),
    ("lists of templates", Some("resources/templates/list"), "{}"),
    ("lists of prompts", Some("prompts/list"), "{}"),
    ("unknown resource", Some("resources/read"), r#"{"uri": "portcullis://published/nothing"}"#),
    ("unknown prompt", Some("prompts/get"), r#"{"name": "nothing"}"#),
    ("unknown tool", Some("tools/call"), r#"{"name": "nothing__run"}"#),
    ("wrong arguments", Some("tools/call"), r#"{"name": "echo__run", "arguments": 5}"#),
    ("calls", Some("tools/call"), r#"{"name": "echo__run", "arguments": {}}"#),
    (
        "completion",
        Some("completion/complete"),
        r#"{"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "a", "value": "b"}}"#,
    ),
    ("subscription", Some("subscriptions/listen"), r#"{"notifications": {"toolsListChanged": true}}"#),
    ("unknown task", Some("tasks/get"), r#"{"taskId": "nothing"}"#),
    ("update of a task", Some("tasks/update"), r#"{"taskId": "nothing", "inputResponses": {}}"#),
    ("cancellation of a task", Some("tasks/cancel"), r#"{"taskId": "nothing"}"#),
    ("steering", Some("dev.portcullis/steer"), r#"{"callId": "nothing", "content": "go"}"#),
    ("unknown request", Some("tools/fly"), "{}"),
    ("unknown notification", None, r#"{"jsonrpc": "2.0", "method": "notifications/odd", "params": {}}"#),
    ("cancellation", None, r#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}"#),
    ("no JSON", None, "{\"jsonrpc\":"),
    ("a batch", None, "[{}, {}]"),
];

const LEGACY: &[Row] = &[
    ("ping", Some("ping"), "{}"),
    (
        "another handshake",
        Some("initialize"),
        r#"{"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "0"}}"#,
    ),
    ("lists of tools", Some("tools/list"), "{}"),
    ("calls", Some("tools/call"), r#"{"name": "echo__run", "arguments": {}}"#),
    ("log level", Some("logging/setLevel"), r#"{"level": "debug"}"#),
    ("subscription", Some("resources/subscribe"), r#"{"uri": "portcullis://inbox"}"#),
    ("end of a subscription", Some("resources/unsubscribe"), r#"{"uri": "portcullis://inbox"}"#),
    ("unknown request", Some("tools/fly"), "{}"),
    ("initialized", None, r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#),
    ("roots changed", None, r#"{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}"#),
    (
        "progress",
        None,
        r#"{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}"#,
    ),
    ("cancellation", None, r#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}"#),
    ("an answer to nothing", None, r#"{"jsonrpc": "2.0", "id": 9, "result": {}}"#),
    ("an error to nothing", None, r#"{"jsonrpc": "2.0", "id": 9, "error": {"code": 1, "message": "no"}}"#),
];

fn header_lines(headers: &[(String, String)]) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
}

/// A message with this id, if it has one.
fn body((_, method, params): &Row, era: Era, id: u64) -> String {
    let Some(method) = method else { return (*params).to_owned() };
    let mut params: Value = serde_json::from_str(params).unwrap();
    if era == Era::Modern {
        params["_meta"] = modern_meta(false);
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The whole request over HTTP.
fn post(row: &Row, era: Era, headers: &[(String, String)]) -> String {
    let (mut lines, body) = (header_lines(headers), body(row, era, 1));
    if let (Some(method), Era::Modern) = (row.1, era) {
        lines += &format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
        let params: Value = serde_json::from_str(row.2).unwrap();
        if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
            lines += &format!("Mcp-Name: {name}\r\n");
        }
    }
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{lines}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Writes requests until told to stop, over connections of its own, and counts the bytes of the answers. A client that does not
/// read leaves them where they are.
fn flood(address: SocketAddr, burst: &[u8], reads: bool, stop: &AtomicBool, answered: &AtomicU64) {
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(address) else { continue };
        stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut answers = stream.try_clone().unwrap();
        thread::scope(|scope| {
            if reads {
                scope.spawn(move || {
                    let mut buffer = vec![0; 1 << 16];
                    while let Ok(read @ 1..) = answers.read(&mut buffer) {
                        answered.fetch_add(read as u64, Ordering::Relaxed);
                    }
                });
            }
            // What is not taken any more is no reason to go: that connection stays, full as it is.
            while !stop.load(Ordering::Relaxed) {
                match stream.write_all(burst) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock && !reads => {}
                    Err(_) => break,
                }
            }
            let _ = stream.shutdown(std::net::Shutdown::Both);
        });
    }
}

fn echo(address: SocketAddr, key: &str) {
    let params = json!({"name": "echo__run", "arguments": {"path": "Bob"}, "_meta": modern_meta(false)});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let (bearer, sent) = (format!("Bearer {key}"), Instant::now());
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "echo__run"),
        ("Authorization", &bearer),
    ];
    assert!(Called(request(address, "POST", &headers, &body).answer(1, sent)).good().contains("Bob"));
}

/// The slowest of the neighbour's calls, and of the looks at `/health`, beside this flood.
fn beside(address: SocketAddr, key: &str, burst: &[u8], reads: bool) -> (Duration, Duration) {
    let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| flood(address, burst, reads, &stop, &answered));
        }
        let is_under_way = || (!reads || answered.load(Ordering::Relaxed) > 0).then_some(());
        let (mut calls, mut looks) = (Duration::ZERO, Duration::ZERO);
        if eventually(PATIENCE, is_under_way).is_some() {
            for _ in 0..soak::share(CALLS) {
                let began = Instant::now();
                echo(address, key);
                calls = calls.max(began.elapsed());
                let began = Instant::now();
                assert_eq!(request_at(address, "GET", "/health", &[], "").status, 200);
                looks = looks.max(began.elapsed());
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(!calls.is_zero(), "nothing floods");
        (calls, looks)
    })
}

/// Returns the most that one of them made the server hold, in MiB.
fn floods(era: Era, rows: &[Row]) -> u64 {
    let home = Home::new();
    let keys = home.keys(["ann", "bob"]);
    let config = plugin("echo", "") + "[server.auth]\nkeys = \"keys.toml\"\n";
    let server = Server::measurable(home, &config, &["--http", "127.0.0.1:0"], |_| {});
    let address = server.address();
    server.wait_until_loaded();
    let bearer = format!("Bearer {}", keys[0]);
    let headers = match era {
        Era::Modern => vec![("Authorization".to_owned(), bearer)],
        Era::Legacy => legacy_session_of(address, false, "2025-11-25", &[("Authorization", &bearer)]),
    };
    echo(address, &keys[1]);
    let mut most = 0;
    for row in rows {
        let burst = post(row, era, &headers).repeat(BURST).into_bytes();
        for reads in [true, false] {
            server.forget_peak();
            let (before, log) = (server.memory(), server.log().len());
            let (calls, looks) = beside(address, &keys[1], &burst, reads);
            let held = server.peak_memory().saturating_sub(before);
            let logged = server.log().len() - log;
            println!(
                "hostile: client's flood of `{}`{} ({era:?}): {} MiB held, {} KiB of log, a neighbour's slowest call {calls:?}, \
                 /health {looks:?}",
                row.0,
                if reads { "" } else { ", reading nothing" },
                held >> 20,
                logged >> 10
            );
            assert!(held < MOST_HELD, "{}: {held} bytes", row.0);
            assert!(logged < MOST_LOGGED, "{}: {logged} bytes of log", row.0);
            most = most.max(held >> 20);
        }
    }
    most
}

#[test]
fn nothing_that_a_client_repeats_takes_much_or_stops_others() {
    let most = floods(Era::Modern, MODERN);
    println!("hostile: client floods: {most} MiB held at most, with {} messages", MODERN.len());
}

#[test]
fn nothing_that_a_session_repeats_takes_much_or_stops_others() {
    let most = floods(Era::Legacy, LEGACY);
    println!("hostile: session floods: {most} MiB held at most, with {} messages", LEGACY.len());
}

/// A server over stdio whose client reads nothing.
struct Unread {
    child: Child,
    stdin: ChildStdin,
    _home: Home,
}

impl Unread {
    fn start() -> Self {
        let home = Home::new();
        home.write("portcullis.toml", plugin("echo", ""));
        let mut command = Command::new(paths::binary());
        command.args(["serve", "--config", "portcullis.toml"]).current_dir(home.path());
        command.env("PORTCULLIS_CACHE", paths::cache()).env("PORTCULLIS_STATE", home.path().join("state"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        fcntl_setfl(&stdin, OFlags::NONBLOCK).unwrap();
        Self { child, stdin, _home: home }
    }

    /// Writes until the server reads nothing more, or so many bytes are written.
    fn flood(&mut self, row: &Row, most: usize) {
        let (mut sent, mut rest, mut ids) = (0, Vec::new(), 0..);
        while sent < most {
            if rest.is_empty() {
                let some = ids.by_ref().take(BURST).map(|id| body(row, Era::Modern, id) + "\n");
                rest = some.collect::<String>().into_bytes();
            }
            let wait = Timespec { tv_sec: 1, tv_nsec: 0 };
            if poll(&mut [PollFd::new(&self.stdin, PollFlags::OUT)], Some(&wait)).unwrap() == 0 {
                return;
            }
            match self.stdin.write(&rest) {
                Ok(written) => {
                    sent += written;
                    rest.drain(..written);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{}: the server has ended: {error}", row.0),
            }
        }
    }

    fn memory(&self) -> u64 {
        own_memory(serving_process(self.child.id()))
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nothing_that_a_client_repeats_over_stdio_and_does_not_read_takes_much() {
    let before = own_memory(Server::measurable(Home::new(), &plugin("echo", ""), &[], |_| {}).id());
    let mut most = 0;
    for row in MODERN {
        let mut server = Unread::start();
        server.flood(row, soak::share(MOST_SENT));
        let held = server.memory().saturating_sub(before);
        println!("hostile: client's flood of `{}` over stdio, reading nothing: {} MiB held", row.0, held >> 20);
        assert!(held < MOST_HELD, "{}: {held} bytes", row.0);
        most = most.max(held >> 20);
    }
    println!("hostile: stdio floods: {most} MiB held at most, with {} messages", MODERN.len());
}
