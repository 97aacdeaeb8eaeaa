//! Invalid outcomes that a client returns for its reverse calls.

use super::Case;
use super::ground::{Ground, decent, error, good, one};
use serde_json::{Value, json};

fn answered(ground: &Ground, outcome: Value) -> String {
    ground.run("calls", one("tools.get"), &decent()).answer(outcome).outcome()
}

fn answered_with(ground: &Ground, outcomes: Value) -> String {
    ground.run("calls", one("tools.get"), &decent()).answer_with(outcomes).outcome()
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "nothing under the key that was asked",
        outcome: "failed",
        run: |ground| answered_with(ground, json!({})),
    },
    Case {
        what: "an answer under another key",
        outcome: "failed",
        run: |ground| answered_with(ground, json!({"call-999": good(), "__proto__": good()})),
    },
    Case {
        what: "a thousand answers too many",
        outcome: "ok",
        run: |ground| {
            let round = ground.run("calls", one("tools.get"), &decent());
            let mut outcomes = round.all(&good());
            for number in 1_000..2_000 {
                outcomes[format!("call-{number}")] = error("failed");
            }
            round.answer_with(outcomes).outcome()
        },
    },
    Case { what: "results that are a list", outcome: "-32602", run: |ground| answered_with(ground, json!([good()])) },
    Case { what: "a number instead of a result", outcome: "failed", run: |ground| answered(ground, json!(7)) },
    Case { what: "neither a result nor an error", outcome: "failed", run: |ground| answered(ground, json!({})) },
    Case {
        what: "content of a kind that nobody knows",
        outcome: "failed",
        run: |ground| answered(ground, json!({"content": [{"type": "smell", "data": "roses"}]})),
    },
    Case {
        what: "an image that is no base64",
        outcome: "failed",
        run: |ground| answered(ground, json!({"content": [{"type": "image", "data": "%%", "mimeType": "image/png"}]})),
    },
    Case {
        what: "a failure that the tool reports",
        outcome: "tool-error",
        run: |ground| answered(ground, json!({"content": [{"type": "text", "text": "no"}], "isError": true})),
    },
    Case { what: "approval denied: declined", outcome: "declined", run: |ground| answered(ground, error("declined")) },
    Case { what: "unknown-tool", outcome: "unknown-tool", run: |ground| answered(ground, error("unknown-tool")) },
    Case {
        what: "invalid-arguments",
        outcome: "invalid-arguments",
        run: |ground| answered(ground, error("invalid-arguments")),
    },
    Case { what: "timeout", outcome: "timeout", run: |ground| answered(ground, error("timeout")) },
    Case { what: "cancelled", outcome: "cancelled", run: |ground| answered(ground, error("cancelled")) },
    Case { what: "exhausted", outcome: "exhausted", run: |ground| answered(ground, error("exhausted")) },
    Case {
        what: "failed, and a code that nobody knows",
        outcome: "failed, failed",
        run: |ground| format!("{}, {}", answered(ground, error("failed")), answered(ground, error("launch"))),
    },
    Case {
        what: "arguments edited by whoever approved",
        outcome: "ok, and the plugin knows",
        run: |ground| {
            let mut edited = good();
            edited["_meta"] = json!({"dev.portcullis/edited": {"day": 2}});
            let round = ground.run("calls", one("tools.get"), &decent()).answer(edited);
            let text = round.result()["content"][0]["text"].as_str().unwrap_or_default();
            let knows = text.contains(r#""edited":{"day":2}"#);
            format!("{}, and the plugin {}", round.outcome(), if knows { "knows" } else { "does not know" })
        },
    },
    Case {
        what: "a body of 20 MB, then a good answer",
        outcome: "413, then ok",
        run: |ground| {
            let round = ground.run("calls", one("tools.get"), &decent());
            let large = json!({"content": [{"type": "text", "text": "x".repeat(20_000_000)}]});
            let params = round.retry(round.all(&large));
            let refused = ground.send(super::Who::Alice, params, &decent()).outcome();
            format!("{refused}, then {}", round.answer(good()).outcome())
        },
    },
    Case {
        what: "a result of 2 MB where 1 MiB is left",
        outcome: "exhausted",
        run: |ground| {
            let large = json!({"content": [{"type": "text", "text": "x".repeat(2_000_000)}]});
            ground.run("frugal", one("tools.get"), &decent()).answer(large).outcome()
        },
    },
];
