//! Calls of 2025-11-25 that wait for an answer: their questions reach whoever resumes the stream, and they go on in whatever
//! process serves it.

use serde_json::{Value, json};
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;
use suite::http::{Response, legacy, legacy_session_able};
use suite::{Home, Server, paths, plugin, plugin_from};

const TRAVEL: &str = r#"grants.client = { form = true, sample = {} }
grants.filesystem = [{ host = "work", guest = "/bookings", access = "write" }]"#;

const ASKS: &str = r#"grants.client.form = true
grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]"#;

/// A client that is asked on the stream of its call.
struct Caller {
    session: Vec<(String, String)>,
    /// The id of the last event that it has read.
    last: String,
    /// What it has received.
    messages: Vec<Value>,
}

/// A question as it was received.
#[derive(Clone)]
struct Question(Value);

impl Caller {
    fn begin(address: SocketAddr, tool: &str, arguments: &Value) -> (Self, Response) {
        let able = json!({"elicitation": {"form": {}}});
        let session = legacy_session_able(address, &able, "2025-11-25", &[]);
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
        let stream = legacy(address, &session, "POST", &[], &call);
        assert_eq!(stream.status, 200);
        (Self { session, last: String::new(), messages: Vec::new() }, stream)
    }

    /// Reads on, after the last event that it has read.
    fn resume(&self, address: SocketAddr) -> Response {
        let stream = legacy(address, &self.session, "GET", &[("Last-Event-ID", &self.last)], "");
        assert_eq!(stream.status, 200);
        stream
    }

    fn next(&mut self, stream: &mut Response) -> Option<Value> {
        loop {
            let event = stream.event()?;
            if let Some(id) = event.id {
                self.last = id;
            }
            if let Some(message) = event.message {
                self.messages.push(message.clone());
                return Some(message);
            }
        }
    }

    /// Reads up to the next question.
    fn question(&mut self, stream: &mut Response) -> Question {
        while let Some(message) = self.next(stream) {
            if message["method"] == "elicitation/create" {
                return Question(message);
            }
            assert!(message.get("method").is_some(), "it is answered without a question: {message}");
        }
        panic!("the stream ends without a question: {:?}", self.messages);
    }

    /// Reads up to the answer to the call, without another question.
    fn answer(&mut self, mut stream: Response) -> Value {
        while let Some(message) = self.next(&mut stream) {
            if message.get("method").is_none() {
                assert_eq!(message["id"], 7);
                return message;
            }
            assert_ne!(message["method"], "elicitation/create", "{message}");
        }
        panic!("the stream ends without an answer: {:?}", self.messages);
    }

