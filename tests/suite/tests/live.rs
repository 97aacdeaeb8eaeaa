//! Lane `live`: how channels for reverse calls are opened and closed.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use suite::client::modern_meta;
use suite::http::{Response, legacy, legacy_session, modern, request};
use suite::{Answer, Client, Era, Home, PATIENCE, Server, eventually, plugin};

pub(crate) const LISTEN: &str = "dev.portcullis/reverse/listen";
pub(crate) const RESPOND: &str = "dev.portcullis/reverse/respond";
pub(crate) const LISTENING: &str = "notifications/dev.portcullis/reverse_listening";
pub(crate) const NAME: &str = "3v6Jx0WmAAAAAAAAAAAAAAA_-";

fn echo() -> String {
    plugin("echo", "")
}

/// The capabilities of a client with one tool.
pub(crate) fn declared(lanes: &[&str]) -> Value {
    let tool = json!({"name": "calendar.free", "description": "Free hours.", "inputSchema": {"type": "object"}});
    let declared = json!({"allowServerCalls": true, "tools": [tool], "lanes": lanes, "channel": NAME});
    json!({"extensions": {"dev.portcullis/client-tools": declared}})
}

/// Sends a request over HTTP, authenticated by the key if there is one.
pub(crate) fn send(address: SocketAddr, key: Option<&str>, id: u64, method: &str, mut params: Value) -> Response {
    params["_meta"] = modern_meta(false);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = declared(&["live"]);
    let bearer = key.map(|key| format!("Bearer {key}"));
    let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    headers.extend((!name.is_empty()).then_some(("Mcp-Name", &*name)));
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    request(address, "POST", &headers, &body.to_string())
}

pub(crate) fn opened(message: &Value) {
    assert_eq!((&message["method"], &message["params"]), (&json!(LISTENING), &json!({"channel": NAME})), "{message}");
}

pub(crate) fn refused(answer: &Answer) -> &str {
    assert_eq!(answer.error_code(), -32602, "{}", answer.message);
    answer.message["error"]["message"].as_str().unwrap()
}

/// Opens the channel over HTTP, in a legacy session if there is one.
fn listen(address: SocketAddr, session: Option<&[(String, String)]>, id: u64) -> Response {
    let params = json!({"channel": NAME});
    match session {
        None => modern(address, id, LISTEN, params, false),
        Some(session) => {
            let body = json!({"jsonrpc": "2.0", "id": id, "method": LISTEN, "params": params});
            legacy(address, session, "POST", &[], &body.to_string())
        }
    }
}

#[test]
fn a_channel_is_open_until_it_is_cancelled() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&echo()), era, false);
        let id = client.begin(LISTEN, json!({"channel": NAME}));
        opened(&client.wait_for(LISTENING));
        let again = client.request(LISTEN, json!({"channel": NAME}));
        assert!(refused(&again).contains("open already"), "{era:?}");
        for wrong in [json!({}), json!({"channel": "short"}), json!({"channel": "ü".repeat(30)}), json!({"channel": 7})]
        {
            refused(&client.request(LISTEN, wrong));
        }
        let forged = json!({"channel": NAME, "callId": "AAAAAAAAAAAAAAAAAAAAAA", "result": {"content": []}});
        let unknown = refused(&client.request(RESPOND, forged.clone())).to_owned();
        let mut elsewhere = forged.clone();
        elsewhere["channel"] = "BBBBBBBBBBBBBBBBBBBBBBBBB".into();
        assert_eq!(refused(&client.request(RESPOND, elsewhere)), unknown);
        let mut both = forged;
        both["error"] = json!({"code": "failed", "message": ""});
        assert!(refused(&client.request(RESPOND, both)).contains("either"));
        client.cancel(id);
        // The cancel is handled before the next request, but its task may end a moment later.
        let free = eventually(PATIENCE, || {
            let id = client.begin(LISTEN, json!({"channel": NAME}));
            let first = client.notified_or_answered(id);
            (first["method"] == LISTENING).then_some(())
        });
        assert!(free.is_some(), "{era:?}");
    }
}

#[test]
fn over_http_a_channel_is_freed_when_its_stream_breaks() {
    let (_server, address) = Server::start_http(&echo());
    let mut stream = listen(address, None, 5);
    assert_eq!(stream.status, 200);
    assert!(stream.header("content-type").unwrap().starts_with("text/event-stream"));
    opened(&stream.message().unwrap());
    assert!(refused(&listen(address, None, 6).answer(6, Instant::now())).contains("open already"));
    drop(stream);
    let free = eventually(PATIENCE, || {
        let mut stream = listen(address, None, 7);
        stream.message().filter(|message| message["method"] == LISTENING)
    });
    assert!(free.is_some());
}

#[test]
fn in_a_legacy_session_a_channel_ends_with_its_request() {
    let (_server, address) = Server::start_http(&echo());
    let session = legacy_session(address, false);
    let mut stream = listen(address, Some(&session), 5);
    opened(&stream.message().unwrap());
    assert!(refused(&listen(address, Some(&session), 6).answer(6, Instant::now())).contains("open already"));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    assert_eq!(legacy(address, &session, "POST", &[], &cancel.to_string()).status, 202);
    assert!(stream.message().is_none(), "a cancelled request has no answer");
    let (mut id, mut open) = (6, None);
    let free = eventually(PATIENCE, || {
        id += 1;
        let mut stream = listen(address, Some(&session), id);
        let first = stream.message()?;
        open = Some(stream);
        (first["method"] == LISTENING).then_some(())
    });
    assert!(free.is_some());
    // The channel also ends with its session.
    assert_eq!(legacy(address, &session, "DELETE", &[], "").status, 204);
    assert!(open.unwrap().message().is_none());
}

#[test]
fn a_channel_name_is_scoped_to_its_principal() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]);
    let (_server, address) = Server::start_http_in(home, &(echo() + "[server.auth]\nkeys = \"keys.toml\"\n"));
    let send = |key: &str| send(address, Some(key), 1, LISTEN, json!({"channel": NAME}));
    let (mut hers, mut his) = (send(&alice), send(&bob));
    opened(&hers.message().unwrap());
    opened(&his.message().unwrap());
}

#[test]
fn a_stopping_server_ends_open_channels_without_waiting() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&echo()), era, false);
        let id = client.begin(LISTEN, json!({"channel": NAME}));
        opened(&client.wait_for(LISTENING));
        let told = Instant::now();
        client.server.terminate();
        let ended = client.wait(id, told);
        ends_empty(ended.result(), era);
        assert!(client.server.ended().success());

        let (mut server, address) = Server::start_http(&echo());
        let session = (era == Era::Legacy).then(|| legacy_session(address, false));
        let mut stream = listen(address, session.as_deref(), 5);
        opened(&stream.message().unwrap());
        server.terminate();
        ends_empty(stream.answer(5, told).result(), era);
        assert!(server.ended().success());
        assert!(told.elapsed() < Duration::from_secs(8), "{era:?}: it took {:?}", told.elapsed());
    }
}

/// Checks that a result is empty except for the fields that its protocol revision requires.
pub(crate) fn ends_empty(result: &Value, era: Era) {
    let mut result = result.as_object().unwrap().clone();
    if era == Era::Modern {
        assert_eq!(result.remove("resultType"), Some(json!("complete")));
        result.remove("_meta");
    }
    assert!(result.is_empty(), "{era:?}: {result:?}");
}
