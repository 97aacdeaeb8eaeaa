//! Guests that use too much fuel, time, memory, tables, handles, stack or host work.

use super::Row;
use super::fixture::Fixture;
use serde_json::json;
use std::time::{Duration, Instant};

fn run(fixture: &Fixture, guest: &str) -> String {
    fixture.run(guest, json!({}))
}

/// The error code, and whether the fuel used is at the limit and at most 1 % above it.
fn metered(fixture: &Fixture, guest: &str) -> String {
    let called = fixture.called(guest, json!({}));
    let (used, limit) = (called.number("used"), called.number("limit"));
    let exact = limit <= used && used <= limit + limit / 100;
    format!("{} at {}", called.code(), if exact { "its limit".to_owned() } else { format!("{used} of {limit}") })
}

/// Runs concurrent calls; returns their number and outcome if it is the same for all.
fn at_once(fixture: &Fixture, guest: &str, times: usize) -> String {
    let seen: Vec<_> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..times).map(|_| scope.spawn(|| run(fixture, guest))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let first = &seen[0];
    if seen.iter().all(|one| one == first) { format!("{times} {first}") } else { format!("{seen:?}") }
}

pub(super) const ROWS: &[Row] = &[
    Row { id: "W1.1", what: "an endless loop", outcome: "fuel-exhausted at its limit", run: |g| metered(g, "spin") },
    Row {
        id: "W1.2",
        what: "an endless chain of tail calls",
        outcome: "fuel-exhausted at its limit",
        run: |g| metered(g, "tail-call"),
    },
    Row {
        id: "W17.2",
        what: "an endless loop behind a typed call (GHSA-m63x)",
        outcome: "fuel-exhausted at its limit",
        run: |g| metered(g, "typed-call"),
    },
    Row { id: "W1.3", what: "an endless loop, metered by time", outcome: "cpu-exhausted", run: |g| run(g, "ticks") },
    Row {
        id: "W1.4",
        what: "an endless fill of 60 MiB, few instructions",
        outcome: "fuel-exhausted",
        run: |g| run(g, "bulk"),
    },
    Row {
        id: "W1.5",
        what: "an endless fill of a table, few instructions",
        outcome: "fuel-exhausted",
        run: |g| run(g, "table-fill"),
    },
    Row { id: "W1.6", what: "waiting for ever", outcome: "deadline-exceeded", run: |g| run(g, "wait-forever") },
    Row {
        id: "W2.1",
        what: "a loop in `cabi_realloc`, before the tool runs",
        outcome: "fuel-exhausted",
        run: |g| g.run("spin-realloc", json!({"path": "x".repeat(5000)})),
    },
    Row {
        id: "W2.2",
        what: "a loop in `post-return`, after the answer",
        outcome: "fuel-exhausted",
        run: |g| run(g, "spin-post-return"),
    },
    Row { id: "W2.3", what: "a loop in a destructor", outcome: "fuel-exhausted", run: |g| run(g, "spin-destructor") },
    Row {
        id: "W2.4",
        what: "a loop behind the answer's last byte",
        outcome: "fuel-exhausted",
        run: |g| run(g, "spin-after"),
    },
    Row { id: "W3.1", what: "a gigabyte at once", outcome: "memory-exceeded", run: |g| run(g, "eat-memory") },
    Row { id: "W3.2", what: "page by page", outcome: "memory-exceeded", run: |g| run(g, "eat-memory-slowly") },
    Row {
        id: "W3.3",
        what: "page by page, stopping where it may not",
        outcome: "ok: 1024",
        run: |g| run(g, "grow-politely"),
    },
    Row { id: "W3.4", what: "`memory.grow -1`", outcome: "memory-exceeded", run: |g| run(g, "memory-grow-wrap") },
    Row { id: "W4.1", what: "a table of a million elements", outcome: "table-exceeded", run: |g| run(g, "table-grow") },
    Row {
        id: "W4.2",
        what: "a table whose size wraps around (GHSA-p8xm)",
        outcome: "fuel-exhausted",
        run: |g| run(g, "table-grow-wrap"),
    },
    Row {
        id: "W4.3",
        what: "a million handles of the host's",
        outcome: "handles-exceeded",
        run: |g| run(g, "handles"),
    },
    Row {
        id: "W4.4",
        what: "a million open files",
        outcome: "failed: 63: Quota exceeded (os error 19)",
        run: |g| run(g, "open-files"),
    },
    Row {
        id: "W4.5",
        what: "a million `resource.new` of its own",
        outcome: "handles-exceeded",
        run: |g| run(g, "resource-flood"),
    },
    Row { id: "W5.1", what: "a recursion without end", outcome: "stack-overflow", run: |g| run(g, "recursion") },
    Row { id: "W5.2", what: "the same through a table", outcome: "stack-overflow", run: |g| run(g, "deep-call") },
    Row {
        id: "W5.3",
        what: "the same with results that must be kept",
        outcome: "stack-overflow",
        run: |g| run(g, "fat-frames"),
    },
    Row {
        id: "W6.1",
        what: "asking for the time without end",
        outcome: "fuel-exhausted",
        run: |g| run(g, "clock-flood"),
    },
    Row { id: "W6.2", what: "logging without end", outcome: "fuel-exhausted", run: |g| run(g, "log-flood") },
    Row {
        id: "W6.3",
        what: "more chunks than it may send",
        outcome: "500 and no more",
        run: |g| match run(g, "chunk-flood").starts_with("ok: sent 500, then ") {
            true => "500 and no more".to_owned(),
            false => run(g, "chunk-flood"),
        },
    },
    Row { id: "W7.1", what: "an answer of 100 MiB", outcome: "hostcall-exceeded", run: |g| run(g, "giant-result") },
    Row {
        id: "W7.2",
        what: "an answer over the ceiling on output",
        outcome: "output-exceeded",
        run: |g| run(g, "result-over-output"),
    },
    Row { id: "W7.3", what: "a string of 64 MiB", outcome: "hostcall-exceeded", run: |g| run(g, "giant-string") },
    Row { id: "W7.4", what: "60,000 times the same 32 KiB", outcome: "hostcall-exceeded", run: |g| run(g, "amplify") },
    Row { id: "W7.5", what: "2 GiB of random bytes", outcome: "fuel-exhausted", run: |g| run(g, "random-flood") },
    Row {
        id: "W7.6",
        what: "2^40 random bytes",
        outcome: "fuel-exhausted",
        run: |g| g.run("random", json!({"n": 1_u64 << 40})),
    },
    Row {
        id: "W7.7",
        what: "a list that is longer than all numbers",
        outcome: "trap",
        run: |g| run(g, "answer-overflow"),
    },
    Row {
        id: "W18.1",
        what: "32 endless loops at once on two threads",
        outcome: "32 fuel-exhausted",
        run: |g| at_once(g, "spin", 32),
    },
    Row {
        id: "W18.2",
        what: "64 calls that wait for ever at once",
        outcome: "64 deadline-exceeded",
        run: |g| at_once(g, "wait-forever", 64),
    },
    Row {
        id: "W19.1",
        what: "16 clients hang up while their calls compute",
        outcome: "all ended",
        run: |g| {
            let calls: Vec<_> = (0..16).map(|_| g.hang("patient")).collect();
            suite::Watch::until_busy(&g.server());
            drop(calls);
            let began = Instant::now();
            g.until_idle();
            // Each call would compute for longer than this if it were not ended.
            if began.elapsed() < Duration::from_secs(5) {
                "all ended".to_owned()
            } else {
                format!("{:?}", began.elapsed())
            }
        },
    },
    Row {
        id: "W13.1",
        what: "timing others by the clocks",
        outcome: "whole milliseconds",
        run: |g| {
            let message = g.call("stopwatch", json!({}));
            let seen = &message["result"]["structuredContent"];
            let whole = |unit: &serde_json::Value| unit.as_u64().is_some_and(|unit| unit >= STEP && unit % STEP == 0);
            let both =
                |which: &str| seen[which].as_array().is_some_and(|units| units.len() == 2 && units.iter().all(whole));
            if both("units") && both("told") { "whole milliseconds".into() } else { message.to_string() }
        },
    },
];

/// The resolution of a guest's clocks, in nanoseconds.
const STEP: u64 = 1_000_000;