    fn text(&mut self, stream: Response) -> String {
        let answer = self.answer(stream);
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn send(&self, address: SocketAddr, question: &Question, content: Value) {
        let result = json!({"action": "accept", "content": content});
        let answer = json!({"jsonrpc": "2.0", "id": question.0["id"], "result": result}).to_string();
        assert_eq!(legacy(address, &self.session, "POST", &[], &answer).status, 202);
    }
}

fn bookings(home: &Home) -> usize {
    fs::read_to_string(home.work().join("bookings.jsonl")).map_or(0, |text| text.lines().count())
}

fn travel() -> (Server, SocketAddr) {
    Server::start_http(&plugin_from("travel", &paths::real_plugin("travel"), TRAVEL))
}

fn ask() -> (Server, SocketAddr) {
    Server::start_http(&plugin("ask", ASKS))
}

#[test]
fn who_resumes_after_a_question_is_asked_it_again() {
    let (_server, address) = ask();
    let (mut caller, mut stream) = Caller::begin(address, "ask__run", &json!({"path": "number", "n": 3}));
    let question = caller.question(&mut stream);
    drop(stream);
    for _ in 0..3 {
        // As a new process of the client does, which knows no more than where to go on.
        let mut stream = caller.resume(address);
        let again = caller.question(&mut stream);
        assert_eq!(again.0, question.0, "clients know it by its id");
    }
    let mut stream = caller.resume(address);
    assert_eq!(caller.question(&mut stream).0, question.0);
    caller.send(address, &Question(json!({"id": 4_711})), json!({"name": "Eve"}));
    caller.send(address, &question, json!({"name": "Ada"}));
    caller.send(address, &question, json!({"name": "Bob"}));
    assert_eq!(caller.text(stream), r#"3: {"name":"Ada"}"#);
}

/// A client that comes back for the rest because the server has closed the stream still has the question.
#[test]
fn a_client_that_polls_is_asked_once() {
    let config = "[server]\npoll-after = \"200ms\"\n".to_owned() + &plugin("ask", "grants.client.form = true");
    let (_server, address) = Server::start_http(&config);
    let (mut caller, mut stream) = Caller::begin(address, "ask__run", &json!({"path": "form"}));
    let question = caller.question(&mut stream);
    for _ in 0..2 {
        assert!(caller.next(&mut stream).is_none(), "closed, and nothing more was sent");
        stream = caller.resume(address);
    }
    caller.send(address, &question, json!({"name": "Ada"}));
    assert!(caller.text(stream).contains("Ada"));
}

#[test]
fn a_call_that_waits_outlives_its_server() {
    for is_killed in [true, false] {
        let (mut server, address) = travel();
        let (mut caller, mut stream) =
            Caller::begin(address, "travel__travel_agent", &json!({"destination": "Lisbon"}));
        let question = caller.question(&mut stream);
        if !is_killed {
            server.terminate();
            server.wait_for_log("stopping");
            server.terminate();
            assert!(server.ended().success());
            server.wait_for_log("others are cut off left=1");
            assert!(caller.next(&mut stream).is_none(), "it is neither answered nor taken back");
        }
        drop(stream);
        let address = server.restart();
        let mut stream = caller.resume(address);
        assert_eq!(caller.question(&mut stream).0, question.0);
        assert_eq!(bookings(&server.home), 0);
        caller.send(address, &question, json!({"confirm": true}));
        let text = caller.text(stream);
        assert!(text.starts_with("Booked Lisbon for "), "{text}");
        assert_eq!(bookings(&server.home), 1);
        // It is over, in another process, too.
        let address = server.restart();
        caller.last = format!("{}.0", caller.last.split('.').next().unwrap());
        let mut stream = caller.resume(address);
        while caller.next(&mut stream).is_some() {}
        assert_eq!(bookings(&server.home), 1);
    }
}

/// A person answers while the server is gone, or the client resumes only later.
#[test]
fn an_answer_to_the_earlier_process_counts() {
    let (mut server, address) = ask();
    let (mut caller, mut stream) = Caller::begin(address, "ask__run", &json!({"path": "rounds", "n": 2}));
    let first = caller.question(&mut stream);
    caller.send(address, &first, json!({"name": "Ada"}));
    let second = caller.question(&mut stream);
    assert_ne!(first.0["id"], second.0["id"]);
    drop(stream);
    let address = server.restart();
    caller.send(address, &first, json!({"name": "Eve"}));
    caller.send(address, &second, json!({"name": "Bob"}));
    let text = caller.text(caller.resume(address));
    assert!(text.contains("Ada") && text.contains("Bob") && !text.contains("Eve"), "{text}");
}

/// Once a call has gone on, no other process runs it from where it has waited.
#[test]
fn what_a_call_does_after_its_answer_is_done_once() {
    for round in 0..8 {
        let (mut server, address) = travel();
        let (mut caller, mut stream) =
            Caller::begin(address, "travel__travel_agent", &json!({"destination": "Lisbon"}));
        let question = caller.question(&mut stream);
        caller.send(address, &question, json!({"confirm": true}));
        std::thread::sleep(Duration::from_micros(1 << (2 * round)));
        drop(stream);
        let address = server.restart();
        let mut stream = caller.resume(address);
        let outcome = std::iter::from_fn(|| caller.next(&mut stream))
            .find(|message| message.get("method").is_none() || message["method"] == "elicitation/create");
        let outcome = outcome.expect("it is asked again, answered, or interrupted");
        let booked = bookings(&server.home);
        if outcome["method"] == "elicitation/create" {
            assert_eq!((booked, &outcome), (0, &question.0));
            caller.send(address, &question, json!({"confirm": true}));
            let text = caller.text(stream);
            assert!(text.starts_with("Booked Lisbon for "), "{text}");
            assert_eq!(bookings(&server.home), 1);
        } else if outcome.get("error").is_some() {
            assert_eq!(outcome["error"]["data"]["kind"], "interrupted", "{outcome}");
            assert!(booked <= 1);
        } else {
            assert_eq!(booked, 1, "{outcome}");
        }
    }
}

/// What `parked.stored = false` keeps out of the state folder, a call that waits keeps out, too.
#[test]
fn without_stored_calls_a_waiting_one_ends_with_its_server() {
    let config = "[server]\nparked = { stored = false }\n".to_owned() + &plugin("ask", "grants.client.form = true");
    let (mut server, address) = Server::start_http(&config);
    let (mut caller, mut stream) = Caller::begin(address, "ask__run", &json!({"path": "form"}));
    caller.question(&mut stream);
    drop(stream);
    let address = server.restart();
    let stream = caller.resume(address);
    assert_eq!(caller.answer(stream)["error"]["data"]["kind"], "interrupted");
}
