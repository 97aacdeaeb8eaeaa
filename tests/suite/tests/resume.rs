//! Legacy streams that break: the client goes on where it stopped, without a gap and without hearing anything twice.

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

/// One call as its client hears it, over as many connections as it takes.
struct Heard {
    session: Session,
    last_event: Option<String>,
    ids: Vec<String>,
    messages: Vec<Value>,
    stream: Option<Response>,
}

impl Heard {
    fn begin(address: SocketAddr, session: &Session, n: u64, id: u64) -> Self {
        let stream = legacy(address, session, "POST", &[], &call(n, id));
        assert_eq!(stream.status, 200);
        Self { session: session.clone(), last_event: None, ids: vec![], messages: vec![], stream: Some(stream) }
    }

    /// Comes back after the last event that was heard.
    fn resume(&mut self, address: SocketAddr) {
        let last = self.last_event.clone().expect("something to go on from");
        let stream = legacy(address, &self.session, "GET", &[("Last-Event-ID", &last)], "");
        assert_eq!(stream.status, 200);
        self.stream = Some(stream);
    }

    /// Hangs up.
    fn cut(&mut self) {
        self.stream = None;
    }

    /// The next event; none when the stream has ended.
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

    /// Hears up to so many more messages. Whether the stream goes on.
    fn hear(&mut self, messages: usize) -> bool {
        let wanted = self.messages.len() + messages;
        while self.messages.len() < wanted {
            if self.next().is_none() {
                return false;
            }
        }
        true
    }

    fn hear_all(&mut self) {
        while self.next().is_some() {}
    }

    /// Numbers of the chunks, in the order heard.
    fn chunks(&self) -> Vec<u64> {
        let chunks = self.messages.iter().filter(|m| m["method"] == "notifications/dev.portcullis/partial_result");
        let chunks = chunks.filter(|chunk| chunk["params"]["final"] != true);
        chunks.map(|chunk| chunk["params"]["seq"].as_u64().unwrap()).collect()
    }

    /// The last word, which is heard once and last.
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

/// No luck, but the same cuts every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % below
    }
}

/// The figure: ten calls at once, each of which loses its connection twenty times, wherever it is.
#[test]
fn two_hundred_cut_connections() {
    let (_server, address) = server("");
    let calls: Vec<_> = (0..10)
        .map(|which: u64| {
            std::thread::spawn(move || {
                let session = legacy_session(address, true);
                let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ which);
                let mut heard = Heard::begin(address, &session, 40, 7);
                // At first there is nothing to go on from but the priming event.
                assert!(heard.next().unwrap().message.is_none());
                for cut in 0..20 {
                    heard.cut();
                    heard.resume(address);
                    assert!(heard.hear(dice.roll(4)), "the stream ended at cut {cut}: {:?}", heard.messages.last());
                }
                heard.hear_all();
                heard.check_whole(40);
            })
        })
        .collect();
    for call in calls {
        call.join().unwrap();
    }
}

/// The figure: the server is killed twenty times, each time with one call running and one that is over and was heard in
/// part. What was said before is heard afterwards; what ran ends with an error that says so; sessions live on.
#[test]
fn twenty_restarts() {
    let (mut server, mut address) = server("");
    let session = legacy_session(address, true);
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    for round in 0..20 {
        let mut running = Heard::begin(address, &session, 200, 1);
        let mut over = Heard::begin(address, &session, 3, 2);
        over.hear_all();
        let from = dice.roll(over.messages.len());
        assert!(running.hear(1 + dice.roll(3)));
        address = server.restart();

        over.messages.truncate(from + 1);
        over.ids.truncate(from + 1);
        over.last_event = over.ids.last().cloned();
        over.resume(address);
        over.hear_all();
        over.check_whole(3);

        running.resume(address);
        running.hear_all();
        let chunks = running.chunks();
        assert_eq!(chunks, (0..chunks.len() as u64).collect::<Vec<_>>(), "round {round}");
        let error = &running.answer()["error"];
        assert_eq!(error["data"]["kind"], "interrupted", "{error}");
        assert!(error["message"].as_str().unwrap().contains("ended while this request ran"), "{error}");
        assert_eq!(running.answer()["id"], 1);
    }
    let mut fresh = Heard::begin(address, &session, 2, 3);
    fresh.hear_all();
    fresh.check_whole(2);
}

#[test]
fn a_stream_that_was_open_for_long_is_closed_and_gone_on_with() {
    let (_server, address) = server("poll-after = \"300ms\"");
    let session = legacy_session(address, true);
    let begun = Instant::now();
    let mut heard = Heard::begin(address, &session, 24, 1);
    let first = heard.next().unwrap();
    assert!(first.id.is_some() && first.retry.is_some() && first.message.is_none(), "{first:?}");
    heard.hear_all();
    assert!(heard.messages.iter().all(|message| message.get("method").is_some()), "closed before its end");
    let mut connections = 1;
    while heard.messages.iter().all(|message| message.get("method").is_some()) {
        heard.resume(address);
        let priming = heard.next().unwrap();
        assert!(priming.message.is_none() && priming.id.is_some(), "{priming:?}");
        heard.hear_all();
        connections += 1;
    }
    heard.check_whole(24);
    assert!(connections >= 3, "{connections} connections in {:?}", begun.elapsed());
}

#[test]
fn a_client_that_knows_no_priming_events_gets_none() {
    let (_server, address) = server("poll-after = \"100ms\"");
    for version in ["2025-06-18", "2025-03-26"] {
        let session = legacy_session_of(address, true, version, &[]);
        let mut heard = Heard::begin(address, &session, 8, 1);
        while let Some(event) = heard.next() {
            assert!(event.message.is_some(), "{version}: {event:?}");
        }
        heard.check_whole(8);
    }
}

#[test]
fn an_event_that_is_none_of_this_session() {
    let (_server, address) = server("");
    let (mine, other) = (legacy_session(address, true), legacy_session(address, true));
    let mut heard = Heard::begin(address, &mine, 1, 1);
    heard.hear_all();
    let id = heard.last_event.clone().unwrap();
    let token = id.split('.').next().unwrap();
    let resume = |session: &Session, last: &str| {
        let mut response = legacy(address, session, "GET", &[("Last-Event-ID", last)], "");
        (response.status, response.message())
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
    let mut heard = Heard::begin(address, &session, 500, 1);
    assert!(heard.hear(2));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(legacy(address, &session, "POST", &[], &cancel.to_string()).status, 202);
    heard.hear_all();
    assert!(heard.messages.iter().all(|message| message.get("method").is_some()), "no answer to what was cancelled");
    assert_eq!(
        legacy(address, &session, "POST", &[], &call(1, 1)).status,
        400,
        "an answer might be that to the old one"
    );
    let mut other = Heard::begin(address, &session, 1, 2);
    other.hear_all();
    other.check_whole(1);
}
