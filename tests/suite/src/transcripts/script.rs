//! The script: what the guest `ask` asks, and what every client answers.

use serde_json::{Value, json};

/// The grants of the guest.
pub const GRANTS: &str = r#"grants.client = { form = true, url = ["example.com"], sample = { calls = 8, tokens = 1_000 }, roots = true }
grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]
"#;

/// How long a client lets the guest compute after its answer before it cancels the call.
const STOP_MS: u64 = 300;

/// One call.
pub struct Scenario {
    /// The column of the table, and the call's correlation id.
    pub name: &'static str,
    arguments: fn() -> Value,
    answer: &'static str,
    content: fn() -> Value,
    /// What its questions must contain: a JSON pointer, and the value as JSON text.
    pub shows: &'static [(&'static str, &'static str)],
    /// The progress that the call reports.
    pub reports: &'static [&'static str],
    /// Whether its questions are asked concurrently, so that they have no order.
    pub together: bool,
    /// How it ends.
    pub ends: Ends,
}

/// How a call ends.
#[derive(Debug, Clone, Copy)]
pub enum Ends {
    /// With this text, after this number of questions.
    Text(&'static str, usize),
    /// The client cancels it.
    GivenUp,
    /// The client cannot be asked because it lacks this capability.
    Unable(&'static str),
}

const fn plain(name: &'static str, arguments: fn() -> Value, ends: Ends) -> Scenario {
    Scenario { name, arguments, answer: "accept", content: ada, shows: &[], reports: &[], together: false, ends }
}

fn ada() -> Value {
    json!({"name": "Ada"})
}

/// The whole script, in order. A call after a cancelled one shows that the connection still works.
pub const SCRIPT: &[Scenario] = &[
    plain("form", || json!({"path": "form"}), Ends::Text(r#"{"name":"Ada"}"#, 1)),
    Scenario {
        shows: &[("/0/fields", r#"["to","name","mail","class","adults","budget","extras","agree"]"#)],
        content: || json!({"to": "Rome", "name": "Ada", "extras": ["meal"], "adults": 2, "agree": true}),
        ..plain(
            "fields",
            || json!({"path": "fields"}),
            Ends::Text(r#"{"adults":2,"agree":true,"extras":["meal"],"name":"Ada","to":"Rome"}"#, 1),
        )
    },
    Scenario {
        together: true,
        ..plain("many", || json!({"path": "many"}), Ends::Text(r#"{"name":"Ada"} | Paris | file:///repo"#, 3))
    },
    Scenario {
        shows: &[("/0/params/mode", r#""url""#), ("/0/params/url", r#""https://example.com/page?q=1""#)],
        ..plain("url", || json!({"path": "url"}), Ends::Text("accepted", 1))
    },
    Scenario {
        shows: &[
            ("/0/params/maxTokens", "100"),
            ("/0/params/messages/0/content/text", r#""What is the capital of France?""#),
        ],
        ..plain("sample", || json!({"path": "sample"}), Ends::Text("Paris", 1))
    },
    plain("roots", || json!({"path": "roots"}), Ends::Text("file:///repo", 1)),
    Scenario {
        shows: &[("/0/params/message", r#""ask asks: Step 0?""#), ("/1/params/message", r#""ask asks: Step 1?""#)],
        ..plain("rounds", || json!({"path": "rounds", "n": 2}), Ends::Text(r#"{"name":"Ada"}, {"name":"Ada"}"#, 2))
    },
    Scenario {
        reports: &["before", "after"],
        ..plain("report", || json!({"path": "chunks"}), Ends::Text(r#"{"name":"Ada"}"#, 1))
    },
    Scenario { answer: "decline", ..plain("decline", || json!({"path": "confirm"}), Ends::Text("declined", 1)) },
    Scenario { answer: "never", ..plain("give up", || json!({"path": "confirm"}), Ends::GivenUp) },
    Scenario { answer: "stop", ..plain("stop", || json!({"path": "spin"}), Ends::GivenUp) },
    plain("after", || json!({"path": "form"}), Ends::Text(r#"{"name":"Ada"}"#, 1)),
    Scenario { answer: "unable", ..plain("unable", || json!({"path": "confirm"}), Ends::Unable("elicitation.form")) },
];

/// The lasting effects of the script: only `rounds` has one.
pub const EFFECTS: usize = 1;

/// The script as JSON for the programs of `tests/clients`.
pub fn json() -> String {
    let calls = SCRIPT.iter().map(|scenario| {
        json!({
            "name": scenario.name,
            "tool": "ask__run",
            "arguments": (scenario.arguments)(),
            "answer": scenario.answer,
            "content": (scenario.content)(),
            "reports": scenario.reports.len(),
            "stop_ms": STOP_MS,
        })
    });
    Value::Array(calls.collect()).to_string()
}
