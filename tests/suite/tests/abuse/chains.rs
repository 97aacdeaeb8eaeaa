//! Nested calls, within the host and through the client.

use super::Case;
use super::fixture::{Fixture, Round, Who, decent, good, one};
use serde_json::{Value, json};

const CHAIN: &str = "dev.portcullis/chain";

/// A call to the server by a client whose tool is being called.
fn back<'a>(fixture: &'a Fixture, who: Who, tool: &str, script: &Value, chain: Value) -> Round<'a> {
    let arguments = json!({"path": script.to_string()});
    let params = json!({"name": tool, "arguments": arguments, "_meta": {CHAIN: chain}});
    fixture.send(who, params, &decent())
}

fn waiting(fixture: &Fixture) -> (Round<'_>, Value) {
    let round = fixture.run("calls", one("tools.get"), &decent());
    let chain = round.only()["chain"].clone();
    assert!(chain.is_string(), "{}", round.message);
    (round, chain)
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "a chain nine calls deep",
        outcome: "depth-exceeded",
        run: |fixture| fixture.call("deep-chain__run", json!({}), &decent()).outcome(),
    },
    Case {
        what: "A calls B calls A, in this host",
        outcome: "cycle",
        run: |fixture| {
            let outcome = fixture.call("mutual-recursion__run", json!({"n": 1}), &decent()).outcome();
            if outcome.contains("cycle") { "cycle".into() } else { outcome }
        },
    },
    Case {
        what: "A calls the client's B, which calls A again",
        outcome: "cycle, then ok",
        run: |fixture| {
            let (round, chain) = waiting(fixture);
            let again = back(fixture, Who::Alice, "calls__run", &json!([]), chain).outcome();
            format!("{again}, then {}", round.answer(good()).outcome())
        },
    },
    Case {
        what: "A calls the client's B, which calls C",
        outcome: "ok, then ok",
        run: |fixture| {
            let (round, chain) = waiting(fixture);
            let other = back(fixture, Who::Alice, "other__run", &one("echo.run"), chain).outcome();
            format!("{other}, then {}", round.answer(good()).outcome())
        },
    },
    Case {
        what: "a chain that was made up",
        outcome: "-32602, then ok",
        run: |fixture| {
            let (round, chain) = waiting(fixture);
            let forged = format!("{}A", chain.as_str().unwrap());
            let refused = back(fixture, Who::Alice, "other__run", &json!([]), forged.into()).outcome();
            format!("{refused}, then {}", round.answer(good()).outcome())
        },
    },
    Case {
        what: "a chain that is no text",
        outcome: "-32602",
        run: |fixture| back(fixture, Who::Alice, "other__run", &json!([]), json!({"depth": 0})).outcome(),
    },
    Case {
        what: "somebody else's chain",
        outcome: "-32602, then ok",
        run: |fixture| {
            let (round, chain) = waiting(fixture);
            let refused = back(fixture, Who::Bob, "other__run", &json!([]), chain).outcome();
            format!("{refused}, then {}", round.answer(good()).outcome())
        },
    },
    Case {
        what: "a chain whose call has ended",
        outcome: "-32602",
        run: |fixture| {
            let (round, chain) = waiting(fixture);
            round.answer(good());
            back(fixture, Who::Alice, "other__run", &json!([]), chain).outcome()
        },
    },
];
