//! Requests that must be refused before they are handled: DNS rebinding, pages of other sites, false headers, wrong
//! credentials.

use super::Row;
use super::fixture::{Fixture, encoded};
use serde_json::{Value, json};
use suite::client::modern_meta;

fn list() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta(false)}}).to_string()
}

/// Sends a request that is valid except for these headers.
fn with(fixture: &Fixture, headers: &[(&str, &str)]) -> String {
    fixture.raw("POST", "/mcp", headers, list().as_bytes())
}

/// Sends this header to every path with every method; returns the distinct outcomes.
fn everywhere(fixture: &Fixture, header: (&str, &str)) -> String {
    let mut seen = vec![];
    for path in ["/mcp", "/health", "/ready", "/connect", "/.well-known/oauth-protected-resource", "/nowhere"] {
        for method in ["POST", "GET", "DELETE", "OPTIONS"] {
            seen.push(fixture.raw(method, path, &[header], b""));
        }
    }
    seen.sort();
    seen.dedup();
    seen.join(", ")
}

fn call(fixture: &Fixture, headers: &[(&str, &str)], arguments: Value) -> String {
    let params = json!({"name": "header-param__run", "arguments": arguments, "_meta": modern_meta(false)});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut all = vec![("Mcp-Method", "tools/call")];
    if !headers.iter().any(|(name, _)| *name == "Mcp-Name") {
        all.push(("Mcp-Name", "header-param__run"));
    }
    all.extend(headers);
    fixture.raw("POST", "/mcp", &all, body.as_bytes())
}

// Nothing was read of what these send, so their errors name no request.
const FORBIDDEN: &str = "403";
const MISMATCH: &str = "400 -32020";
const UNKNOWN: &str = "401";

