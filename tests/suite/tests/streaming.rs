//! Output of a running call: chunks with the extension, progress on request, and the same result for every client.

use serde_json::{Value, json};
use std::time::Duration;
use suite::{Called, Client, Era, PATIENCE, Server, digest, eventually, plugin};

fn call(era: Era, extension: bool, progress: bool) -> Called {
    let mut client = Client::new(Server::start(&plugin("slow-stream", "")), era, extension);
    client.progress = progress;
    client.run("slow-stream", json!({"n": 8}))
}

/// The text of a chunk.
fn said(chunk: &Value) -> &str {
    chunk["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in the chunk {chunk}"))
}

#[test]
fn chunks_arrive_while_the_tool_runs() {
    for era in Era::ALL {
        let called = call(era, true, true);
        let chunks = called.chunks();
        assert_eq!(chunks.len(), 8, "{era:?}");
        for (number, chunk) in chunks.iter().enumerate() {
            assert_eq!(chunk["seq"], number, "{era:?}");
            assert_eq!(said(chunk), format!("part {number}"), "{era:?}");
            assert!(chunk["token"].is_u64(), "{era:?}: the client's own token comes back: {chunk}");
        }
        let first = called.0.notifications.iter().find(|(_, message)| message["method"] == Called::CHUNK).unwrap().0;
        let lead = called.0.answered - first;
        assert!(lead > Duration::from_millis(200), "{era:?}: the first chunk came {lead:?} before the result");
        assert_eq!(called.good(), "8 parts");
        assert_eq!(called.usage()["chunks"], 8);
    }
}

#[test]
fn without_the_extension_progress_shows_the_newest_chunk() {
    for era in Era::ALL {
        let called = call(era, false, true);
        assert!(called.chunks().is_empty(), "{era:?}: nobody declared the extension");
        let progress = called.progress();
        let texts: Vec<_> = progress.iter().filter_map(|report| report["message"].as_str()).collect();
        // What comes within a tenth of a second is merged; the first and the last are always sent.
        assert!((texts[0], *texts.last().unwrap()) == ("part 0", "part 7") && texts.len() <= 8, "{era:?}: {texts:?}");
        assert!(texts.is_sorted_by(|a, b| a < b), "{era:?}: {texts:?}");
        let done: Vec<_> = progress.iter().map(|report| report["progress"].to_string()).collect();
        assert!(done.iter().all(|number| number.len() <= 8), "{era:?}: what people can read: {done:?}");
        let done: Vec<_> = progress.iter().map(|report| report["progress"].as_f64().unwrap()).collect();
        assert!(done.is_sorted_by(|a, b| a < b), "{era:?}: progress must grow: {done:?}");
        assert!(progress.iter().all(|report| report["_meta"]["dev.portcullis/chunk"].is_null()), "{era:?}");
        assert_eq!(called.good(), "8 parts");
    }
}

/// Thousands of chunks in a moment.
#[test]
fn a_flood_of_chunks_is_ten_notifications_a_second() {
    for era in Era::ALL {
        let server = Server::start(&plugin("chunk-flood", "limits.fuel = 100_000_000_000"));
        let mut client = Client::new(server, era, false);
        client.progress = true;
        let called = client.run("chunk-flood", json!({"n": 9_000}));
        let (sent, took) = (called.progress().len(), (called.0.answered - called.0.sent).as_secs_f64());
        assert!(sent >= 2 && sent as f64 <= took * 10.0 + 2.0, "{era:?}: {sent} in {took} s");
        assert_eq!(called.stream()["chunks"], 9_000, "{era:?}");
    }
}

