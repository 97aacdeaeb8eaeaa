//! Guests that crash, or whose answers must not reach a client.

use super::Row;
use super::fixture::Fixture;
use serde_json::json;

fn run(fixture: &Fixture, guest: &str) -> String {
    fixture.run(guest, json!({}))
}

/// Whether the answer reveals host internals or contains another site's text as the host's own.
fn clean(fixture: &Fixture, guest: &str, n: u64) -> String {
    let message = fixture.call(guest, json!({"n": n}));
    let (text, is_error) = (message.to_string(), message["result"]["isError"] == true);
    let inside = ["wasmtime", "backtrace", ".cargo", "0x", "host/src", "/rustc/", "evil.example"];
    match inside.iter().find(|inside| text.contains(**inside)) {
        None if is_error => "an error without them".to_owned(),
        _ => text,
    }
}

pub(super) const ROWS: &[Row] = &[
    Row { id: "W20.2", what: "a panic", outcome: "trap", run: |g| run(g, "panic") },
    Row { id: "W20.3", what: "an unreachable instruction", outcome: "trap", run: |g| run(g, "unreachable") },
    Row { id: "W20.4", what: "leaving the process", outcome: "exited", run: |g| run(g, "exit") },
    Row { id: "W20.5", what: "dividing by zero", outcome: "trap", run: |g| run(g, "divide") },
    Row { id: "W20.6", what: "reading behind its memory", outcome: "trap", run: |g| run(g, "out-of-bounds") },
    Row {
        id: "W20.7",
        what: "calling a function as what it is not",
        outcome: "trap",
        run: |g| run(g, "wrong-signature"),
    },
    Row { id: "W20.8", what: "an answer that lies nowhere", outcome: "trap", run: |g| run(g, "answer-nowhere") },
    Row {
        id: "W20.9",
        what: "a case of a variant that does not exist",
        outcome: "trap",
        run: |g| run(g, "wrong-case"),
    },
    Row {
        id: "W20.10",
        what: "arguments to be put where there is no memory",
        outcome: "trap",
        run: |g| g.run("realloc-nowhere", json!({"a": "b"})),
    },
    Row {
        id: "W20.11",
        what: "arguments to be put at an odd address",
        outcome: "trap",
        run: |g| g.run("realloc-askew", json!({"a": "b"})),
    },
    Row { id: "M8.1", what: "text that is no UTF-8", outcome: "invalid-output", run: |g| run(g, "bad-utf8") },
    Row {
        id: "M18.1",
        what: "structured content that is no JSON",
        outcome: "invalid-output",
        run: |g| run(g, "bad-json"),
    },
    Row {
        id: "M18.2",
        what: "structured content against its schema",
        outcome: "invalid-output",
        run: |g| run(g, "wrong-schema"),
    },
    Row { id: "M18.3", what: "none, with a schema for it", outcome: "invalid-output", run: |g| run(g, "no-structure") },
    Row {
        id: "M9.1",
        what: "records and terminal commands in the log",
        outcome: "ok: forged",
        run: |g| run(g, "log-forge"),
    },
    Row {
        id: "M9.2",
        what: "advice in the host's name: a denied file",
        outcome: "an error without them",
        run: |g| clean(g, "forged-errors", 3),
    },
    Row {
        id: "M9.3",
        what: "advice in the host's name: a denied tool",
        outcome: "an error without them",
        run: |g| clean(g, "forged-errors", 4),
    },
    Row {
        id: "M9.4",
        what: "advice in the host's name: an unknown capability",
        outcome: "an error without them",
        run: |g| clean(g, "forged-errors", 5),
    },
    Row {
        id: "M22.1",
        what: "what the host is made of, in the words of a panic",
        outcome: "an error without them",
        run: |g| clean(g, "panic", 5),
    },
    Row {
        id: "M24.1",
        what: "a megabyte of messages on stdout",
        outcome: "ok: printed",
        run: |g| run(g, "stdout-noise"),
    },
    Row {
        id: "W7.8",
        what: "a chunk over the ceiling, and none",
        outcome: "both refused",
        run: |g| match (run(g, "chunk-big").contains("65536"), run(g, "chunk-empty").matches("Invalid").count()) {
            (true, 3) => "both refused".to_owned(),
            seen => format!("{seen:?}"),
        },
    },
    Row {
        id: "M20.1",
        what: "publishing more than one principal may",
        outcome: "bounded",
        run: |g| {
            let told = g.run("publish-all", json!({"n": 5_000}));
            let bounded = told.contains("escape: Err") && told.contains("large: Err") && told.contains("flood: Err");
            if bounded { "bounded".to_owned() } else { told }
        },
    },
    Row {
        id: "M25.6",
        what: "a link that is a program",
        outcome: "invalid-output",
        run: |g| g.run("links", json!({"path": "javascript:alert(document.cookie)"})),
    },
    Row {
        id: "M25.7",
        what: "a link that becomes a program where line ends are dropped",
        outcome: "invalid-output",
        run: |g| g.run("links", json!({"path": "java\nscript:alert(1)"})),
    },
    Row {
        id: "M25.8",
        what: "a link that reads backwards",
        outcome: "invalid-output",
        run: |g| g.run("links", json!({"path": "https://good.example/\u{202e}elpmaxe.live"})),
    },
];
