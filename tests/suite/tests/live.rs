//! Lane `live`: channels for reverse calls, who may answer on them, and what becomes of the calls.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use suite::client::modern_meta;
use suite::http::{self, Response, legacy, legacy_session, modern, request};
use suite::{Answer, Called, Client, Era, Home, PATIENCE, Server, eventually, plugin};

const LISTEN: &str = "dev.portcullis/reverse/listen";
const RESPOND: &str = "dev.portcullis/reverse/respond";
const LISTENING: &str = "notifications/dev.portcullis/reverse_listening";
const CALL: &str = "notifications/dev.portcullis/reverse_call";
const CANCELLED: &str = "notifications/dev.portcullis/reverse_cancelled";
const NAME: &str = "3v6Jx0WmAAAAAAAAAAAAAAA_-";

fn echo() -> String {
    plugin("echo", "")
}

/// A plugin that calls tools of its client.
fn relay(settings: &str) -> String {
    plugin("relay", &format!("grants.agent-tools = [\"calendar.*\"]\n{settings}"))
}

/// What a client says of its one tool.
fn declared(lanes: &[&str]) -> Value {
    let tool = json!({"name": "calendar.free", "description": "Free hours.", "inputSchema": {"type": "object"}});
    let declared = json!({"allowServerCalls": true, "tools": [tool], "lanes": lanes, "channel": NAME});
    json!({"extensions": {"dev.portcullis/client-tools": declared}})
}

fn free(n: u64) -> Value {
    json!({"name": "relay__run", "arguments": {"path": "calendar.free", "n": n}})
}

fn said(words: &str) -> Value {
    json!({"content": [{"type": "text", "text": words}]})
}

/// A client with its channel open, and the request that holds it.
fn listening(era: Era, config: &str, lanes: &[&str]) -> (Client, u64) {
    let mut client = Client::able(Server::start(config), era, false, declared(lanes));
    let id = client.begin(LISTEN, json!({"channel": NAME}));
    opened(&client.wait_for(LISTENING));
    (client, id)
}

/// A request over HTTP of whoever has a key.
fn send(address: SocketAddr, key: Option<&str>, id: u64, method: &str, mut params: Value) -> Response {
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

fn opened(message: &Value) {
    assert_eq!((&message["method"], &message["params"]), (&json!(LISTENING), &json!({"channel": NAME})), "{message}");
}

fn refused(answer: &Answer) -> &str {
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
        // The cancel is taken up before the next request, its task may end a moment later.
        let free = eventually(PATIENCE, || {
            let id = client.begin(LISTEN, json!({"channel": NAME}));
            let first = client.notified_or_answered(id);
            (first["method"] == LISTENING).then_some(())
        });
        assert!(free.is_some(), "{era:?}");
    }
}

#[test]
fn over_http_it_is_a_stream_and_is_free_when_that_breaks() {
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
fn in_an_older_session_it_belongs_to_its_request() {
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
    // It ends with its session, too.
    assert_eq!(legacy(address, &session, "DELETE", &[], "").status, 202);
    assert!(open.unwrap().message().is_none());
}

#[test]
fn a_channel_is_its_principals_own() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]);
    let (_server, address) = Server::start_http_in(home, &(echo() + "[server.auth]\nkeys = \"keys.toml\"\n"));
    let send = |key: &str| send(address, Some(key), 1, LISTEN, json!({"channel": NAME}));
    let (mut hers, mut his) = (send(&alice), send(&bob));
    opened(&hers.message().unwrap());
    opened(&his.message().unwrap());
}

#[test]
fn a_server_that_stops_says_so_and_does_not_wait() {
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

/// `{}`, with what a result of its revision has.
fn ends_empty(result: &Value, era: Era) {
    let mut result = result.as_object().unwrap().clone();
    if era == Era::Modern {
        assert_eq!(result.remove("resultType"), Some(json!("complete")));
        result.remove("_meta");
    }
    assert!(result.is_empty(), "{era:?}: {result:?}");
}

#[test]
fn a_call_goes_out_on_the_channel_and_is_answered_once() {
    for era in Era::ALL {
        let (mut client, _) = listening(era, &relay(""), &["live"]);
        let id = client.begin("tools/call", free(3));
        let call = client.wait_for(CALL)["params"].clone();
        let expected = json!({"channel": NAME, "name": "calendar.free", "arguments": {"n": 3}, "plugin": "relay",
            "tool": "run", "purpose": "misbehaving"});
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&call[field], value, "{era:?}: {call}");
        }
        let answer = |id: &Value, outcome: (&str, Value)| {
            let mut answer = json!({"channel": NAME, "callId": id});
            answer[outcome.0] = outcome.1;
            answer
        };
        let forged = answer(&json!("AAAAAAAAAAAAAAAAAAAAAA"), ("result", said("forged")));
        let unknown = refused(&client.request(RESPOND, forged)).to_owned();
        let right = answer(&call["callId"], ("result", said("ten o'clock")));
        ends_empty(client.request(RESPOND, right.clone()).result(), era);
        assert_eq!(refused(&client.request(RESPOND, right)), unknown, "{era:?}");
        assert_eq!(Called(client.wait(id, Instant::now())).good(), "ten o'clock", "{era:?}");

        let id = client.begin("tools/call", free(4));
        let call = client.wait_for(CALL)["params"].clone();
        let no = answer(&call["callId"], ("error", json!({"code": "declined", "message": "the user said no"})));
        client.request(RESPOND, no).result();
        let declined = Called(client.wait(id, Instant::now()));
        assert!(declined.is_error() && declined.text().contains("the user said no"), "{}", declined.result());
    }
}

