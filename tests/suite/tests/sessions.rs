//! Legacy sessions: their lifetime, their end, and their limit.

use serde_json::json;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use suite::http::{legacy, legacy_session, request};
use suite::{Server, plugin};

type Session = Vec<(String, String)>;

fn ping(address: SocketAddr, session: &Session) -> u16 {
    static NEXT: AtomicU64 = AtomicU64::new(100);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
    let mut response = legacy(address, session, "POST", &[], &body);
    if response.status == 200 {
        assert!(response.message().unwrap()["result"].is_object());
    }
    response.status
}

fn call(address: SocketAddr, session: &Session, id: u64) -> suite::http::Response {
    let params = json!({"name": "slow-stream__run", "arguments": {"n": 500}});
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    legacy(address, session, "POST", &[], &body.to_string())
}

#[test]
fn a_session_ends_when_its_client_deletes_it() {
    let (mut server, address) = Server::start_http(&plugin("slow-stream", ""));
    let session = legacy_session(address, true);
    assert_eq!(ping(address, &session), 200);
    let mut running = call(address, &session, 9);
    assert!(running.message().is_some());
    assert_eq!(legacy(address, &session, "DELETE", &[], "").status, 204);
    while let Some(message) = running.message() {
        assert!(message.get("method").is_some(), "no answer: {message}");
    }
    assert_eq!(ping(address, &session), 404);
    assert_eq!(legacy(address, &session, "GET", &[], "").status, 404);
    assert_eq!(legacy(address, &session, "DELETE", &[], "").status, 404);
    let address = server.restart();
    assert_eq!(ping(address, &session), 404, "not even a restart brings it back");
}

#[test]
fn a_session_survives_a_server_restart() {
    let (mut server, address) = Server::start_http(&plugin("slow-stream", ""));
    let session = legacy_session(address, true);
    let address = server.restart();
    let all: Vec<_> = (0..8)
        .map(|_| {
            let session = session.clone();
            std::thread::spawn(move || ping(address, &session))
        })
        .collect();
    for asked in all {
        assert_eq!(asked.join().unwrap(), 200, "many at once restore it once");
    }
    // The capabilities of the handshake are still known: the client gets chunks.
    let message = call(address, &session, 2).message().unwrap();
    assert_eq!(message["method"], "notifications/dev.portcullis/partial_result");
}

#[test]
fn an_id_is_used_by_one_request_at_a_time() {
    let (_server, address) = Server::start_http(&plugin("slow-stream", ""));
    let session = legacy_session(address, true);
    let mut first = call(address, &session, 1);
    assert!(first.message().is_some());
    let mut second = call(address, &session, 1);
    assert_eq!(second.status, 400);
    assert!(second.message().unwrap()["error"]["message"].as_str().unwrap().contains("still running"));
    assert!(first.message().is_some(), "the first goes on");
}

#[test]
fn the_number_of_sessions_is_limited() {
    let (mut server, address) =
        Server::start_http(&format!("[server]\nmax-sessions = 6\n{}", plugin("slow-stream", "")));
    let sessions: Vec<_> = (0..3).map(|_| legacy_session(address, false)).collect();
    // Whose streams are open are not idle, however slow the machine is.
    let streams: Vec<_> = sessions.iter().map(|session| legacy(address, session, "GET", &[], "")).collect();
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string();
    let refused = request(address, "POST", &[], &hello);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "one may have half of them");
    assert_eq!(refused.header("mcp-session-id"), None);
    assert!(sessions.iter().all(|session| ping(address, session) == 200), "those there are go on");
    assert_eq!(legacy(address, &sessions[0], "DELETE", &[], "").status, 204);
    legacy_session(address, false);
    drop(streams);
    let address = server.restart();
    assert_eq!(request(address, "POST", &[], &hello).status, 200, "after a restart nobody uses the others");
}

#[test]
fn the_sessions_own_stream_is_primed_and_stays_open() {
    let (_server, address) = Server::start_http(&plugin("slow-stream", ""));
    let session = legacy_session(address, false);
    let mut own = legacy(address, &session, "GET", &[], "");
    let first = own.event().unwrap();
    assert!(first.id.is_some() && first.retry.is_some() && first.message.is_none());
    assert_eq!(own.header("x-accel-buffering"), Some("no"));
    let mut resumed = legacy(address, &session, "GET", &[("Last-Event-ID", &first.id.clone().unwrap())], "");
    assert_eq!(resumed.event().unwrap().id, first.id);
    assert_eq!(legacy(address, &session, "DELETE", &[], "").status, 204);
    assert!(own.event().is_none() && resumed.event().is_none(), "they end with the session");
}
