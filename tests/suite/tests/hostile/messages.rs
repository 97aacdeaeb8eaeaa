//! Messages that are too large, too deeply nested, or invalid.

use super::Row;
use super::fixture::{Fixture, Who, outcome};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use suite::client::modern_meta;
use suite::http::request;

fn post(fixture: &Fixture, body: &[u8]) -> String {
    fixture.raw("POST", "/mcp", &[], body)
}

/// Sends a valid request with this JSON text in its params.
fn with(fixture: &Fixture, more: &str) -> String {
    let meta = modern_meta(false);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta},"x":{more}}}}}"#);
    post(fixture, body.as_bytes())
}

/// Runs `what` and adds the memory growth to its outcome if it is above the limit.
fn grows(fixture: &Fixture, limit: u64, what: impl FnOnce() -> String) -> String {
    let before = fixture.server().memory();
    let seen = what();
    let grown = fixture.settled(before + limit).saturating_sub(before);
    if grown <= limit { seen } else { format!("{seen}, and {} MiB more", grown >> 20) }
}

fn read(fixture: &Fixture, uri: &str) -> String {
    outcome(&fixture.ask(Who::Alice, "resources/read", json!({"uri": uri})))
}

/// The distinct consecutive outcomes of reading these URIs.
fn read_all(fixture: &Fixture, uris: &[&str]) -> String {
    let mut seen: Vec<_> = uris.iter().map(|uri| read(fixture, uri)).collect();
    seen.dedup();
    seen.join(", ")
}

/// Calls `echo`, whose schema is strict.
fn echo(fixture: &Fixture, arguments: Value) -> String {
    fixture.run("echo", arguments)
}

