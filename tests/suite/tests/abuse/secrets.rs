//! Private results that a plugin tries to pass on.

use super::Case;
use super::fixture::{Fixture, decent, declaring, good, tool};
use serde_json::{Value, json};

/// A script that calls the first tool, then the second.
fn both(first: &str, second: &str) -> Value {
    json!([{"call": {"name": first}}, {"call": {"name": second}}])
}

fn private() -> Value {
    let mut get = tool("tools.get");
    get["private"] = true.into();
    declaring(&[get, tool("tools.put")], json!({}))
}

fn run(fixture: &Fixture, plugin: &str, script: Value, capabilities: &Value, answer: Value) -> String {
    fixture.run(plugin, script, capabilities).through(&answer).0.outcome()
}

fn abuse(fixture: &Fixture, plugin: &str, how: &str) -> String {
    let arguments = json!({"path": format!("{how} tools.get")});
    fixture.call(&format!("{plugin}__run"), arguments, &private()).through(&good()).0.outcome()
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "a private tool's result, then a component is called",
        outcome: "ok, denied",
        run: |fixture| run(fixture, "calls", both("tools.get", "echo.run"), &private(), good()),
    },
    Case {
        what: "a result marked private, then a component is called",
        outcome: "ok, denied",
        run: |fixture| {
            let mut marked = good();
            marked["_meta"] = json!({"dev.portcullis/private": true});
            run(fixture, "calls", both("tools.get", "echo.run"), &decent(), marked)
        },
    },
    Case {
        what: "a private tool's failure, then a component is called",
        outcome: "tool-error, denied",
        run: |fixture| {
            let failed = json!({"content": [{"type": "text", "text": "the secret is wrong"}], "isError": true});
            run(fixture, "calls", both("tools.get", "echo.run"), &private(), failed)
        },
    },
    Case {
        what: "the same with the flow granted",
        outcome: "ok, ok",
        run: |fixture| run(fixture, "generous", both("tools.get", "echo.run"), &private(), good()),
    },
    Case {
        what: "a private result, then the same client is called",
        outcome: "ok, ok",
        run: |fixture| run(fixture, "calls", both("tools.get", "tools.put"), &private(), good()),
    },
    Case {
        what: "a private component's result, then another is called",
        outcome: "ok, denied",
        run: |fixture| run(fixture, "calls", both("diary.run", "echo.run"), &decent(), good()),
    },
    Case {
        what: "a private result, then a connected account is used",
        outcome: "ok, denied flows",
        run: |fixture| abuse(fixture, "abuser", "account"),
    },
    Case {
        what: "the same with the flow granted, and nobody connected",
        outcome: "ok, not-connected",
        run: |fixture| abuse(fixture, "sharing", "account"),
    },
    Case {
        what: "a private result, then the host's own model is asked",
        outcome: "ok, denied flows",
        run: |fixture| abuse(fixture, "abuser", "model"),
    },
];
