//! Failures of agent-side tools in this host.

use super::Case;
use super::ground::{decent, one};
use serde_json::json;

pub(super) const CASES: &[Case] = &[
    Case {
        what: "an agent tool that traps",
        outcome: "failed",
        run: |ground| ground.run("calls", one("trap.run"), &decent()).outcome(),
    },
    Case {
        what: "an agent tool out of fuel",
        outcome: "failed",
        run: |ground| {
            ground
                .run("calls", json!([{"call": {"name": "poor.run", "arguments": {"n": 1_000_000}}}]), &decent())
                .outcome()
        },
    },
    Case {
        what: "an agent tool that never answers",
        outcome: "timeout",
        run: |ground| {
            let script = json!([{"call": {"name": "endless.run", "timeoutMs": 100}}]);
            ground.run("calls", script, &decent()).outcome()
        },
    },
    Case {
        what: "arguments that are no JSON, and none that the tool takes",
        outcome: "invalid-arguments, invalid-arguments",
        run: |ground| {
            let script = json!([
                {"call": {"name": "echo.run", "raw": "{"}},
                {"call": {"name": "echo.run", "arguments": {"n": "seven"}}},
            ]);
            ground.run("calls", script, &decent()).outcome()
        },
    },
    Case {
        what: "a name that would write a line of the log",
        outcome: "unknown-tool",
        run: |ground| ground.call("abuser__run", json!({"path": "forge echo.run"}), &decent()).outcome(),
    },
    Case {
        what: "eight broken at once, and one that works",
        outcome: "8 failed + 1 ok",
        run: |ground| {
            let mut calls = vec![json!({"name": "trap.run"}); 8];
            calls.push(json!({"name": "echo.run"}));
            ground.run("calls", json!([{"many": calls}]), &decent()).outcome()
        },
    },
];
