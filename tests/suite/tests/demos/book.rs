//! The book generator: streamed parts, notes for the user only, a controlled pace, and steering messages.

use serde_json::{Value, json};
use std::time::Instant;
use suite::http::{Response, legacy, legacy_session};
use suite::{Called, Client, Era, Home, Server, agent, digest, paths, plugin_from};

const TOOL: &str = "book__generate_book";
const PACE: &str = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;
const CHUNK: &str = "notifications/dev.portcullis/partial_result";

/// The book plugin with its pace controlled by a file.
fn config() -> String {
    let settings = "grants.agent-tools = [\"pace.next\"]\nlimits.deadline = \"2m\"";
    plugin_from("book", &paths::real_plugin("book"), settings) + &agent("pace", "pace", PACE)
}

/// Allows this number of chapters to be written.
fn allow(home: &Home, chapters: u64) {
    // The file is replaced atomically: a half-written file would contain a lower number.
    let beside = home.write("work/pace.new", chapters.to_string());
    std::fs::rename(beside, home.work().join("pace")).unwrap();
}

fn arguments(chapters: u64) -> Value {
    json!({"topic": "The moat", "chapters": chapters})
}

/// The chunks that are parts of the book, without those for the user only.
fn parts<'a>(chunks: impl IntoIterator<Item = &'a Value>) -> Vec<&'a str> {
    let blocks = chunks.into_iter().flat_map(|chunk| chunk["content"].as_array().unwrap());
    let parts = blocks.filter(|block| block["annotations"]["audience"] != json!(["user"]));
    parts.map(|block| block["text"].as_str().unwrap()).collect()
}

/// A whole book, written without streaming.
fn unwatched(era: Era) -> String {
    let config = plugin_from("book", &paths::real_plugin("book"), "");
    Client::new(Server::start(&config), era, false).call(TOOL, arguments(3)).good()
}

#[test]
fn a_streamed_book_equals_the_unstreamed_one() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&config()), era, true);
        let sent = Instant::now();
        let id = client.begin_call(TOOL, arguments(3));
        // The first chapter is not allowed yet, so this cannot be the end of the book.
        let outline = client.wait_for(CHUNK);
        assert!(outline["params"]["content"][0]["text"].as_str().unwrap().starts_with("# The moat\n"), "{outline}");
        let contents = client.wait_for(CHUNK);
        let mut chunks = vec![outline["params"].clone(), contents["params"].clone()];
        allow(&client.server.home, 3);
        let called = Called(client.wait(id, sent));
        let book = called.good();
        chunks.extend(called.chunks().into_iter().cloned());
        let numbers: Vec<_> = chunks.iter().map(|chunk| chunk["seq"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>(), "{era:?}: two parts, and a note and a chapter three times");
        assert_eq!(digest(&chunks), called.stream()["sha256"].as_str().unwrap(), "{era:?}");
        assert_eq!(parts(&chunks).concat(), book, "{era:?}: the book is its parts");
        assert!(!book.contains("Writing chapter"), "{era:?}: what is for the user alone is not in it");
        assert_eq!(book, unwatched(era), "{era:?}");
    }
}

#[test]
fn concurrent_books_do_not_mix() {
    let mut client = Client::new(Server::start(&config()), Era::Modern, true);
    let sent = Instant::now();
    let books = [1, 2, 3, 4].map(|chapters| (chapters, client.begin_call(TOOL, arguments(chapters))));
    // All books wait for the same pace file, which then releases them together.
    allow(&client.server.home, 4);
    let mut chunks: Vec<Value> = Vec::new();
    let called = books.map(|(_, id)| {
        let called = Called(client.wait(id, sent));
        chunks.extend(called.chunks().into_iter().cloned());
        called
    });
    for ((chapters, id), called) in books.iter().zip(&called) {
        let mine: Vec<_> = chunks.iter().filter(|chunk| chunk["token"] == *id).collect();
        assert_eq!(mine.len() as u64, 2 + 2 * chapters);
        assert_eq!(parts(mine.iter().copied()).concat(), called.good());
        assert_eq!(digest(mine), called.stream()["sha256"].as_str().unwrap());
    }
}

