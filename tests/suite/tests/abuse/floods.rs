//! Floods: too many calls, and arguments and results that are too large.

use super::Case;
use super::fixture::{Fixture, decent, declaring, good, many, tool};
use serde_json::{Value, json};

fn rounds(fixture: &Fixture, plugin: &str, script: Value, capabilities: &Value) -> String {
    let (round, rounds) = fixture.run(plugin, script, capabilities).through(&good());
    let most = rounds.iter().max().copied().unwrap_or_default();
    format!("{}; {} rounds of at most {most}", round.outcome(), rounds.len())
}

fn limited(limits: Value) -> Value {
    declaring(&[tool("tools.get"), tool("tools.put")], json!({"limits": limits}))
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "10,000 calls, one after the other",
        outcome: "calls-exceeded",
        run: |fixture| fixture.call("reverse-flood__run", json!({}), &decent()).outcome(),
    },
    Case {
        what: "10,000 calls at once",
        outcome: "256 ok + 9744 exhausted; 32 rounds of at most 8",
        run: |fixture| rounds(fixture, "rich", many("tools.get", 10_000), &decent()),
    },
    Case {
        what: "20 calls at once, 8 may be under way",
        outcome: "20 ok; 3 rounds of at most 8",
        run: |fixture| rounds(fixture, "calls", many("tools.get", 20), &decent()),
    },
    Case {
        what: "20 calls at once, the client takes 3 at a time",
        outcome: "20 ok; 7 rounds of at most 3",
        run: |fixture| rounds(fixture, "calls", many("tools.get", 20), &limited(json!({"parallel": 3}))),
    },
    Case {
        what: "20 calls at once, the client takes 5 in all",
        outcome: "5 ok + 15 exhausted; 1 rounds of at most 5",
        run: |fixture| rounds(fixture, "calls", many("tools.get", 20), &limited(json!({"calls": 5}))),
    },
    Case {
        what: "the client takes 2 calls of one tool",
        outcome: "2 ok + 1 exhausted, 1 ok",
        run: |fixture| {
            let mut twice = tool("tools.get");
            twice["limits"] = json!({"calls": 2});
            let script = json!([many("tools.get", 3)[0], many("tools.put", 1)[0]]);
            let capabilities = declaring(&[twice, tool("tools.put")], json!({}));
            fixture.run("calls", script, &capabilities).through(&good()).0.outcome()
        },
    },
    Case {
        what: "arguments larger than the client takes",
        outcome: "exhausted Budget::Arguments",
        run: |fixture| {
            let arguments = json!({"path": "arguments tools.get", "n": 2_000});
            fixture.call("abuser__run", arguments, &limited(json!({"argumentBytes": 1_000}))).outcome()
        },
    },
    Case {
        what: "arguments of 5 MB",
        outcome: "exhausted Budget::Arguments",
        run: |fixture| {
            fixture.call("abuser__run", json!({"path": "arguments tools.get", "n": 5_000_000}), &decent()).outcome()
        },
    },
    Case {
        what: "arguments of 10 MB",
        outcome: "hostcall-exceeded",
        run: |fixture| {
            fixture.call("abuser__run", json!({"path": "arguments tools.get", "n": 10_000_000}), &decent()).outcome()
        },
    },
    Case {
        what: "more calls parked than one principal may: the oldest go",
        outcome: "4 -32602, 12 ok",
        run: |fixture| {
            let parked: Vec<_> =
                (0..super::PARKED + 4).map(|_| fixture.run("calls", many("tools.get", 1), &decent())).collect();
            let seen: Vec<String> = parked.into_iter().map(|round| round.answer(good()).outcome()).collect();
            let (gone, left) = seen.split_at(4);
            let all = |seen: &[String], what: &str| seen.iter().all(|seen| seen == what);
            if all(gone, "-32602") && all(left, "1 ok") { "4 -32602, 12 ok".into() } else { format!("{seen:?}") }
        },
    },
];