#[test]
fn a_client_is_told_when_nobody_waits_any_more() {
    for era in Era::ALL {
        let (mut client, listen) = listening(era, &relay("limits.answer = \"1s\""), &["live"]);
        let late = client.begin("tools/call", free(1));
        let call = client.wait_for(CALL)["params"]["callId"].clone();
        let told = client.wait_for(CANCELLED);
        let gone = |reason: &str, call: &Value| json!({"channel": NAME, "callId": call, "reason": reason});
        assert_eq!(told["params"], gone("timeout", &call), "{era:?}");
        let timeout = Called(client.wait(late, Instant::now()));
        assert!(timeout.is_error() && timeout.text().contains("Timeout"), "{}", timeout.result());
        refused(&client.request(RESPOND, json!({"channel": NAME, "callId": call, "result": said("late")})));

        let cancelled = client.begin("tools/call", free(2));
        let call = client.wait_for(CALL)["params"]["callId"].clone();
        client.cancel(cancelled);
        assert_eq!(client.wait_for(CANCELLED)["params"], gone("cancelled", &call), "{era:?}");

        let lost = client.begin("tools/call", free(3));
        client.wait_for(CALL);
        client.cancel(listen);
        let lost = Called(client.wait(lost, Instant::now()));
        assert!(lost.is_error() && lost.text().contains("NotSupported"), "{era:?}: {}", lost.result());
        let none = Called(client.request("tools/call", free(4)));
        assert!(none.is_error() && none.text().contains("NotSupported"), "{era:?}: {}", none.result());
    }
}

#[test]
fn over_http_calls_reach_their_own_principal_only() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]);
    let (_server, address) = Server::start_http_in(home, &(relay("") + "[server.auth]\nkeys = \"keys.toml\"\n"));
    let mut hers = send(address, Some(&alice), 1, LISTEN, json!({"channel": NAME}));
    opened(&hers.message().unwrap());
    // Her channel is not his, whatever he calls it.
    let none = Called(send(address, Some(&bob), 2, "tools/call", free(1)).answer(2, Instant::now()));
    assert!(none.is_error() && none.text().contains("NotSupported"), "{}", none.result());
    let mut his = send(address, Some(&bob), 3, LISTEN, json!({"channel": NAME}));
    opened(&his.message().unwrap());
    let key = alice.clone();
    let calling = std::thread::spawn(move || {
        Called(send(address, Some(&key), 4, "tools/call", free(2)).answer(4, Instant::now())).good()
    });
    let call = hers.message().unwrap();
    assert_eq!(call["method"], CALL);
    let answer = json!({"channel": NAME, "callId": call["params"]["callId"], "result": said("ten")});
    let respond = |key: &str| send(address, Some(key), 5, RESPOND, answer.clone()).answer(5, Instant::now());
    let foreign = respond(&bob);
    refused(&foreign);
    respond(&alice).result();
    assert_eq!(calling.join().unwrap(), "ten");
    assert_eq!(respond(&alice).message["error"], foreign.message["error"], "the same words for all of them");
}

#[test]
fn a_stream_that_breaks_loses_its_calls() {
    let (_server, address) = Server::start_http(&relay(""));
    let mut stream = send(address, None, 1, LISTEN, json!({"channel": NAME}));
    opened(&stream.message().unwrap());
    let calling = std::thread::spawn(move || {
        Called(send(address, None, 2, "tools/call", free(1)).answer(2, Instant::now())).text()
    });
    assert_eq!(stream.message().unwrap()["method"], CALL);
    drop(stream);
    let text = calling.join().unwrap();
    assert!(text.contains("NotSupported"), "{text}");
}

#[test]
fn in_an_older_session_over_http_too() {
    let (_server, address) = Server::start_http(&relay(""));
    let session = http::legacy_session_able(address, &declared(&["live"]), "2025-11-25", &[]);
    let ask = |id: u64, method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        legacy(address, &session, "POST", &[], &body.to_string())
    };
    let mut stream = ask(1, LISTEN, json!({"channel": NAME}));
    opened(&stream.message().unwrap());
    let running = ask(2, "tools/call", free(1));
    let call = stream.message().unwrap();
    let answer = json!({"channel": NAME, "callId": call["params"]["callId"], "result": said("ten")});
    assert_eq!(ask(3, RESPOND, answer).answer(3, Instant::now()).result(), &json!({}));
    assert_eq!(Called(running.answer(2, Instant::now())).good(), "ten");
}

#[test]
fn without_the_channel_another_lane_is_taken() {
    let mut client = Client::able(Server::start(&relay("")), Era::Modern, false, declared(&["live", "retry"]));
    let asked = client.request("tools/call", free(1));
    assert_eq!(asked.result()["resultType"], "dev.portcullis/client-tools", "{}", asked.message);
    let mut client = Client::able(Server::start(&relay("")), Era::Legacy, false, declared(&["live", "request"]));
    let id = client.begin("tools/call", free(1));
    let asked = client.wait_for("dev.portcullis/tools/call");
    client.server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": said("ten")}));
    assert_eq!(Called(client.wait(id, Instant::now())).good(), "ten");
}
