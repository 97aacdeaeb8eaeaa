//! Streamable HTTP: which requests are accepted, and how they are answered.

use serde_json::{Value, json};
use std::net::SocketAddr;
use suite::client::modern_meta;
use suite::http::{self, request};
use suite::{Server, plugin};

fn start() -> (Server, SocketAddr) {
    Server::start_http(&(plugin("echo", "") + &plugin("slow-stream", "")))
}

fn list_body() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta(false)}}).to_string()
}

const MODERN: [(&str, &str); 2] = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];

fn list_with(address: SocketAddr, extra: &[(&str, &str)]) -> u16 {
    let headers: Vec<_> = MODERN.iter().chain(extra).copied().collect();
    request(address, "POST", &headers, &list_body()).status
}

#[test]
fn requests_with_a_foreign_origin_or_host_are_refused() {
    let (_server, address) = start();
    assert_eq!(list_with(address, &[]), 200);
    for origin in ["http://evil.example", "http://127.0.0.1.evil.example", "https://localhost.evil.example", "null"] {
        assert_eq!(list_with(address, &[("Origin", origin)]), 403, "{origin}");
    }
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "169.254.169.254"] {
        assert_eq!(list_with(address, &[("Host", host)]), 403, "{host}");
    }
    let port = address.port();
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        assert_eq!(list_with(address, &[("Host", &host)]), 200, "{host}");
    }
}

#[test]
fn one_endpoint_serves_both_protocol_eras() {
    let (_server, address) = start();
    let called = http::call(address, "echo__run", json!({"n": 1}), false);
    assert!(called.good().contains('1'));
    let session = http::legacy_session(address, false);
    let headers: Vec<_> = session.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo__run", "arguments": {"n": 2}}});
    let response = request(address, "POST", &headers, &body.to_string());
    assert_eq!(response.status, 200);
    let called = suite::Called(response.answer(2, std::time::Instant::now()));
    assert!(called.good().contains('2'));
}

#[test]
fn headers_must_match_the_body() {
    let (_server, address) = start();
    let post = |headers: &[(&str, &str)]| {
        let mut response = request(address, "POST", headers, &list_body());
        (response.status, response.message().unwrap_or(Value::Null)["error"]["code"].clone())
    };
    let wrong = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call")];
    assert_eq!(post(&wrong), (400, json!(-32020)));
    let missing = [("MCP-Protocol-Version", "2026-07-28")];
    assert_eq!(post(&missing), (400, json!(-32020)));
    let unknown = [("MCP-Protocol-Version", "2031-01-01"), ("Mcp-Method", "tools/list")];
    assert_eq!(post(&unknown).0, 400);
}

#[test]
fn chunks_arrive_on_the_stream_of_their_call() {
    let (_server, address) = start();
    let called = http::call(address, "slow-stream__run", json!({"n": 6}), true);
    assert_eq!(called.chunks().len(), 6);
    let first = called.0.notifications[0].0;
    assert!(called.0.answered - first > std::time::Duration::from_millis(150), "the first chunk came with the result");
    let plain = http::call(address, "slow-stream__run", json!({"n": 6}), false);
    assert!(plain.0.notifications.is_empty());
    assert_eq!(plain.substance().to_string(), called.substance().to_string(), "byte for byte");
}

#[test]
fn malformed_requests_are_refused_and_the_server_keeps_running() {
    let (mut server, address) = start();
    for body in ["", "{", "[]", "hello", "{\"jsonrpc\":\"2.0\"}"] {
        let status = request(address, "POST", &MODERN, body).status;
        assert!((400..500).contains(&status), "{body:?}: {status}");
    }
    let status = request(address, "POST", &[("Content-Type", "text/plain"), MODERN[0], MODERN[1]], &list_body()).status;
    assert!((400..500).contains(&status), "a form of another site can send text/plain: {status}");
    let large = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"x\":\"{}\"}}", "x".repeat(8 << 20));
    let status = std::panic::catch_unwind(|| request(address, "POST", &MODERN, &large).status);
    // The server may also close the connection before it has read the whole body.
    assert!(status.is_err() || status.is_ok_and(|status| (400..500).contains(&status)));
    assert_eq!(list_with(address, &[]), 200);
    assert!(server.is_alive());
}

/// Without TCP_NODELAY each answer waits some 40 ms for the client's acknowledgement.
#[test]
fn small_answers_are_sent_without_delay() {
    let (_server, address) = start();
    let mut times: Vec<_> =
        (0..21).map(|n| http::call(address, "echo__run", json!({"n": n}), false).0.elapsed()).collect();
    times.sort();
    assert!(times[10] < std::time::Duration::from_millis(35), "the median call took {:?}", times[10]);
}

#[test]
fn the_server_listens_only_on_the_loopback_address() {
    let (_server, address) = start();
    assert!(address.ip().is_loopback());
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    // Connecting a UDP socket sends nothing; it only finds the address of a network interface.
    if let Ok(socket) = std::net::UdpSocket::bind(everywhere)
        && socket.connect("192.0.2.1:9").is_ok()
        && let Ok(local) = socket.local_addr()
        && !local.ip().is_loopback()
    {
        assert!(std::net::TcpStream::connect((local.ip(), address.port())).is_err(), "{} answers", local.ip());
    }
}
