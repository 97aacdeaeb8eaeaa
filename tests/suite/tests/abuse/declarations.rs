//! Invalid, missing and changed declarations of a client.

use super::Case;
use super::fixture::{Fixture, Who, decent, declaring, good, one, tool};
use serde_json::{Value, json};

fn called(fixture: &Fixture, capabilities: &Value) -> String {
    fixture.run("calls", one("tools.get"), capabilities).outcome()
}

/// Calls a tool twice, where the second round declares something else.
fn second_round(fixture: &Fixture, capabilities: &Value) -> String {
    let script = json!([{"call": {"name": "tools.get"}}, {"call": {"name": "tools.get"}}]);
    let first = fixture.run("calls", script, &decent());
    let params = first.retry(first.all(&good()));
    fixture.send(Who::Alice, params, capabilities).outcome()
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "a tool that the client did not declare",
        outcome: "unknown-tool",
        run: |fixture| fixture.run("calls", one("tools.delete"), &decent()).outcome(),
    },
    Case { what: "no declaration at all", outcome: "not-supported", run: |fixture| called(fixture, &json!({})) },
    Case {
        what: "allowServerCalls is false",
        outcome: "not-supported",
        run: |fixture| called(fixture, &declaring(&[tool("tools.get")], json!({"allowServerCalls": false}))),
    },
    Case {
        what: "allowServerCalls is a text that says true",
        outcome: "not-supported",
        run: |fixture| called(fixture, &declaring(&[tool("tools.get")], json!({"allowServerCalls": "true"}))),
    },
    Case {
        what: "the declaration is missing on the second request",
        outcome: "not-supported, not-supported",
        run: |fixture| second_round(fixture, &json!({})),
    },
    Case {
        what: "the tool is missing on the second request",
        outcome: "ok, unknown-tool",
        run: |fixture| second_round(fixture, &declaring(&[tool("tools.put")], json!({}))),
    },
    Case {
        what: "a tool that the client declared and nobody granted",
        outcome: "denied",
        run: |fixture| fixture.run("narrow", one("tools.put"), &decent()).outcome(),
    },
    Case {
        what: "what the plugin is shown of two tools, one granted",
        outcome: "1 tools.get",
        run: |fixture| fixture.run("narrow", json!([{"list": true}]), &decent()).outcome(),
    },
    Case {
        what: "a declaration that is no list of tools",
        outcome: "-32602",
        run: |fixture| called(fixture, &declaring(&[], json!({"tools": "all"}))),
    },
    Case {
        what: "a declaration of 300 KiB",
        outcome: "-32602",
        run: |fixture| {
            let mut large = tool("tools.get");
            large["description"] = "x".repeat(300 << 10).into();
            called(fixture, &declaring(&[large], json!({})))
        },
    },
    Case {
        what: "1,000 tools",
        outcome: "-32602",
        run: |fixture| {
            let tools: Vec<_> = (0..1_000).map(|number| tool(&format!("tools.t{number}"))).collect();
            called(fixture, &declaring(&tools, json!({})))
        },
    },
    Case {
        what: "two tools of one name",
        outcome: "-32602",
        run: |fixture| called(fixture, &declaring(&[tool("tools.get"), tool("tools.get")], json!({}))),
    },
    Case {
        what: "a tool whose name has control characters",
        outcome: "-32602",
        run: |fixture| called(fixture, &declaring(&[tool("tools.get\u{1b}[2J")], json!({}))),
    },
    Case {
        what: "a schema that is none: nothing suits it, nothing is sent",
        outcome: "invalid-arguments",
        run: |fixture| {
            let odd = json!({"name": "tools.get", "inputSchema": {"type": "objekt"}});
            called(fixture, &declaring(&[odd], json!({})))
        },
    },
    Case {
        what: "a tool named like one of the host's: the host's answers",
        outcome: "ok",
        run: |fixture| fixture.run("calls", one("echo.run"), &declaring(&[tool("echo.run")], json!({}))).outcome(),
    },
    Case {
        what: "lanes that nobody knows",
        outcome: "not-supported",
        run: |fixture| called(fixture, &declaring(&[tool("tools.get")], json!({"lanes": ["warp"]}))),
    },
];