pub(super) const ROWS: &[Row] = &[
    Row { id: "M1.1", what: "Host: evil.com", outcome: FORBIDDEN, run: |g| with(g, &[("Host", "evil.com")]) },
    Row {
        id: "M1.2",
        what: "Host: 127.0.0.1.nip.io",
        outcome: FORBIDDEN,
        run: |g| with(g, &[("Host", "127.0.0.1.nip.io")]),
    },
    Row {
        id: "M1.3",
        what: "Host: the metadata address",
        outcome: FORBIDDEN,
        run: |g| with(g, &[("Host", "169.254.169.254")]),
    },
    Row {
        id: "M1.4",
        what: "Host: user@localhost",
        outcome: FORBIDDEN,
        run: |g| with(g, &[("Host", "user@localhost")]),
    },
    Row {
        id: "M1.5",
        what: "Host: 2130706433, which is 127.0.0.1",
        outcome: FORBIDDEN,
        run: |g| with(g, &[("Host", "2130706433")]),
    },
    Row {
        id: "M1.6",
        what: "two Hosts",
        outcome: "400",
        run: |g| with(g, &[("Host", "localhost"), ("host", "localhost")]),
    },
    Row { id: "M1.7", what: "no Host", outcome: "400", run: |g| with(g, &[("Host", "-")]) },
    Row {
        id: "M1.8",
        what: "another host in the request's target",
        outcome: FORBIDDEN,
        run: |g| g.raw("POST", "http://evil.com/mcp", &[], list().as_bytes()),
    },
    // Served: a forwarded port looks like that, and a browser names the port that it connects to. So a page that is not
    // ours cannot make a browser send this, except with its own Origin.
    Row { id: "M1.15", what: "Host: localhost:1", outcome: "200", run: |g| with(g, &[("Host", "localhost:1")]) },
    Row {
        id: "M1.16",
        what: "the same, from a page at another port",
        outcome: FORBIDDEN,
        run: |g| with(g, &[("Host", "localhost:1"), ("Origin", "http://localhost:2")]),
    },
    Row {
        id: "M1.17",
        what: "the same, from a page of another host at that port",
        outcome: FORBIDDEN,
        run: |g| with(g, &[("Host", "localhost:1"), ("Origin", "http://127.0.0.1.nip.io:1")]),
    },
    Row {
        id: "M1.18",
        what: "the same port at another host",
        outcome: FORBIDDEN,
        run: |g| with(g, &[("Host", "127.0.0.1.nip.io:1"), ("Origin", "http://127.0.0.1.nip.io:1")]),
    },
    Row { id: "M1.9", what: "Origin: http://evil", outcome: FORBIDDEN, run: |g| with(g, &[("Origin", "http://evil")]) },
    Row { id: "M1.10", what: "Origin: null", outcome: FORBIDDEN, run: |g| with(g, &[("Origin", "null")]) },
    Row {
        id: "M1.11",
        what: "Origin: another port of this machine",
        outcome: FORBIDDEN,
        run: |g| with(g, &[("Origin", "http://localhost:3000")]),
    },
    Row {
        id: "M1.12",
        what: "two Origins",
        outcome: FORBIDDEN,
        run: |g| with(g, &[("Origin", "http://evil"), ("origin", "http://localhost")]),
    },
    Row {
        id: "M1.13",
        what: "a foreign Origin at every path by every method",
        outcome: FORBIDDEN,
        run: |g| everywhere(g, ("Origin", "http://evil")),
    },
    Row {
        id: "M1.14",
        what: "a foreign Host at every path by every method",
        outcome: FORBIDDEN,
        run: |g| everywhere(g, ("Host", "evil.com")),
    },
    Row { id: "M13.1", what: "no credential", outcome: UNKNOWN, run: |g| with(g, &[("Authorization", "-")]) },
    Row {
        id: "M13.2",
        what: "a key that was made up",
        outcome: UNKNOWN,
        run: |g| with(g, &[("Authorization", "Bearer portcullis_AAAA")]),
    },
    Row {
        id: "M13.3",
        what: "a key but for its last character",
        outcome: UNKNOWN,
        run: |g| {
            let mut key = g.bearer(super::Who::Alice);
            key.pop();
            with(g, &[("Authorization", &key)])
        },
    },
    Row {
        id: "M13.4",
        what: "two credentials",
        outcome: UNKNOWN,
        run: |g| with(g, &[("Authorization", &g.bearer(super::Who::Alice)), ("authorization", "Bearer x")]),
    },
    Row {
        id: "M13.5",
        what: "a token that is not signed",
        outcome: UNKNOWN,
        run: |g| with(g, &[("Authorization", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.")]),
    },
    Row {
        id: "M13.6",
        what: "a good key in the query",
        outcome: UNKNOWN,
        run: |g| {
            let key = g.bearer(super::Who::Alice).replace("Bearer ", "");
            g.raw("POST", &format!("/mcp?access_token={key}"), &[("Authorization", "-")], list().as_bytes())
        },
    },
    Row {
        id: "M13.7",
        what: "other spellings of the path, without a credential",
        outcome: UNKNOWN,
        run: |g| {
            let mut seen: Vec<_> = ["/mcp/", "/%6dcp", "/mcp%2f", "//mcp", "/MCP", "/health/../mcp", "/mcp;/health"]
                .map(|path| g.raw("POST", path, &[("Authorization", "-")], list().as_bytes()))
                .into();
            seen.dedup();
            seen.join(", ")
        },
    },
    Row { id: "M2.1", what: "no method in the headers", outcome: MISMATCH, run: |g| with(g, &[("Mcp-Method", "-")]) },
    Row { id: "M2.2", what: "another method", outcome: MISMATCH, run: |g| with(g, &[("Mcp-Method", "tools/call")]) },
    Row { id: "M2.3", what: "no version", outcome: MISMATCH, run: |g| with(g, &[("MCP-Protocol-Version", "-")]) },
    Row {
        id: "M2.4",
        what: "another version",
        outcome: MISMATCH,
        run: |g| with(g, &[("MCP-Protocol-Version", "2025-11-25")]),
    },
    Row {
        id: "M2.5",
        what: "two methods",
        outcome: MISMATCH,
        run: |g| with(g, &[("Mcp-Method", "tools/list"), ("mcp-method", "tools/list")]),
    },
    Row { id: "M2.6", what: "no name", outcome: MISMATCH, run: |g| call(g, &[("Mcp-Name", "-")], json!({})) },
    Row {
        id: "M2.7",
        what: "another name",
        outcome: MISMATCH,
        run: |g| call(g, &[("Mcp-Name", "echo__run")], json!({})),
    },
    Row {
        id: "M2.8",
        what: "a name in base64 that is none",
        outcome: MISMATCH,
        run: |g| call(g, &[("Mcp-Name", "=?base64?!!!?=")], json!({})),
    },
    Row {
        id: "M2.9",
        what: "a name with a line break behind it, in base64",
        outcome: MISMATCH,
        run: |g| call(g, &[("Mcp-Name", &encoded("header-param__run\r\n"))], json!({})),
    },
    Row {
        id: "M2.10",
        what: "an argument that the header does not say",
        outcome: MISMATCH,
        run: |g| call(g, &[], json!({"region": "eu"})),
    },
    Row {
        id: "M2.11",
        what: "an argument that the header says otherwise",
        outcome: MISMATCH,
        run: |g| call(g, &[("Mcp-Param-Region", "us")], json!({"region": "eu"})),
    },
    Row {
        id: "M2.12",
        what: "a header's argument that is no UTF-8",
        outcome: MISMATCH,
        run: |g| call(g, &[("Mcp-Param-Region", "=?base64?/w==?=")], json!({"region": "eu"})),
    },
];
