//! Nested calls, within the host and through the client.

use super::Case;
use super::ground::{Ground, Round, Who, decent, good, one};
use serde_json::{Value, json};

const CHAIN: &str = "dev.portcullis/chain";

/// A call to the server by a client whose tool is being called.
fn back<'a>(ground: &'a Ground, who: Who, tool: &str, script: &Value, chain: Value) -> Round<'a> {
    let arguments = json!({"path": script.to_string()});
    let params = json!({"name": tool, "arguments": arguments, "_meta": {CHAIN: chain}});
    ground.send(who, params, &decent())
}

fn waiting(ground: &Ground) -> (Round<'_>, Value) {
    let round = ground.run("calls", one("tools.get"), &decent());
    let chain = round.only()["chain"].clone();
    assert!(chain.is_string(), "{}", round.message);
    (round, chain)
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "a chain nine calls deep",
        outcome: "depth-exceeded",
        run: |ground| ground.call("deep-chain__run", json!({}), &decent()).outcome(),
    },
    Case {
        what: "A calls B calls A, in this host",
        outcome: "cycle",
        run: |ground| {
            let outcome = ground.call("mutual-recursion__run", json!({"n": 1}), &decent()).outcome();
            if outcome.contains("cycle") { "cycle".into() } else { outcome }
        },
    },
    Case {
        what: "A calls the client's B, which calls A again",
        outcome: "cycle, then ok",
        run: |ground| {
            let (round, chain) = waiting(ground);
            let again = back(ground, Who::Alice, "calls__run", &json!([]), chain).outcome();
            format!("{again}, then {}", round.answer(good()).outcome())
        },
    },
    Case {
        what: "A calls the client's B, which calls C",
        outcome: "ok, then ok",
        run: |ground| {
            let (round, chain) = waiting(ground);
            let other = back(ground, Who::Alice, "other__run", &one("echo.run"), chain).outcome();
            format!("{other}, then {}", round.answer(good()).outcome())
        },
    },
    Case {
        what: "a chain that was made up",
        outcome: "-32602, then ok",
        run: |ground| {
            let (round, chain) = waiting(ground);
            let forged = format!("{}A", chain.as_str().unwrap());
            let refused = back(ground, Who::Alice, "other__run", &json!([]), forged.into()).outcome();
            format!("{refused}, then {}", round.answer(good()).outcome())
        },
    },
    Case {
        what: "a chain that is no text",
        outcome: "-32602",
        run: |ground| back(ground, Who::Alice, "other__run", &json!([]), json!({"depth": 0})).outcome(),
    },
    Case {
        what: "somebody else's chain",
        outcome: "-32602, then ok",
        run: |ground| {
            let (round, chain) = waiting(ground);
            let refused = back(ground, Who::Bob, "other__run", &json!([]), chain).outcome();
            format!("{refused}, then {}", round.answer(good()).outcome())
        },
    },
    Case {
        what: "a chain whose call has ended",
        outcome: "-32602",
        run: |ground| {
            let (round, chain) = waiting(ground);
            round.answer(good());
            back(ground, Who::Alice, "other__run", &json!([]), chain).outcome()
        },
    },
];
