//! A reader that is too slow: memory stays bounded, and dropped chunks are counted.

use serde_json::{Value, json};
use std::time::Duration;
use suite::{Client, Era, Server, digest, plugin};

/// How much the host may grow for one stalled reader.
const GROWTH: u64 = 64 << 20;
/// The number of chunks that the guest sends, 1 KiB each, 10,000 per second: more than any socket buffers.
const OFFERED: u64 = 40_000;

/// Reads the first chunk of a call, stalls until the server is idle, then reads the rest. Returns the growth of the
/// server's memory, the chunks and the result.
fn stalled(overflow: &str) -> (u64, Vec<Value>, Value) {
    let limits = "limits.fuel = 100_000_000_000\nlimits.chunks = 1_000_000\nlimits.output = \"256 MiB\"\nlimits.deadline = \"5m\"";
    let config = plugin("chunk-steady", &format!("{limits}\nlimits.overflow = \"{overflow}\""));
    let (server, address) = Server::start_http(&config);
    suite::http::call(address, "chunk-steady__run", json!({"n": 1_000}), true).good();
    let before = server.memory();
    let params = json!({"name": "chunk-steady__run", "arguments": {"n": OFFERED}});
    let mut response = suite::http::modern(address, 1, "tools/call", params, true);
    let mut chunks = vec![response.message().unwrap()["params"].clone()];
    let mut peak = before;
    loop {
        let cpu = server.cpu();
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(20));
            peak = peak.max(server.memory());
        }
        if server.cpu() - cpu < Duration::from_millis(20) {
            break;
        }
    }
    let answer = loop {
        let message = response.message().unwrap();
        if message["id"] == 1 {
            break message;
        }
        chunks.push(message["params"].clone());
        peak = peak.max(server.memory());
    };
    (peak - before, chunks, answer["result"].clone())
}

#[test]
fn a_stalled_reader_blocks_the_guest_and_loses_nothing() {
    let (growth, mut chunks, result) = stalled("block");
    assert!(growth < GROWTH, "{} MiB more", growth >> 20);
    let end = chunks.pop().unwrap();
    assert_eq!((&end["seq"], &end["final"]), (&json!(OFFERED), &json!(true)));
    assert!(chunks.iter().map(|chunk| chunk["seq"].as_u64().unwrap()).eq(0..OFFERED));
    let expected = json!({"chunks": OFFERED, "dropped": 0, "sha256": digest(&chunks)});
    assert_eq!(result["_meta"]["dev.portcullis/stream"], expected);
}

#[test]
fn drop_oldest_counts_the_chunks_a_stalled_reader_loses() {
    let (growth, mut chunks, result) = stalled("drop-oldest");
    assert!(growth < GROWTH, "{} MiB more", growth >> 20);
    let end = chunks.pop().unwrap();
    assert_eq!((&end["seq"], &end["final"]), (&json!(OFFERED), &json!(true)));
    let numbers: Vec<u64> = chunks.iter().map(|chunk| chunk["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "in order");
    assert_eq!(numbers.last(), Some(&(OFFERED - 1)), "the newest is there");
    let dropped = OFFERED - numbers.len() as u64;
    assert!(dropped > 0, "{OFFERED} KiB fit into the buffers between guest and reader");
    let expected = json!({"chunks": OFFERED, "dropped": dropped, "sha256": digest(&chunks)});
    assert_eq!(result["_meta"]["dev.portcullis/stream"], expected);
}

#[test]
fn nothing_is_dropped_for_a_reader_that_keeps_up() {
    for era in Era::ALL {
        for extension in [false, true] {
            let server = Server::start(&plugin("slow-stream", "limits.overflow = \"drop-oldest\""));
            let mut client = Client::new(server, era, extension);
            client.progress = true;
            let called = client.run("slow-stream", json!({"n": 8}));
            assert_eq!((&called.stream()["chunks"], &called.stream()["dropped"]), (&json!(8), &json!(0)), "{era:?}");
            assert_eq!(called.chunks().len(), if extension { 8 } else { 0 });
        }
    }
}
