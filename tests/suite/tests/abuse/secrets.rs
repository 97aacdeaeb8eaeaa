//! Private results that a plugin tries to pass on.

use super::Case;
use super::ground::{Ground, decent, declaring, good, tool};
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

fn run(ground: &Ground, plugin: &str, script: Value, capabilities: &Value, answer: Value) -> String {
    ground.run(plugin, script, capabilities).through(&answer).0.outcome()
}

fn abuse(ground: &Ground, plugin: &str, how: &str) -> String {
    let arguments = json!({"path": format!("{how} tools.get")});
    ground.call(&format!("{plugin}__run"), arguments, &private()).through(&good()).0.outcome()
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "a private tool's result, then a component is called",
        outcome: "ok, denied",
        run: |ground| run(ground, "calls", both("tools.get", "echo.run"), &private(), good()),
    },
    Case {
        what: "a result marked private, then a component is called",
        outcome: "ok, denied",
        run: |ground| {
            let mut marked = good();
            marked["_meta"] = json!({"dev.portcullis/private": true});
            run(ground, "calls", both("tools.get", "echo.run"), &decent(), marked)
        },
    },
    Case {
        what: "a private tool's failure, then a component is called",
        outcome: "tool-error, denied",
        run: |ground| {
            let failed = json!({"content": [{"type": "text", "text": "the secret is wrong"}], "isError": true});
            run(ground, "calls", both("tools.get", "echo.run"), &private(), failed)
        },
    },
    Case {
        what: "the same with the flow granted",
        outcome: "ok, ok",
        run: |ground| run(ground, "generous", both("tools.get", "echo.run"), &private(), good()),
    },
    Case {
        what: "a private result, then the same client is called",
        outcome: "ok, ok",
        run: |ground| run(ground, "calls", both("tools.get", "tools.put"), &private(), good()),
    },
    Case {
        what: "a private component's result, then another is called",
        outcome: "ok, denied",
        run: |ground| run(ground, "calls", both("diary.run", "echo.run"), &decent(), good()),
    },
    Case {
        what: "a private result, then a connected account is used",
        outcome: "ok, denied flows",
        run: |ground| abuse(ground, "abuser", "account"),
    },
    Case {
        what: "the same with the flow granted, and nobody connected",
        outcome: "ok, not-connected",
        run: |ground| abuse(ground, "sharing", "account"),
    },
    Case {
        what: "a private result, then the host's own model is asked",
        outcome: "ok, denied flows",
        run: |ground| abuse(ground, "abuser", "model"),
    },
];
