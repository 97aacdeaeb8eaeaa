//! Continuations that are forged, moved to another call or user, reused, or expired.

use super::Case;
use super::fixture::{EXTENSION, Fixture, Round, Who, decent, good, one};
use serde_json::{Value, json};
use std::time::Duration;

fn waiting<'a>(fixture: &'a Fixture, plugin: &str) -> Round<'a> {
    fixture.run(plugin, one("tools.get"), &decent())
}

/// Sends the retry altered by `change`, then the unaltered retry, which must still work.
fn moved(fixture: &Fixture, who: Who, change: fn(&mut Value)) -> String {
    let round = waiting(fixture, "calls");
    let mut params = round.retry(round.all(&good()));
    change(&mut params);
    let seen = fixture.send(who, params, &decent()).outcome();
    format!("{seen}, then {}", round.answer(good()).outcome())
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "a continuation that was made up",
        outcome: "-32602, then ok",
        run: |fixture| {
            moved(fixture, Who::Alice, |params| params["_meta"][EXTENSION]["continuation"] = "AAAA".repeat(20).into())
        },
    },
    Case {
        what: "one character changed",
        outcome: "-32602, then ok",
        run: |fixture| {
            moved(fixture, Who::Alice, |params| {
                let sealed = &mut params["_meta"][EXTENSION]["continuation"];
                let mut text = sealed.as_str().unwrap().to_owned();
                let last = text.pop().unwrap();
                text.insert(text.len() / 2, if last == 'A' { 'B' } else { 'A' });
                *sealed = text.into();
            })
        },
    },
    Case {
        what: "moved to other arguments",
        outcome: "-32602, then ok",
        run: |fixture| {
            moved(fixture, Who::Alice, |params| params["arguments"]["path"] = one("tools.put").to_string().into())
        },
    },
    Case {
        what: "moved to another tool",
        outcome: "-32602, then ok",
        run: |fixture| moved(fixture, Who::Alice, |params| params["name"] = "other__run".into()),
    },
    Case {
        what: "moved to another principal",
        outcome: "-32602, then ok",
        run: |fixture| moved(fixture, Who::Bob, |_| {}),
    },
    Case {
        what: "brought back as the protocol's requestState",
        outcome: "-32602, then ok",
        run: |fixture| {
            moved(fixture, Who::Alice, |params| {
                params["requestState"] = params["_meta"][EXTENSION]["continuation"].take();
                params["_meta"] = json!({});
            })
        },
    },
    Case {
        what: "used twice",
        outcome: "ok, then -32602",
        run: |fixture| {
            let round = waiting(fixture, "calls");
            let params = round.retry(round.all(&good()));
            let first = round.answer(good()).outcome();
            format!("{first}, then {}", fixture.send(Who::Alice, params, &decent()).outcome())
        },
    },
    Case {
        what: "used by twenty at once",
        outcome: "1 ok, 19 -32602",
        run: |fixture| {
            let round = waiting(fixture, "calls");
            let params = round.retry(round.all(&good()));
            let seen: Vec<String> = std::thread::scope(|scope| {
                let retry = || scope.spawn(|| fixture.send(Who::Alice, params.clone(), &decent()).outcome());
                let threads: Vec<_> = (0..20).map(|_| retry()).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let count = |outcome: &str| seen.iter().filter(|seen| *seen == outcome).count();
            format!("{} ok, {} -32602", count("ok"), count("-32602"))
        },
    },
    Case {
        what: "an answer after the call's own patience",
        outcome: "timeout",
        run: |fixture| {
            let script = json!([{"call": {"name": "tools.get", "timeoutMs": 50}}]);
            let round = fixture.run("calls", script, &decent());
            // The server measures the time limit; this only waits until it has passed.
            std::thread::sleep(Duration::from_millis(200));
            round.answer(good()).outcome()
        },
    },
    Case {
        what: "an answer after the operator's patience: forgotten",
        outcome: "-32602",
        run: |fixture| {
            let round = waiting(fixture, "hasty");
            fixture.until_idle();
            round.answer(good()).outcome()
        },
    },
];
