//! The churn review: a model suggests, the user decides twice, and only then is the table read.

use super::{Answer, all, client, filled, said, through};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs::{self, File, FileTimes};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use suite::{Client, Era, Home, paths, paths::root, plugin_from};

const TOOL: &str = "churn__generate_report";
const GRANTS: &str = r#"grants.client = { form = true, sample = {} }
grants.publish = true
grants.filesystem = [{ host = "work", guest = "/data", access = "read" }]"#;
const REPORT: &str = "# Churn, Fiscal Q4 (November to January), 2025\n\n3 of 6 left: 50.0 %.";

pub(super) fn config() -> String {
    plugin_from("churn", &paths::real_plugin("churn"), GRANTS)
}

fn start(era: Era, abilities: Value) -> Client {
    client(Home::new(), &config(), era, abilities)
}

fn question() -> Value {
    json!({"question": "churn last quarter"})
}

fn table() -> PathBuf {
    root().join("plugins/churn/data/customers.csv")
}

/// Copies the table to the plugin's folder.
pub(super) fn supply(home: &Home) {
    fs::copy(table(), home.work().join("customers.csv")).unwrap();
}

thread_local! {
    /// The path at which the table is created when the user approves.
    static SUPPLIED: RefCell<PathBuf> = RefCell::default();
}

fn is_confirmation(params: &Value) -> bool {
    params["requestedSchema"]["properties"].as_object().is_some_and(serde_json::Map::is_empty)
}

/// A model that suggests, and a user who picks the fiscal quarter instead and approves. The table only exists after
/// that.
fn deciding(method: &str, params: &Value) -> Value {
    if method == "sampling/createMessage" {
        return said(
            "Here you are:\n```json\n{\"definition\": \"Paid customers\", \"quarter\": \"calendar-q4\", \"year\": 2025, \
             \"assumptions\": [\"of last year\"]}\n```",
        );
    }
    if is_confirmation(params) {
        let message = params["message"].as_str().unwrap();
        assert!(message.contains("joined < 2025-11-01") && message.contains("left < 2026-02-01"), "{message}");
        SUPPLIED.with_borrow(|to| fs::copy(table(), to)).unwrap();
        return filled(json!({}));
    }
    filled(json!({"definition": "paid-customers", "quarter": "fiscal-q4", "year": 2025, "notes": "of last year"}))
}

fn decide(client: &mut Client) -> super::Seen {
    SUPPLIED.set(client.server.home.work().join("customers.csv"));
    through(client, TOOL, &question(), deciding)
}

#[test]
fn the_users_edited_suggestion_is_evaluated() {
    let results = Era::ALL.map(|era| {
        let mut client = start(era, all());
        let seen = decide(&mut client);
        assert!(seen.called.good().starts_with(REPORT), "{era:?}: {}", seen.called.text());
        let asked = seen.asked();
        assert_eq!(asked.len(), 3, "{era:?}");
        if era == Era::Modern {
            assert!(seen.rounds.iter().all(|round| round.len() == 1), "an answered question is not asked again");
        }
        let fields = &asked[1]["requestedSchema"]["properties"];
        let defaults = ["definition", "quarter", "year", "notes"].map(|field| &fields[field]["default"]);
        assert_eq!(defaults, [&json!("paid-customers"), &json!("calendar-q4"), &json!(2025), &json!("of last year")]);

        let link = &seen.called.result()["content"][1];
        assert_eq!((&link["type"], &link["mimeType"]), (&json!("resource_link"), &json!("text/markdown")));
        let read = client.request("resources/read", json!({"uri": link["uri"]}));
        assert_eq!(read.result()["contents"][0]["text"], seen.called.result()["content"][0]["text"]);
        seen.substance()
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn without_a_model_the_forms_are_enough() {
    for era in Era::ALL {
        let mut client = start(era, json!({"elicitation": {}}));
        let seen = decide(&mut client);
        assert!(seen.called.good().starts_with(REPORT), "{era:?}: {}", seen.called.text());
        let asked = seen.asked();
        assert_eq!(asked.len(), 2);
        assert!(asked[0]["requestedSchema"]["properties"]["quarter"].get("default").is_none());
    }
}

#[test]
fn without_the_grant_the_report_is_only_returned() {
    let ungranted = GRANTS.replace("grants.publish = true\n", "");
    let config = plugin_from("churn", &paths::real_plugin("churn"), &ungranted);
    let mut client = client(Home::new(), &config, Era::Modern, all());
    let seen = decide(&mut client);
    assert!(seen.called.good().starts_with(REPORT), "{}", seen.called.text());
    assert_eq!(seen.called.result()["content"].as_array().unwrap().len(), 1);
}

/// The access time of a file, if its file system records it.
fn read_at(path: &PathBuf) -> SystemTime {
    fs::metadata(path).unwrap().accessed().unwrap()
}

#[test]
fn a_refusal_at_either_question_leaves_the_table_unread() {
    let nos: [(Answer, &str); 4] = [
        (|_, _| json!({"action": "decline"}), "the user declined"),
        (|_, _| json!({"action": "cancel"}), "the user closed the question without an answer"),
        (
            |method, params| match is_confirmation(params) {
                true => json!({"action": "decline"}),
                false => deciding(method, params),
            },
            "the user did not confirm",
        ),
        (
            |method, params| match is_confirmation(params) {
                true => json!({"action": "cancel"}),
                false => deciding(method, params),
            },
            "the user did not confirm",
        ),
    ];
    for era in Era::ALL {
        for (no, expected) in nos {
            // If the plugin opened the table, a missing table would cause an error, and a present one would change its
            // access time.
            for there in [false, true] {
                let mut client = start(era, json!({"elicitation": {}}));
                let path = client.server.home.work().join("customers.csv");
                let long_ago = UNIX_EPOCH + Duration::from_secs(86_400);
                if there {
                    supply(&client.server.home);
                    let file = File::options().write(true).open(&path).unwrap();
                    file.set_times(FileTimes::new().set_accessed(long_ago)).unwrap();
                }
                let seen = through(&mut client, TOOL, &question(), no);
                assert!(seen.called.is_error(), "{era:?}: {}", seen.called.text());
                assert_eq!(seen.called.text(), expected, "{era:?}");
                assert!(!there || read_at(&path) == long_ago, "{era:?}: the table was read");
            }
        }
    }
}

#[test]
fn a_client_without_forms_and_an_unrelated_question_are_refused() {
    let mut modern = start(Era::Modern, json!({}));
    let answer = modern.request("tools/call", json!({"name": TOOL, "arguments": question()}));
    assert_eq!(answer.error_code(), -32021);
    let mut legacy = start(Era::Legacy, json!({}));
    assert_eq!(legacy.call(TOOL, question()).code(), "unsupported");
    let other = legacy.call(TOOL, json!({"question": "how is the weather?"}));
    assert!(other.is_error() && other.text().contains("not about churn"), "{}", other.text());
}