/// What the user saw is not lost for the model.
#[test]
fn a_failed_call_says_what_it_gave_before() {
    for (era, progress) in [(Era::Modern, true), (Era::Modern, false), (Era::Legacy, true), (Era::Legacy, false)] {
        let server = Server::start(&plugin("chunk-flood", "limits.output = \"100 B\""));
        let mut client = Client::new(server, era, false);
        client.progress = progress;
        let called = client.run("chunk-flood", json!({}));
        assert_eq!(called.code(), "output-exceeded");
        let log = called.stream()["log"].as_str().unwrap().to_owned();
        let note = called.result()["content"][1]["text"].as_str().unwrap().to_owned();
        assert!(note.starts_with("Before that it gave 100 partial results (100 B)."), "{era:?} {progress}: {note}");
        assert!(note.contains(&log) && note.ends_with(" The last: x"), "{era:?} {progress}: {note}");
        // The log is final a moment after the answer.
        let is_final = eventually(PATIENCE, || {
            let read = Called(client.request("resources/read", json!({"uri": log})));
            let text = read.result()["contents"][0]["text"].as_str().unwrap().to_owned();
            (text.contains("\"final\":true") && text.contains("\"next\":100")).then_some(())
        });
        assert!(is_final.is_some(), "{era:?} {progress}");
    }
    // A client with the extension has them.
    let server = Server::start(&plugin("chunk-flood", "limits.output = \"100 B\""));
    let called = Client::new(server, Era::Modern, true).run("chunk-flood", json!({}));
    assert_eq!(called.result()["content"].as_array().unwrap().len(), 1);
}

#[test]
fn a_client_that_requests_neither_gets_only_the_result() {
    for era in Era::ALL {
        let called = call(era, false, false);
        assert!(called.ends().is_empty());
        assert!(called.0.notifications.is_empty(), "{era:?}: {:?}", called.0.notifications);
        assert_eq!(called.good(), "8 parts");
        assert_eq!(called.usage()["chunks"], 8, "counted all the same");
    }
}

#[test]
fn the_result_is_the_same_for_every_client() {
    for era in Era::ALL {
        let plain = call(era, false, false).substance().to_string();
        for (extension, progress) in [(false, true), (true, false), (true, true)] {
            assert_eq!(call(era, extension, progress).substance().to_string(), plain, "{era:?} {extension} {progress}");
        }
    }
}

#[test]
fn the_extension_needs_no_token() {
    let called = call(Era::Modern, true, false);
    assert_eq!(called.chunks().len(), 8);
    assert!(called.progress().is_empty(), "no token, no progress");
}