pub(super) const ROWS: &[Row] = &[
    Row {
        id: "M18.4",
        what: "a body of 5 MiB",
        outcome: "413 -32600",
        run: |g| with(g, &format!("\"{}\"", "x".repeat(5 << 20))),
    },
    Row {
        id: "M18.5",
        what: "the same in chunks, of no length beforehand",
        outcome: "413",
        run: |g| {
            let head = g.head("POST", "/mcp", &[("Transfer-Encoding", "chunked"), ("Content-Length", "-")], None);
            let chunk = format!("10000\r\n{}\r\n", "x".repeat(1 << 16));
            let text = g.bytes(&head, (chunk.repeat(80) + "0\r\n\r\n").as_bytes());
            text.split(' ').nth(1).unwrap_or("nothing").to_owned()
        },
    },
    Row {
        id: "M18.6",
        what: "a length of 100 MiB, and then nothing",
        outcome: "nothing is kept for it",
        run: |g| {
            let head = g.head("POST", "/mcp", &[("Content-Length", "104857600")], None);
            grows(g, 8 << 20, || {
                let streams: Vec<_> = (0..20)
                    .map(|_| {
                        let mut stream = std::net::TcpStream::connect(g.address).unwrap();
                        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
                        stream
                    })
                    .collect();
                drop(streams);
                "nothing is kept for it".to_owned()
            })
        },
    },
    Row { id: "M18.7", what: "100,000 brackets", outcome: "400", run: |g| post(g, "[".repeat(100_000).as_bytes()) },
    Row {
        id: "M18.8",
        what: "100,000 brackets inside a request",
        outcome: "400 -32600",
        run: |g| with(g, &("[".repeat(100_000) + &"]".repeat(100_000))),
    },
    Row {
        id: "M18.9",
        what: "a hundred thousand keys",
        outcome: "200",
        run: |g| {
            let mut keys = String::from("{\"a\":0");
            for number in 0..100_000 {
                let _ = write!(keys, ",\"{number}\":0");
            }
            grows(g, 32 << 20, || with(g, &(keys + "}")))
        },
    },
    Row {
        id: "M18.26",
        what: "a million keys",
        outcome: "413 -32600",
        run: |g| {
            let mut keys = String::from("{\"a\":0");
            for number in 0..1_000_000 {
                let _ = write!(keys, ",\"{number}\":0");
            }
            with(g, &(keys + "}"))
        },
    },
    Row { id: "M18.10", what: "the number 1e999999", outcome: "400 -32700", run: |g| with(g, "1e999999") },
    Row {
        id: "M18.11",
        what: "a number of a million digits",
        outcome: "400 -32700",
        run: |g| with(g, &"9".repeat(1_000_000)),
    },
    Row {
        id: "M18.12",
        what: "bytes that are no UTF-8",
        outcome: "400 -32700",
        run: |g| post(g, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}"),
    },
    Row { id: "M18.13", what: "half of a surrogate", outcome: "400 -32700", run: |g| with(g, r#""\ud800""#) },
    Row {
        id: "M18.14",
        what: "a batch",
        outcome: "400",
        run: |g| post(g, br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#),
    },
    Row {
        id: "M18.15",
        what: "a null id",
        outcome: "400",
        run: |g| post(g, br#"{"jsonrpc":"2.0","id":null,"method":"tools/list","params":{}}"#),
    },
    Row {
        id: "M18.16",
        what: "two answers in one message",
        outcome: "400 -32600",
        run: |g| post(g, br#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}"#),
    },
    Row {
        id: "M18.17",
        what: "an answer to a question that nobody asked",
        outcome: "400 -32600",
        run: |g| post(g, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
    },
    Row { id: "M18.18", what: "nothing", outcome: "400", run: |g| post(g, b"") },
    Row {
        id: "M18.19",
        what: "a form, as another site's page can send it",
        outcome: "415",
        run: |g| g.raw("POST", "/mcp", &[("Content-Type", "text/plain")], br#"{"jsonrpc":"2.0"}"#),
    },
    Row {
        id: "M18.20",
        what: "two lengths",
        outcome: "400",
        run: |g| g.raw("POST", "/mcp", &[("Content-Length", "2"), ("content-length", "20")], b"{}"),
    },
    Row {
        id: "M18.21",
        what: "a length and chunks at once (request smuggling)",
        outcome: "one answer",
        run: |g| {
            let head = g.head("POST", "/mcp", &[("Content-Length", "4"), ("Transfer-Encoding", "chunked")], None);
            let text = g.bytes(&head, b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
            match text.matches("HTTP/1.1 ").count() {
                1 => "one answer".to_owned(),
                _ => text,
            }
        },
    },
    Row { id: "M18.22", what: "headers of 1 MiB", outcome: "431", run: headers },
    Row {
        id: "M18.23",
        what: "arguments against the schema",
        outcome: "invalid-arguments",
        run: |g| echo(g, json!({"n": "three"})),
    },
    Row {
        id: "M18.24",
        what: "arguments that nobody asked for",
        outcome: "invalid-arguments",
        run: |g| echo(g, json!({"__proto__": {"n": 1}})),
    },
    Row {
        id: "M18.25",
        what: "arguments that are no object",
        outcome: "200 -32602",
        run: |g| {
            let params = json!({"name": "echo__run", "arguments": [1], "_meta": modern_meta(false)});
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
            g.raw("POST", "/mcp", &[("Mcp-Method", "tools/call"), ("Mcp-Name", "echo__run")], body.as_bytes())
        },
    },
    Row {
        id: "M19.7",
        what: "an argument for a pattern that backtracks for ever",
        outcome: "bounded",
        run: |g| {
            let schema = r#"{"type":"object","properties":{"path":{"type":"string","pattern":"^(a+)+$"}}}"#;
            let began = Instant::now();
            let said = g.check(&suite::forge::with_schema("(func $run)", schema));
            if said == "loaded" && began.elapsed() < Duration::from_secs(20) { "bounded".to_owned() } else { said }
        },
    },
    Row {
        id: "M16.1",
        what: "files as resources",
        outcome: "-32602",
        run: |g| {
            read_all(
                g,
                &[
                    "file:///etc/passwd",
                    "file:///work/../etc/passwd",
                    "file://host/..",
                    "file:///work_evil/x",
                    "/etc/passwd",
                ],
            )
        },
    },
    Row {
        id: "M16.2",
        what: "resources by encoded dots",
        outcome: "-32602",
        run: |g| {
            read_all(
                g,
                &[
                    "test://%2e%2e%2f%2e%2e%2fetc/passwd",
                    "portcullis://published/..%2f..%2fbob",
                    "portcullis://published/../../x",
                ],
            )
        },
    },
    Row {
        id: "M16.3",
        what: "a resource with a NUL in its name",
        outcome: "-32602",
        run: |g| read(g, "test://text\0.txt"),
    },
    Row {
        id: "M20.2",
        what: "300 names of tools that are none",
        outcome: "-32602",
        run: |g| {
            grows(g, 8 << 20, || {
                let mut seen: Vec<_> = (0..300)
                    .map(|number| outcome(&g.ask(Who::Alice, "tools/call", json!({"name": format!("x{number}__run")}))))
                    .collect();
                seen.dedup();
                seen.join(", ")
            })
        },
    },
    Row {
        id: "M20.3",
        what: "200 handshakes that go wrong",
        outcome: "no session",
        run: |g| {
            let bearer = g.bearer(Who::Alice);
            grows(g, 8 << 20, || {
                for number in 0..200 {
                    let hello = json!({"jsonrpc": "2.0", "id": number, "method": "initialize", "params": {"protocolVersion": 7}});
                    let response = request(g.address, "POST", &[("Authorization", &bearer)], &hello.to_string());
                    if let Some(session) = response.header("mcp-session-id") {
                        return format!("session {session}");
                    }
                }
                "no session".to_owned()
            })
        },
    },
    Row {
        id: "M21.1",
        what: "lists that others may be shown from a cache: those that all get",
        outcome: "public, private",
        run: |g| {
            let mut seen: Vec<_> = ["tools/list", "resources/list", "prompts/list"]
                .map(|method| g.ask(Who::Alice, method, json!({}))["result"]["cacheScope"].to_string().replace('"', ""))
                .into();
            seen.dedup();
            seen.join(", ")
        },
    },
];

fn headers(fixture: &Fixture) -> String {
    let long = "x".repeat(1 << 20);
    fixture.raw("POST", "/mcp", &[("X-Long", &long)], b"{}")
}