#[test]
fn a_cancelled_book_keeps_the_parts_already_sent() {
    let mut client = Client::new(Server::start(&config()), Era::Modern, true);
    allow(&client.server.home, 1);
    let id = client.begin_call(TOOL, arguments(5));
    let mut chunks = Vec::new();
    while parts(&chunks).len() < 3 {
        chunks.push(client.wait_for(CHUNK)["params"].clone());
    }
    client.cancel(id);
    assert!(parts(&chunks)[2].starts_with("## Chapter 1: "), "{chunks:?}");
    assert_eq!(chunks.len(), 4, "the last one was not held back");
    // The host has dropped the call: the next request is answered, and no chunk of the cancelled book arrives.
    allow(&client.server.home, 5);
    let next = client.call(TOOL, arguments(1));
    assert!(next.good().contains("A book in 1 chapter,"), "{}", next.text());
    assert!(next.chunks().iter().all(|chunk| chunk["token"] != id), "{:?}", next.chunks());
}

/// Reads a stream until this number of parts has arrived or it ends.
fn read_stream(stream: &mut Response, heard: &mut Vec<Value>, last: &mut String, wanted: usize) -> Option<Value> {
    while parts(heard.iter()).len() < wanted {
        let event = stream.event()?;
        let Some(message) = event.message else { continue };
        *last = event.id.expect("every message can be gone on from");
        if message.get("method").is_none() {
            return Some(message);
        }
        if message["method"] == CHUNK && message["params"]["final"] != true {
            heard.push(message["params"].clone());
        }
    }
    None
}

#[test]
fn a_reconnecting_reader_resumes_without_a_gap() {
    let (server, address) = Server::start_http(&config());
    let session = legacy_session(address, true);
    let params = json!({"name": TOOL, "arguments": arguments(4)});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
    allow(&server.home, 2);
    let (mut heard, mut last) = (Vec::new(), String::new());
    let mut stream = legacy(address, &session, "POST", &[], &call);
    read_stream(&mut stream, &mut heard, &mut last, 4);
    drop(stream);
    // Chapters three and four are written while the client is disconnected.
    allow(&server.home, 4);
    let mut stream = legacy(address, &session, "GET", &[("Last-Event-ID", &last)], "");
    let answer = read_stream(&mut stream, &mut heard, &mut last, usize::MAX).expect("the book");
    let numbers: Vec<_> = heard.iter().map(|chunk| chunk["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>(), "no gap, no duplicate");
    let stream = &answer["result"]["_meta"]["dev.portcullis/stream"];
    assert_eq!((&stream["chunks"], stream["sha256"].as_str().unwrap()), (&json!(10), digest(&heard).as_str()));
    assert_eq!(parts(&heard).concat(), answer["result"]["content"][0]["text"]);
}

#[test]
fn thinking_time_is_wall_clock_time() {
    let config = plugin_from("book", &paths::real_plugin("book"), "");
    let mut client = Client::new(Server::start(&config), Era::Modern, false);
    let called = client.call(TOOL, json!({"topic": "The moat", "chapters": 3, "slow": 40}));
    assert_eq!(called.good(), unwatched(Era::Modern));
    assert!(called.0.elapsed().as_millis() >= 120, "{:?}", called.0.elapsed());
}

/// Reads until this number of parts has arrived.
fn read(client: &mut Client, chunks: &mut Vec<Value>, wanted: usize) {
    while parts(chunks.iter()).len() < wanted {
        chunks.push(client.wait_for(CHUNK)["params"].clone());
    }
}

#[test]
fn a_steering_message_changes_the_next_chapter() {
    let books = Era::ALL.map(|era| {
        let mut client = Client::new(Server::start(&config()), era, true);
        allow(&client.server.home, 2);
        let sent = Instant::now();
        let id = client.begin_call(TOOL, arguments(4));
        let mut chunks = Vec::new();
        read(&mut client, &mut chunks, 4);
        // The second chapter has been read, and the third cannot begin before this request is answered.
        let call = chunks[0]["_meta"]["dev.portcullis/call"].clone();
        let steered = client.begin("dev.portcullis/steer", json!({"call": call, "message": "make it a comedy"}));
        assert_eq!(client.wait(steered, Instant::now()).result()["call"], call, "{era:?}");
        allow(&client.server.home, 4);
        let called = Called(client.wait(id, sent));
        let book = called.good();
        chunks.extend(called.chunks().into_iter().cloned());
        let parts = parts(&chunks);
        assert_eq!(parts.concat(), book);
        let comedies: Vec<_> = parts.iter().map(|part| part.contains("As was asked for: make it a comedy.")).collect();
        assert_eq!(comedies, [false, false, false, false, true, true], "{era:?}: from the third chapter on");
        assert_eq!(digest(&chunks), called.stream()["sha256"].as_str().unwrap());
        // The call no longer accepts messages.
        let late = client.request("dev.portcullis/steer", json!({"call": call, "message": "a tragedy"}));
        assert_eq!(late.error_code(), -32602);
        book
    });
    assert_eq!(books[0], books[1]);
}
