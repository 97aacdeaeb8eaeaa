//! Failures of agent-side tools in this host.

use super::Case;
use super::fixture::{decent, one};
use serde_json::json;

pub(super) const CASES: &[Case] = &[
    Case {
        what: "an agent tool that traps",
        outcome: "failed",
        run: |fixture| fixture.run("calls", one("trap.run"), &decent()).outcome(),
    },
    Case {
        what: "an agent tool out of fuel",
        outcome: "failed",
        run: |fixture| {
            fixture
                .run("calls", json!([{"call": {"name": "poor.run", "arguments": {"n": 1_000_000}}}]), &decent())
                .outcome()
        },
    },
    Case {
        what: "an agent tool that never answers",
        outcome: "timeout",
        run: |fixture| {
            let script = json!([{"call": {"name": "endless.run", "timeoutMs": 100}}]);
            fixture.run("calls", script, &decent()).outcome()
        },
    },
    Case {
        what: "arguments that are no JSON, and none that the tool takes",
        outcome: "invalid-arguments, invalid-arguments",
        run: |fixture| {
            let script = json!([
                {"call": {"name": "echo.run", "raw": "{"}},
                {"call": {"name": "echo.run", "arguments": {"n": "seven"}}},
            ]);
            fixture.run("calls", script, &decent()).outcome()
        },
    },
    Case {
        what: "a name that would write a line of the log",
        outcome: "unknown-tool",
        run: |fixture| fixture.call("abuser__run", json!({"path": "forge echo.run"}), &decent()).outcome(),
    },
    Case {
        what: "eight broken at once, and one that works",
        outcome: "8 failed + 1 ok",
        run: |fixture| {
            let mut calls = vec![json!({"name": "trap.run"}); 8];
            calls.push(json!({"name": "echo.run"}));
            fixture.run("calls", json!([{"many": calls}]), &decent()).outcome()
        },
    },
];
