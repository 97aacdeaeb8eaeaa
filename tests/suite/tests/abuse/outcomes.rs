//! Invalid outcomes that a client returns for its reverse calls.

use super::Case;
use super::fixture::{Fixture, decent, error, good, one};
use serde_json::{Value, json};

fn answered(fixture: &Fixture, outcome: Value) -> String {
    fixture.run("calls", one("tools.get"), &decent()).answer(outcome).outcome()
}

fn answered_with(fixture: &Fixture, outcomes: Value) -> String {
    fixture.run("calls", one("tools.get"), &decent()).answer_with(outcomes).outcome()
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "nothing under the key that was asked",
        outcome: "failed",
        run: |fixture| answered_with(fixture, json!({})),
    },
    Case {
        what: "an answer under another key",
        outcome: "failed",
        run: |fixture| answered_with(fixture, json!({"call-999": good(), "__proto__": good()})),
    },
    Case {
        what: "a thousand answers too many",
        outcome: "ok",
        run: |fixture| {
            let round = fixture.run("calls", one("tools.get"), &decent());
            let mut outcomes = round.all(&good());
            for number in 1_000..2_000 {
                outcomes[format!("call-{number}")] = error("failed");
            }
            round.answer_with(outcomes).outcome()
        },
    },
    Case { what: "results that are a list", outcome: "-32602", run: |fixture| answered_with(fixture, json!([good()])) },
    Case { what: "a number instead of a result", outcome: "failed", run: |fixture| answered(fixture, json!(7)) },
    Case { what: "neither a result nor an error", outcome: "failed", run: |fixture| answered(fixture, json!({})) },
    Case {
        what: "content of a kind that nobody knows",
        outcome: "failed",
        run: |fixture| answered(fixture, json!({"content": [{"type": "smell", "data": "roses"}]})),
    },
    Case {
        what: "an image that is no base64",
        outcome: "failed",
        run: |fixture| {
            answered(fixture, json!({"content": [{"type": "image", "data": "%%", "mimeType": "image/png"}]}))
        },
    },
    Case {
        what: "a failure that the tool reports",
        outcome: "tool-error",
        run: |fixture| answered(fixture, json!({"content": [{"type": "text", "text": "no"}], "isError": true})),
    },
    Case {
        what: "approval denied: declined",
        outcome: "declined",
        run: |fixture| answered(fixture, error("declined")),
    },
    Case { what: "unknown-tool", outcome: "unknown-tool", run: |fixture| answered(fixture, error("unknown-tool")) },
    Case {
        what: "invalid-arguments",
        outcome: "invalid-arguments",
        run: |fixture| answered(fixture, error("invalid-arguments")),
    },
    Case { what: "timeout", outcome: "timeout", run: |fixture| answered(fixture, error("timeout")) },
    Case { what: "cancelled", outcome: "cancelled", run: |fixture| answered(fixture, error("cancelled")) },
    Case { what: "exhausted", outcome: "exhausted", run: |fixture| answered(fixture, error("exhausted")) },
    Case {
        what: "failed, and a code that nobody knows",
        outcome: "failed, failed",
        run: |fixture| format!("{}, {}", answered(fixture, error("failed")), answered(fixture, error("launch"))),
    },
    Case {
        what: "arguments edited by whoever approved",
        outcome: "ok, and the plugin knows",
        run: |fixture| {
            let mut edited = good();
            edited["_meta"] = json!({"dev.portcullis/edited": {"day": 2}});
            let round = fixture.run("calls", one("tools.get"), &decent()).answer(edited);
            let text = round.result()["content"][0]["text"].as_str().unwrap_or_default();
            let knows = text.contains(r#""edited":{"day":2}"#);
            format!("{}, and the plugin {}", round.outcome(), if knows { "knows" } else { "does not know" })
        },
    },
    Case {
        what: "a body of 20 MB, then a good answer",
        outcome: "413, then ok",
        run: |fixture| {
            let round = fixture.run("calls", one("tools.get"), &decent());
            let large = json!({"content": [{"type": "text", "text": "x".repeat(20_000_000)}]});
            let params = round.retry(round.all(&large));
            let refused = fixture.send(super::Who::Alice, params, &decent()).outcome();
            format!("{refused}, then {}", round.answer(good()).outcome())
        },
    },
    Case {
        what: "a result of 2 MB where 1 MiB is left",
        outcome: "exhausted",
        run: |fixture| {
            let large = json!({"content": [{"type": "text", "text": "x".repeat(2_000_000)}]});
            fixture.run("frugal", one("tools.get"), &decent()).answer(large).outcome()
        },
    },
];
