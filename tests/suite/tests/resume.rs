//! Legacy streams that break: the client resumes where it stopped, without lost or repeated messages.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Instant;
use suite::http::{Event, Response, legacy, legacy_session, legacy_session_of};
use suite::{Server, plugin};

type Session = Vec<(String, String)>;

fn call(n: u64, id: u64) -> String {
    let params =
        json!({"name": "slow-stream__run", "arguments": {"n": n}, "_meta": {"progressToken": format!("t{id}")}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// The messages of one call as its client receives them, over as many connections as needed.
struct ReceivedCall {
    session: Session,
    last_event: Option<String>,
    ids: Vec<String>,
    messages: Vec<Value>,
    stream: Option<Response>,
}

impl ReceivedCall {
    fn begin(address: SocketAddr, session: &Session, n: u64, id: u64) -> Self {
        let stream = legacy(address, session, "POST", &[], &call(n, id));
        assert_eq!(stream.status, 200);
        Self { session: session.clone(), last_event: None, ids: vec![], messages: vec![], stream: Some(stream) }
    }

    /// Resumes after the last event that was received.
    fn resume(&mut self, address: SocketAddr) {
        let last = self.last_event.clone().expect("something to go on from");
        let stream = legacy(address, &self.session, "GET", &[("Last-Event-ID", &last)], "");
        assert_eq!(stream.status, 200);
        self.stream = Some(stream);
    }

    /// Closes the connection.
    fn cut(&mut self) {
        self.stream = None;
    }

    /// The next event, or `None` when the stream has ended.
    fn next(&mut self) -> Option<Event> {
        let event = self.stream.as_mut().expect("a stream").event()?;
        if let Some(id) = &event.id {
            self.last_event = Some(id.clone());
        }
        if let Some(message) = &event.message {
            self.messages.push(message.clone());
            self.ids.push(event.id.clone().expect("every message can be gone on from"));
        }
        Some(event)
    }

    /// Receives up to `messages` more messages. Returns whether the stream is still open.
    fn receive(&mut self, messages: usize) -> bool {
        let wanted = self.messages.len() + messages;
        while self.messages.len() < wanted {
            if self.next().is_none() {
                return false;
            }
        }
        true
    }

    fn receive_all(&mut self) {
        while self.next().is_some() {}
    }

    /// The numbers of the chunks, in the order received.
    fn chunks(&self) -> Vec<u64> {
        let chunks = self.messages.iter().filter(|m| m["method"] == "notifications/dev.portcullis/partial_result");
        let chunks = chunks.filter(|chunk| chunk["params"]["final"] != true);
        chunks.map(|chunk| chunk["params"]["seq"].as_u64().unwrap()).collect()
    }

    /// The answer, which must come exactly once and last.
    fn answer(&self) -> &Value {
        let answers: Vec<_> = self.messages.iter().filter(|message| message.get("method").is_none()).collect();
        assert_eq!(answers.len(), 1, "{:?}", self.messages);
        assert_eq!(self.messages.last(), answers.first().copied());
        let mut ids = self.ids.clone();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), self.ids.len(), "an event was heard twice");
        answers[0]
    }

    fn check_whole(&self, n: u64) {
        assert_eq!(self.chunks(), (0..n).collect::<Vec<_>>());
        assert_eq!(self.answer()["result"]["content"][0]["text"], format!("{n} parts"));
    }
}

fn server(settings: &str) -> (Server, SocketAddr) {
    Server::start_http(&format!("[server]\n{settings}\n{}{}", plugin("slow-stream", ""), plugin("echo", "")))
}

/// A deterministic random generator, so that every run cuts at the same places.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % below
    }
}

/// Published figure: ten concurrent calls, each of which loses its connection twenty times at random places.
#[test]
fn calls_resume_after_two_hundred_cut_connections() {
    let (_server, address) = server("");
    let calls: Vec<_> = (0..10)
        .map(|which: u64| {
            std::thread::spawn(move || {
                let session = legacy_session(address, true);
                let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ which);
                let mut heard = ReceivedCall::begin(address, &session, 40, 7);
                // At first the client can resume only from the priming event.
                assert!(heard.next().unwrap().message.is_none());
                for cut in 0..20 {
                    heard.cut();
                    heard.resume(address);
                    assert!(heard.receive(dice.roll(4)), "the stream ended at cut {cut}: {:?}", heard.messages.last());
                }
                heard.receive_all();
                heard.check_whole(40);
            })
        })
        .collect();
    for call in calls {
        call.join().unwrap();
    }
}

