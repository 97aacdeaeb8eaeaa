//! Chunks of nested tool calls: they join the sequence of the client's one open call, and each names its origin.

use serde_json::{Value, json};
use suite::{Called, Client, Era, Server, Watch, agent, digest, plugin};

const ALL: &str = r#"grants.agent-tools = ["*.*"]"#;
const ORIGIN: &str = "dev.portcullis/origin";

/// A plugin and the tools that it calls: two that stream, and one that calls another tool in turn.
fn family(settings: &str) -> String {
    plugin("pass-on", &format!("{ALL}\n{settings}"))
        + &agent("slow", "slow-stream", "")
        + &agent("quick", "chunk-flood", "limits.fuel = 100_000_000_000")
        + &agent("between", "pass-on", ALL)
        + &plugin("relay", ALL)
}

fn chunk_text(chunk: &Value) -> &str {
    chunk["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in the chunk {chunk}"))
}

/// The texts of the chunks of one origin, in order of arrival.
fn of_origin<'a>(chunks: &[&'a Value], origin: &[&str]) -> Vec<&'a str> {
    let from = |chunk: &Value| match &chunk["_meta"][ORIGIN] {
        Value::Null => origin.is_empty(),
        named => *named == json!(origin),
    };
    chunks.iter().filter(|chunk| from(chunk)).map(|chunk| chunk_text(chunk)).collect()
}

#[test]
fn nested_chunks_join_the_callers_sequence_with_their_origin() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&family("")), era, true);
        let called = client.run("pass-on", json!({"path": "slow.run", "n": 3}));
        assert_eq!(called.good(), "slow.run: ok", "{era:?}");
        let chunks = called.chunks();
        let words: Vec<_> = chunks.iter().map(|chunk| chunk_text(chunk)).collect();
        assert_eq!(words, ["before", "part 0", "part 1", "part 2", "after"], "{era:?}");
        let numbers: Vec<_> = chunks.iter().map(|chunk| chunk["seq"].as_u64().unwrap()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4], "{era:?}");
        assert_eq!(of_origin(&chunks, &[]), ["before", "after"], "{era:?}: its own say nothing of an origin");
        assert_eq!(of_origin(&chunks, &["slow.run"]).len(), 3, "{era:?}");
        assert!(
            chunks.iter().all(|chunk| chunk["token"] == chunks[0]["token"]),
            "{era:?}: they are chunks of one call"
        );
        assert_eq!(called.ends().len(), 1, "{era:?}");
        assert_eq!(called.stream()["sha256"], digest(chunks), "{era:?}: the hash is over all of them");
        assert_eq!(called.usage()["chunks"], 5, "{era:?}");
    }
}

