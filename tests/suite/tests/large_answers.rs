//! Answers of several MiB are processed by the threads of the compute pool, not by the main threads.

use serde_json::json;
use std::time::{Duration, Instant};
use suite::http::{call, legacy, legacy_session, modern};
use suite::{Answer, Server, plugin};

/// The CPU time of the main threads, and that of the low-priority compute threads.
fn cpu(server: &Server) -> [Duration; 2] {
    ["tokio-rt-worker", "guests"].map(|name| server.cpu_of(|thread| thread == name))
}

#[test]
fn large_answers_are_processed_off_the_main_threads() {
    let (server, address) = Server::start_http(&plugin("large", "limits.fuel = 10_000_000_000"));
    let session = legacy_session(address, true);
    // The first call also loads the plugin's code.
    call(address, "large__run", json!({"path": "text", "n": 0}), false).good();
    let mut wrong = vec![];
    for kind in ["text", "picture", "structure"] {
        let params = json!({"name": "large__run", "arguments": {"path": kind, "n": 2}});
        let mut read = params.clone();
        read["_meta"]["progressToken"] = json!(7);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": read}).to_string();
        let plain = || modern(address, 1, "tools/call", params.clone(), false);
        let streamed = || modern(address, 1, "tools/call", read.clone(), false);
        let in_session = || legacy(address, &session, "POST", &[], &body);
        let ways: [(&str, &dyn Fn() -> suite::http::Response); 3] =
            [("plain", &plain), ("streamed", &streamed), ("in a session", &in_session)];
        for (way, send) in ways {
            let before = cpu(&server);
            let answer: Answer = send().answer(1, Instant::now());
            let [main, pool] = cpu(&server);
            let [main, pool] = [main - before[0], pool - before[1]];
            assert_eq!(answer.result()["isError"], json!(false), "{kind} {way}");
            let is_streamed = kind != "structure" && way != "plain";
            assert_eq!(!answer.notifications.is_empty(), is_streamed, "{kind} {way}");
            if main > pool / 2 {
                wrong.push(format!("{kind} {way}: {main:?} on the main threads, {pool:?} in the pool"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