#[test]
fn chunks_of_concurrent_calls_name_their_call() {
    let mut client = Client::new(Server::start(&plugin("slow-stream", "")), Era::Modern, true);
    client.progress = true;
    let started = std::time::Instant::now();
    let ids: Vec<_> =
        [3, 5, 7, 9].into_iter().map(|n| (n, client.begin_call("slow-stream__run", json!({"n": n})))).collect();
    let mut chunks: Vec<Value> = Vec::new();
    let mut digests = Vec::new();
    for (n, id) in &ids {
        let called = Called(client.wait(*id, started));
        assert_eq!(called.good(), format!("{n} parts"));
        digests.push(called.stream()["sha256"].clone());
        chunks.extend(called.chunks().into_iter().cloned());
    }
    for ((n, id), expected) in ids.into_iter().zip(digests) {
        let own: Vec<_> = chunks.iter().filter(|chunk| chunk["token"] == id).collect();
        let numbers: Vec<_> = own.iter().map(|chunk| chunk["seq"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (0..n).collect::<Vec<_>>());
        assert_eq!(digest(own), expected.as_str().unwrap(), "each call has the digest of its own");
    }
}

#[test]
fn the_last_chunk_is_marked_and_a_digest_covers_all_chunks() {
    for era in Era::ALL {
        let called = call(era, true, true);
        let [end] = called.ends()[..] else { panic!("{era:?}: one end, not {:?}", called.ends()) };
        assert_eq!((&end["seq"], &end["content"]), (&json!(8), &json!([])), "{era:?}");
        assert_eq!(end["token"], called.chunks()[0]["token"], "{era:?}");
        assert_eq!(called.0.notifications.last().unwrap().1["params"], *end, "{era:?}: nothing comes after the end");
        let expected = json!({"chunks": 8, "dropped": 0, "sha256": digest(called.chunks())});
        assert_eq!(*called.stream(), expected, "{era:?}");

        for progress in [true, false] {
            let logged = call(era, false, progress);
            let log = logged.stream()["log"].as_str().unwrap();
            assert!(log.starts_with("portcullis://runs/"), "{era:?}: {log}");
            assert_eq!(logged.stream()["sha256"], expected["sha256"], "{era:?}");
        }
    }
}

#[test]
fn every_kind_of_content_can_be_a_chunk() {
    for era in Era::ALL {
        let run = |extension, progress| {
            let mut client = Client::new(Server::start(&plugin("chunk-kinds", "")), era, extension);
            client.progress = progress;
            client.run("chunk-kinds", json!({}))
        };
        let called = run(true, false);
        let pieces: Vec<&Value> =
            called.chunks().into_iter().flat_map(|chunk| chunk["content"].as_array().unwrap()).collect();
        let kinds: Vec<_> = pieces.iter().map(|piece| piece["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["text", "image", "audio", "resource_link", "resource", "resource", "text"], "{era:?}");
        let audiences: Vec<_> = pieces.iter().map(|piece| piece["annotations"]["audience"].clone()).collect();
        let nobody = Value::Null;
        let expected = [
            json!(["user"]),
            json!(["user", "assistant"]),
            nobody.clone(),
            json!(["assistant"]),
            json!(["assistant"]),
            nobody.clone(),
            nobody,
        ];
        assert_eq!(audiences, expected, "{era:?}");
        assert_eq!(pieces[1]["mimeType"], "image/png");
        assert_eq!(called.stream()["sha256"], digest(called.chunks()), "{era:?}");
        for progress in [true, false] {
            assert_eq!(run(false, progress).stream()["sha256"], called.stream()["sha256"], "{era:?}");
        }
    }
}

#[test]
fn a_call_without_chunks_reports_no_stream() {
    for extension in [false, true] {
        let mut client = Client::new(Server::start(&plugin("echo", "")), Era::Modern, extension);
        let called = client.run("echo", json!({}));
        assert!(called.stream().is_null() && called.0.notifications.is_empty(), "{}", called.result());
    }
}

#[test]
fn a_failed_call_reports_its_chunks() {
    let server = Server::start(&plugin("chunk-flood", "limits.output = \"100 B\""));
    let called = Client::new(server, Era::Modern, true).run("chunk-flood", json!({}));
    assert_eq!(called.code(), "output-exceeded");
    assert_eq!((&called.stream()["chunks"], called.ends().len()), (&json!(100), 1));
    assert_eq!(called.stream()["sha256"], digest(called.chunks()));
}

#[test]
fn the_clients_mark_is_on_every_chunk() {
    for (extension, token) in [(true, Value::Null), (false, json!("p"))] {
        let mut client = Client::new(Server::start(&plugin("slow-stream", "")), Era::Modern, extension);
        let mut meta = suite::client::modern_meta(extension);
        meta["dev.portcullis/correlationId"] = json!("trip-7");
        if !token.is_null() {
            meta["progressToken"] = token;
        }
        let params = json!({"name": "slow-stream__run", "arguments": {"n": 2}, "_meta": meta});
        client.server.send(&json!({"jsonrpc": "2.0", "id": 900, "method": "tools/call", "params": params}));
        let called = Called(client.wait(900, std::time::Instant::now()));
        assert_eq!(called.result()["_meta"]["dev.portcullis/correlationId"], "trip-7");
        assert!(!called.0.notifications.is_empty());
        for (_, notification) in &called.0.notifications {
            let mark = &notification["params"]["_meta"]["dev.portcullis/correlationId"];
            assert_eq!(mark, "trip-7", "{notification}");
        }
    }
}

/// A client that does not read blocks the guest and does not make the host's memory grow.
#[test]
fn back_pressure_reaches_the_guest() {
    let (server, address) = Server::start_http(&plugin(
        "chunk-flood",
        "limits.fuel = 100_000_000_000\nlimits.chunks = 1_000_000\nlimits.output = \"64 MiB\"",
    ));
    let params = json!({"name": "chunk-flood__run", "arguments": {"n": 1_000_000}});
    let mut response = suite::http::modern(address, 1, "tools/call", params, true);
    assert_eq!(response.message().unwrap()["params"]["seq"], 0);
    // The client stops reading: the buffers fill up, then the guest blocks.
    suite::Watch::start(&server).until_idle(&server);
    let stalled = server.memory();
    assert!(stalled < 256 << 20, "{} MiB while nobody reads", stalled >> 20);
    for seq in 1..5_000 {
        assert_eq!(response.message().unwrap()["params"]["seq"], seq, "nothing was lost");
    }
    assert!(server.memory() < stalled + (16 << 20));
}