#[test]
fn parallel_nested_tools_each_keep_their_chunk_order() {
    let mut client = Client::new(Server::start(&family("")), Era::Modern, true);
    let called = client.run("pass-on", json!({"path": "slow.run,quick.run,between.run>slow.run", "n": 20}));
    // The cycle check applies to each chain, so `slow.run` may be in two chains.
    assert_eq!(called.good(), "slow.run: ok\nquick.run: ok\nbetween.run: ok");
    let chunks = called.chunks();
    let numbers: Vec<_> = chunks.iter().map(|chunk| chunk["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..64).collect::<Vec<_>>(), "2 of its own, 20 of each, 2 of the one between");
    let parts: Vec<_> = (0..20).map(|number| format!("part {number}")).collect();
    assert_eq!(of_origin(&chunks, &["slow.run"]), parts);
    assert_eq!(of_origin(&chunks, &["between.run", "slow.run"]), parts);
    assert_eq!(of_origin(&chunks, &["between.run"]), ["before", "after"]);
    assert_eq!(of_origin(&chunks, &["quick.run"]), ["x"; 20]);
    let slow = chunks.iter().rposition(|chunk| chunk["_meta"][ORIGIN] == json!(["slow.run"])).unwrap();
    let deep = chunks.iter().position(|chunk| chunk["_meta"][ORIGIN] == json!(["between.run", "slow.run"])).unwrap();
    assert!(deep < slow, "they ran at the same time");
    assert_eq!(called.stream()["sha256"], digest(chunks));
}

#[test]
fn run_logs_name_the_origin_too() {
    let mut client = Client::new(Server::start(&family("")), Era::Modern, false);
    for progress in [true, false] {
        client.progress = progress;
        let called = client.run("pass-on", json!({"path": "between.run>slow.run", "n": 1}));
        let log = called.stream()["log"].as_str().unwrap().to_owned();
        let read = client.request("resources/read", json!({"uri": log}));
        let document: Value = serde_json::from_str(read.result()["contents"][0]["text"].as_str().unwrap()).unwrap();
        let chunks: Vec<&Value> = document["chunks"].as_array().unwrap().iter().collect();
        assert_eq!(chunks.len(), 5);
        assert_eq!(of_origin(&chunks, &["between.run", "slow.run"]), ["part 0"]);
        assert_eq!(of_origin(&chunks, &["between.run"]), ["before", "after"]);
        assert_eq!(digest(chunks), called.stream()["sha256"].as_str().unwrap());
    }
}

#[test]
fn chunks_are_not_forwarded_unless_requested() {
    let mut client = Client::new(Server::start(&family("")), Era::Modern, true);
    let called = client.run("relay", json!({"path": "slow.run", "n": 2}));
    assert_eq!(called.good(), "2 parts");
    assert!(called.chunks().is_empty() && called.stream().is_null(), "{}", called.result());
}

/// Output of a nested tool counts towards the caller's limits, and the nested tool gets an error that names the limit.
#[test]
fn the_callers_limits_bound_forwarded_chunks() {
    let mut client = Client::new(Server::start(&family("limits.chunks = 10")), Era::Modern, true);
    let called = client.run("pass-on", json!({"path": "slow.run,quick.run", "n": 50}));
    let told = called.good();
    assert!(told.contains("slow.run: ToolError::Failed") && told.contains("Chunks"), "{told}");
    assert!(told.contains("quick.run: ok"), "it goes on without a reader: {told}");
    assert_eq!((called.chunks().len(), called.usage()["chunks"].as_u64()), (10, Some(10)));
    assert_eq!(called.stream()["sha256"], digest(called.chunks()));

    let mut client = Client::new(Server::start(&family("limits.output = \"200 B\"")), Era::Modern, true);
    let called = client.run("pass-on", json!({"path": "slow.run", "n": 50}));
    assert!(called.usage()["outputBytes"].as_u64().unwrap() <= 400, "{}", called.result());
    let size: usize = called.chunks().iter().map(|chunk| chunk_text(chunk).len()).sum();
    assert!((150..=200).contains(&size), "{size} bytes passed");
}

#[test]
fn back_pressure_reaches_the_nested_tool() {
    let limits = "limits.fuel = 400_000_000_000\nlimits.chunks = 1_000_000\nlimits.output = \"64 MiB\"";
    let config = plugin("pass-on", &format!("{ALL}\n{limits}")) + &agent("flood", "chunk-flood", limits);
    let (server, address) = Server::start_http(&config);
    let params = json!({"name": "pass-on__run", "arguments": {"path": "flood.run", "n": 1_000_000}});
    let mut response = suite::http::modern(address, 1, "tools/call", params, true);
    assert_eq!(response.message().unwrap()["params"]["seq"], 0);
    // The client stops reading: buffers fill up, then the nested tool blocks.
    Watch::start(&server).until_idle(&server);
    let stalled = server.memory();
    assert!(stalled < 256 << 20, "{} MiB while nobody reads", stalled >> 20);
    for seq in 1..5_000 {
        let chunk = response.message().unwrap();
        assert_eq!(chunk["params"]["seq"], seq, "nothing was lost");
        assert_eq!(chunk["params"]["_meta"][ORIGIN], json!(["flood.run"]));
    }
    assert!(server.memory() < stalled + (16 << 20));
}

#[test]
fn drop_oldest_applies_to_chunks_of_every_origin() {
    let limits = "limits.fuel = 400_000_000_000\nlimits.chunks = 1_000_000\nlimits.output = \"64 MiB\"";
    let config = plugin("pass-on", &format!("{ALL}\n{limits}\nlimits.overflow = \"drop-oldest\""))
        + &agent("flood", "chunk-flood", limits);
    let mut client = Client::new(Server::start(&config), Era::Modern, true);
    let called = client.run("pass-on", json!({"path": "flood.run,flood.run", "n": 2_000}));
    let (chunks, stream) = (called.chunks(), called.stream());
    assert_eq!(stream["chunks"], 4_002, "{}", called.result());
    assert_eq!(chunks.len() as u64 + stream["dropped"].as_u64().unwrap(), 4_002);
    let numbers: Vec<_> = chunks.iter().map(|chunk| chunk["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "no number twice, none late");
    assert_eq!((numbers.last(), stream["sha256"].as_str().unwrap()), (Some(&4_001), digest(chunks).as_str()));
}

#[test]
fn no_nested_chunks_arrive_after_a_cancel() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&(family("") + &plugin("echo", ""))), era, true);
        let id = client.begin_call("pass-on__run", json!({"path": "slow.run,between.run>slow.run", "n": 200}));
        while client.wait_for(Called::CHUNK)["params"]["_meta"][ORIGIN] != json!(["between.run", "slow.run"]) {}
        client.cancel(id);
        // Chunks that were under way arrive until the server is idle; a tool still running would send more within 50 ms.
        Watch::start(&client.server).until_idle(&client.server);
        client.check_alive();
        Watch::start(&client.server).until_idle(&client.server);
        let answered = client.run("echo", json!({}));
        assert!(answered.chunks().is_empty(), "{era:?}: {:?}", answered.0.notifications);
        assert!(!client.is_answered(id), "{era:?}");
    }
}
