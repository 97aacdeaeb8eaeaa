//! Answers of several MiB are processed by the threads of the compute pool, not by the main threads; and the memory that many
//! of them take is given back.

use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};
use suite::http::{call, legacy, legacy_session, modern};
use suite::{Answer, Home, PATIENCE, Server, eventually, plugin};

/// Clients at once, and calls of each, with arguments of so many bytes.
const CLIENTS: usize = 64;
const CALLS: usize = 8;
const LARGE: usize = 200_000;
/// What the server may keep of that.
const KEPT: u64 = 40 << 20;

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
            // Whatever is done once is done now: the guest's memory grows, and its code is read from the disk.
            send().answer(1, Instant::now()).result();
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

#[test]
fn memory_of_large_answers_is_given_back() {
    let server = Server::measurable(Home::new(), &plugin("echo", ""), &["--http", "127.0.0.1:0"], |_| {});
    let address = server.address();
    let echo = |length: usize| {
        call(address, "echo__run", json!({"path": "x".repeat(length)}), false).good();
    };
    echo(1);
    server.forget_peak();
    let before = server.memory();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| (0..CALLS).for_each(|_| echo(LARGE)));
        }
    });
    let taken = server.peak_memory().saturating_sub(before);
    let kept = || server.memory().saturating_sub(before);
    let given_back = eventually(PATIENCE, || (kept() <= KEPT).then_some(()));
    println!(
        "hostile: memory: {} MiB kept of {} that {CLIENTS} clients with large answers took",
        kept() >> 20,
        taken >> 20
    );
    assert!(given_back.is_some(), "{} of {} MiB kept", kept() >> 20, taken >> 20);
}
