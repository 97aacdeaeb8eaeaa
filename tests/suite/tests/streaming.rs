//! Output of a running call: chunks for those who take them, progress for those who ask, the same result for all.

use serde_json::{Value, json};
use std::time::Duration;
use suite::{Called, Client, Era, Server, plugin};

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
fn without_the_extension_chunks_are_progress() {
    for era in Era::ALL {
        let called = call(era, false, true);
        assert!(called.chunks().is_empty(), "{era:?}: nobody declared the extension");
        let progress = called.progress();
        let texts: Vec<_> = progress.iter().filter_map(|report| report["message"].as_str()).collect();
        let expected: Vec<_> = (0..8).map(|number| format!("part {number}")).collect();
        assert_eq!(texts, expected, "{era:?}");
        let done: Vec<_> = progress.iter().map(|report| report["progress"].as_f64().unwrap()).collect();
        assert!(done.is_sorted_by(|a, b| a < b), "{era:?}: progress must grow: {done:?}");
        assert_eq!(called.good(), "8 parts");
    }
}

#[test]
fn who_asks_for_nothing_gets_the_result_only() {
    for era in Era::ALL {
        let called = call(era, false, false);
        assert!(called.0.notifications.is_empty(), "{era:?}: {:?}", called.0.notifications);
        assert_eq!(called.good(), "8 parts");
        assert_eq!(called.usage()["chunks"], 8, "counted all the same");
    }
}

#[test]
fn the_result_is_the_same_however_it_was_followed() {
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
fn chunks_of_calls_at_once_are_told_apart() {
    let mut client = Client::new(Server::start(&plugin("slow-stream", "")), Era::Modern, true);
    client.progress = true;
    let started = std::time::Instant::now();
    let ids: Vec<_> =
        [3, 5, 7].into_iter().map(|n| (n, client.begin_call("slow-stream__run", json!({"n": n})))).collect();
    let mut chunks: Vec<Value> = Vec::new();
    for (n, id) in &ids {
        let called = Called(client.wait(*id, started));
        assert_eq!(called.good(), format!("{n} parts"));
        chunks.extend(called.chunks().into_iter().cloned());
    }
    for (n, id) in ids {
        let own: Vec<_> =
            chunks.iter().filter(|chunk| chunk["token"] == id).map(|chunk| chunk["seq"].as_u64().unwrap()).collect();
        assert_eq!(own, (0..n).collect::<Vec<_>>());
    }
}

/// A reader that does not read makes the guest wait; it does not make the host grow.
#[test]
fn back_pressure_reaches_the_guest() {
    let (server, address) = Server::start_http(&plugin(
        "chunk-flood",
        "limits.fuel = 100_000_000_000\nlimits.chunks = 1_000_000\nlimits.output = \"64 MiB\"",
    ));
    let params = json!({"name": "chunk-flood__run", "arguments": {"n": 1_000_000}});
    let mut response = suite::http::modern(address, 1, "tools/call", params, true);
    assert_eq!(response.message().unwrap()["params"]["seq"], 0);
    // Nobody reads on: buffers fill up, then the guest blocks.
    suite::Watch::start(&server).until_idle(&server);
    let stalled = server.memory();
    assert!(stalled < 256 << 20, "{} MiB while nobody reads", stalled >> 20);
    for seq in 1..5_000 {
        assert_eq!(response.message().unwrap()["params"]["seq"], seq, "nothing was lost");
    }
    assert!(server.memory() < stalled + (16 << 20));
}