/// Published figure: the server is killed twenty times, each time with one running call and one finished call whose
/// messages were received in part. Stored messages are replayed, the running call ends with an error that explains it,
/// and the sessions survive.
#[test]
fn sessions_survive_twenty_restarts() {
    let (mut server, mut address) = server("");
    let session = legacy_session(address, true);
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    for round in 0..20 {
        let mut running = ReceivedCall::begin(address, &session, 200, 1);
        let mut over = ReceivedCall::begin(address, &session, 3, 2);
        over.receive_all();
        let from = dice.roll(over.messages.len());
        assert!(running.receive(1 + dice.roll(3)));
        address = server.restart();

        over.messages.truncate(from + 1);
        over.ids.truncate(from + 1);
        over.last_event = over.ids.last().cloned();
        over.resume(address);
        over.receive_all();
        over.check_whole(3);

        running.resume(address);
        running.receive_all();
        let chunks = running.chunks();
        assert_eq!(chunks, (0..chunks.len() as u64).collect::<Vec<_>>(), "round {round}");
        let error = &running.answer()["error"];
        assert_eq!(error["data"]["kind"], "interrupted", "{error}");
        assert!(error["message"].as_str().unwrap().contains("ended while this request ran"), "{error}");
        assert_eq!(running.answer()["id"], 1);
    }
    let mut fresh = ReceivedCall::begin(address, &session, 2, 3);
    fresh.receive_all();
    fresh.check_whole(2);
}

#[test]
fn a_long_open_stream_is_closed_and_can_be_resumed() {
    let (_server, address) = server("poll-after = \"300ms\"");
    let session = legacy_session(address, true);
    let begun = Instant::now();
    let mut heard = ReceivedCall::begin(address, &session, 24, 1);
    let first = heard.next().unwrap();
    assert!(first.id.is_some() && first.retry.is_some() && first.message.is_none(), "{first:?}");
    heard.receive_all();
    assert!(heard.messages.iter().all(|message| message.get("method").is_some()), "closed before its end");
    let mut connections = 1;
    while heard.messages.iter().all(|message| message.get("method").is_some()) {
        heard.resume(address);
        let priming = heard.next().unwrap();
        assert!(priming.message.is_none() && priming.id.is_some(), "{priming:?}");
        heard.receive_all();
        connections += 1;
    }
    heard.check_whole(24);
    assert!(connections >= 3, "{connections} connections in {:?}", begun.elapsed());
}

#[test]
fn a_client_of_an_older_version_gets_no_priming_events() {
    let (_server, address) = server("poll-after = \"100ms\"");
    for version in ["2025-06-18", "2024-11-05"] {
        let session = legacy_session_of(address, true, version, &[]);
        let mut heard = ReceivedCall::begin(address, &session, 8, 1);
        while let Some(event) = heard.next() {
            assert!(event.message.is_some(), "{version}: {event:?}");
        }
        heard.check_whole(8);
    }
}

#[test]
fn an_event_id_of_another_session_is_refused() {
    let (_server, address) = server("");
    let (mine, other) = (legacy_session(address, true), legacy_session(address, true));
    let mut heard = ReceivedCall::begin(address, &mine, 1, 1);
    heard.receive_all();
    let id = heard.last_event.clone().unwrap();
    let token = id.split('.').next().unwrap();
    let resume = |session: &Session, last: &str| {
        let mut response = legacy(address, session, "GET", &[("Last-Event-ID", last)], "");
        (response.status, if response.status == 200 { String::new() } else { response.refusal().0 })
    };
    assert_eq!(resume(&mine, &format!("{token}.0")).0, 200);
    let unknown = resume(&other, "AAAAAAAAAAAAAAAAAAAAAA.0");
    assert_eq!(unknown.0, 400);
    assert_eq!(resume(&other, &id), unknown, "of another session");
    for bad in [&format!("{token}.4711"), &format!("{token}.-1"), token, "0", "", "' OR 1=1 --.1", &"9".repeat(4_000)] {
        assert_eq!(resume(&mine, bad), unknown, "{bad}");
    }
}

#[test]
fn a_cancelled_call_ends_its_stream() {
    let (_server, address) = server("");
    let session = legacy_session(address, true);
    let mut heard = ReceivedCall::begin(address, &session, 500, 1);
    assert!(heard.receive(2));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(legacy(address, &session, "POST", &[], &cancel.to_string()).status, 202);
    heard.receive_all();
    assert!(heard.messages.iter().all(|message| message.get("method").is_some()), "no answer to what was cancelled");
    assert_eq!(
        legacy(address, &session, "POST", &[], &call(1, 1)).status,
        400,
        "an answer might be that to the old one"
    );
    let mut other = ReceivedCall::begin(address, &session, 1, 2);
    other.receive_all();
    other.check_whole(1);
}
