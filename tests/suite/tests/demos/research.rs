//! The research agent: with the client's model, with and without tools, or without a model, which the report then says.

use super::{all, assert_progress, client, said, through};
use serde_json::{Value, json};
use std::fs;
use suite::{Client, Era, Home, paths, paths::root, plugin_from};

const TOOL: &str = "research__research_agent";
const GRANTS: &str = r#"grants.client.sample = { calls = 3, tokens = 300 }
grants.filesystem = [{ host = "work", guest = "/library", access = "read" }]"#;

pub(super) fn config() -> String {
    plugin_from("research", &paths::real_plugin("research"), GRANTS)
}

/// A folder with the library that comes with the plugin.
pub(super) fn home() -> Home {
    let home = Home::new();
    fs::remove_file(home.work().join("inside.txt")).unwrap();
    for text in fs::read_dir(root().join("plugins/research/library")).unwrap() {
        let text = text.unwrap();
        fs::copy(text.path(), home.work().join(text.file_name())).unwrap();
    }
    home
}

fn start(era: Era, abilities: Value) -> Client {
    client(home(), &config(), era, abilities)
}

#[test]
fn key_findings_come_from_the_clients_model() {
    let results = Era::ALL.map(|era| {
        let mut client = start(era, json!({"sampling": {}}));
        let seen = through(&mut client, TOOL, &json!({"topic": "portcullis"}), |method, params| {
            assert_eq!((method, &params["maxTokens"]), ("sampling/createMessage", &json!(100)));
            assert_eq!(params["metadata"]["purpose"], "key findings about portcullis");
            let prompt = params["messages"][0]["content"]["text"].as_str().unwrap();
            assert!(prompt.contains("[siege.md] Fire was used"), "{prompt}");
            said("It fell fast and rose slowly.")
        });
        let report = seen.called.good();
        assert!(report.contains("## Key findings\n\nIt fell fast and rose slowly.\n"), "{report}");
        assert!(report.ends_with("## Sources\n\n- gatehouse.txt\n- moat.txt\n- siege.md\n"), "{report}");
        assert_progress(&seen.progress, &[0.0, 1.0, 2.0, 3.0]);
        assert_eq!(seen.asked().len(), 1);
        seen.substance()
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn without_a_model_the_report_says_so() {
    let results = Era::ALL.map(|era| {
        let mut client = start(era, json!({}));
        let seen = through(&mut client, TOOL, &json!({"topic": "portcullis", "tools": true}), |_, _| Value::Null);
        let report = seen.called.good();
        assert!(report.contains("(no summary: this client has no model to ask)"), "{report}");
        assert!(report.contains("- moat.txt\n"), "{report}");
        seen.substance()
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn a_reviewers_refusal_leaves_no_report() {
    let mut client = start(Era::Legacy, all());
    let no = |_: &str, _: &Value| json!({"error": {"code": -1, "message": "not with my model"}});
    let seen = through(&mut client, TOOL, &json!({"topic": "portcullis"}), no);
    let text = seen.called.text();
    assert!(seen.called.is_error() && text.contains("declined") && text.contains("not with my model"), "{text}");
    assert!(!text.contains("## Passages"), "{text}");
    // A modern client that never answers gets no report.
    let mut client = start(Era::Modern, all());
    let seen = through(&mut client, TOOL, &json!({"topic": "portcullis"}), |_, _| Value::Null);
    assert!(seen.called.is_error() && !seen.called.text().contains("## Passages"), "{}", seen.called.text());
}

/// A model that looks up two words, then answers because it must.
fn look_up_twice(_: &str, params: &Value) -> Value {
    assert_eq!((&params["tools"][0]["name"], &params["maxTokens"]), (&json!("lookup"), &json!(100)));
    let messages = params["messages"].as_array().unwrap();
    let wants = |id: &str, term: &str| {
        let content = json!({"type": "tool_use", "id": id, "name": "lookup", "input": {"term": term}});
        json!({"role": "assistant", "content": content, "model": "m", "stopReason": "toolUse"})
    };
    let outcome = |id: &str, says: &str| {
        let outcome = &messages.last().unwrap()["content"];
        let outcome = if outcome.is_array() { &outcome[0] } else { outcome };
        assert_eq!((&outcome["type"], &outcome["toolUseId"]), (&json!("tool_result"), &json!(id)));
        assert!(outcome["content"][0]["text"].as_str().unwrap().contains(says), "{outcome}");
    };
    let mode = params["toolChoice"]["mode"].as_str().unwrap();
    match messages.len() {
        1 => wants("first", "drawbridge"),
        3 => {
            outcome("first", "[moat.txt] A drawbridge");
            assert_eq!(mode, "auto");
            wants("second", "granary")
        }
        5 => {
            outcome("second", "[siege.md] Most sieges");
            assert_eq!(mode, "none", "the last round");
            said("Bread decides.")
        }
        other => panic!("{other} messages"),
    }
}

#[test]
fn the_model_looks_things_up_through_the_plugin() {
    let results = Era::ALL.map(|era| {
        let mut client = start(era, all());
        let seen = through(&mut client, TOOL, &json!({"topic": "portcullis", "tools": true}), look_up_twice);
        assert!(seen.called.good().contains("## Key findings\n\nBread decides.\n"), "{}", seen.called.text());
        assert_eq!((seen.asked().len(), seen.called.usage()["questions"].as_u64()), (3, Some(3)));
        assert_eq!(seen.rounds.len(), if era == Era::Modern { 3 } else { 1 });
        seen.substance()
    });
    assert_eq!(results[0], results[1]);
}
