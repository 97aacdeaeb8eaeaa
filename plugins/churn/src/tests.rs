//! All ways to a report, on the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use portcullis_guest::client::{Answer, ClientError};
use portcullis_guest::testing::{AskedQuestion, Host};
use portcullis_guest::{ContentData, ToolError, ToolResult};
use serde_json::{Value, json};

use crate::churn::PLUGIN;

const TABLE: &str = include_str!("../data/customers.csv");
const SUGGESTION: &str =
    r#"{ "definition": "paid-customers", "quarter": "calendar-q4", "year": 2025, "assumptions": "a quarter of 2025" }"#;

/// A folder in which there is no table before the user approves.
struct Data(tempfile::TempDir);

impl Data {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn host(&self) -> Host {
        Host::new().folder(self.0.path())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("customers.csv")
    }

    /// A user who chooses this, and approves. Only then does the table come to be.
    fn approving(&self, choice: Value) -> Host {
        let file = self.file();
        self.host().form(Answer::Accepted(choice)).forms(move |asked| {
            assert_eq!(asked.key.as_deref(), Some("approval"));
            fs::write(&file, TABLE).unwrap();
            Ok(Answer::Accepted(json!({})))
        })
    }
}

fn choice(definition: &str, quarter: &str) -> Value {
    json!({ "definition": definition, "quarter": quarter, "year": 2025, "notes": "as agreed" })
}

fn call(host: &Host) -> Result<ToolResult, ToolError> {
    host.call(&PLUGIN, "generate_report", json!({ "question": "churn last  quarter" }))
}

fn keys(host: &Host) -> Vec<String> {
    host.asked().into_iter().filter_map(|asked| asked.key).collect()
}

#[test]
fn an_edited_suggestion_is_what_is_counted() {
    let data = Data::new();
    let host = data.approving(choice("paid-customers", "fiscal-q4")).sample(SUGGESTION);
    let result = call(&host).unwrap();
    let report = result.content[0].as_text().unwrap();
    assert!(report.starts_with("# Churn, Fiscal Q4 (November to January), 2025\n\n3 of 6 left: 50.0 %.\n"), "{report}");
    assert!(report.contains("| 2025-12 | 2 |\n| 2026-01 | 1 |\n"), "{report}");
    assert!(report.contains("left < 2026-02-01\n- Notes: as agreed"), "{report}");
    assert_eq!(keys(&host), ["suggestion", "review", "approval"], "each is asked once");
    assert!(host.asked()[2].message().contains("joined < 2025-11-01"), "{}", host.asked()[2].message());

    let published = host.published("churn/2025-fiscal-q4-paid-customers").unwrap();
    assert_eq!(host.published_text("churn/2025-fiscal-q4-paid-customers").unwrap(), report);
    assert_eq!(published.attributes.mime_type.as_deref(), Some("text/markdown"));
    assert!(matches!(&result.content[1].data, ContentData::ResourceLink(link) if link.uri == published.uri));
}

#[test]
fn definitions_and_quarters_make_a_difference() {
    for (definition, quarter, expected) in [
        ("paid-customers", "calendar-q4", "3 of 7 left: 42.9 %."),
        ("paid-customers", "fiscal-q4", "3 of 6 left: 50.0 %."),
        ("all-accounts", "fiscal-q4", "5 of 8 left: 62.5 %."),
        ("all-accounts", "calendar-q4", "4 of 8 left: 50.0 %."),
    ] {
        let data = Data::new();
        let host = data.approving(choice(definition, quarter));
        let report = call(&host).unwrap().all_text();
        assert!(report.contains(expected), "{definition} {quarter}: {report}");
    }
}

#[test]
fn the_form_starts_with_what_the_model_said() {
    let data = Data::new();
    let host = data.approving(choice("all-accounts", "fiscal-q4")).sample(SUGGESTION);
    call(&host).unwrap();
    let AskedQuestion::Form { message, schema } = &host.asked()[1].question else { panic!("{:?}", host.asked()) };
    assert_eq!(
        message,
        "\"churn last quarter\": churn of whom (Paid customers or All accounts, trials too), and when?"
    );
    let default = |name: &str| schema["properties"][name]["default"].clone();
    let defaults = ["definition", "quarter", "year", "notes"].map(default);
    assert_eq!(defaults, [json!("paid-customers"), json!("calendar-q4"), json!(2025), json!("a quarter of 2025")]);
    assert_eq!(schema["properties"]["quarter"]["oneOf"].as_array().unwrap().len(), 8);
    assert_eq!(schema["required"], json!(["definition", "quarter", "year"]));
}

#[test]
fn without_a_model_the_form_alone_does_it() {
    for host in [|host: Host| host, |host: Host| host.sample(SUGGESTION).deny("client.sample")] {
        let data = Data::new();
        let host = host(data.approving(choice("paid-customers", "fiscal-q4")));
        assert!(call(&host).unwrap().all_text().contains("3 of 6 left"));
        let AskedQuestion::Form { schema, .. } = &host.asked()[0].question else { panic!("{:?}", host.asked()) };
        assert!(schema["properties"]["definition"].get("default").is_none(), "two meanings are left");
        assert_eq!(keys(&host), ["review", "approval"]);
    }
}

#[test]
fn a_no_leaves_the_table_alone() {
    // There is no table: whoever opened it would fail in other words.
    let stops = |host: Host, expected: &str, asked: usize| {
        assert_eq!(call(&host).unwrap_err(), ToolError::failed(expected));
        assert_eq!(host.asked().len(), asked);
    };
    let data = Data::new();
    let chosen = || Answer::Accepted(choice("paid-customers", "fiscal-q4"));
    let reviewer = data.host().form(chosen()).samples(|_| Err(ClientError::Declined("no".into())));
    stops(reviewer, "the client's side declined the question: no", 1);
    stops(data.host().form(Answer::Declined), "the user declined", 1);
    stops(data.host().form(Answer::Cancelled), "the user closed the question without an answer", 1);
    for no in [Answer::Declined, Answer::Cancelled] {
        stops(data.host().form(chosen()).form(no), "the user did not confirm", 2);
    }
    assert_eq!(call(&data.host()).unwrap_err(), ToolError::Unsupported("elicitation.form".into()));
}

#[test]
fn what_cannot_be_published_is_still_told() {
    let data = Data::new();
    let host = data.approving(choice("paid-customers", "fiscal-q4")).deny("publish");
    let result = call(&host).unwrap();
    assert_eq!(result.content.len(), 1);
    assert!(result.all_text().contains("3 of 6 left"));
}

#[test]
fn odd_tables_are_refused_by_line() {
    let refused = |table: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("customers.csv");
        fs::write(&path, table).unwrap();
        let host = approved(folder.path());
        let error = call(&host).unwrap_err().to_string();
        error.replace(&path.display().to_string(), "TABLE")
    };
    assert_eq!(refused("name,since\n"), "`TABLE`, line 1: the columns are not customer,plan,joined,left");
    let row = |row: &str| refused(&format!("customer,plan,joined,left\n{row}\n"));
    assert_eq!(row("a,b"), "`TABLE`, line 2: not four columns");
    assert_eq!(row("a,paid,2025-1-1,"), "`TABLE`, line 2: a date is not of the form 2025-12-31");
    assert_eq!(row("a,paid,2025-01-01,äöüäö"), "`TABLE`, line 2: a date is not of the form 2025-12-31");
}

#[test]
fn an_empty_quarter_is_no_division_by_zero() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("customers.csv"), "customer,plan,joined,left\n").unwrap();
    let host = approved(folder.path());
    assert!(call(&host).unwrap().all_text().contains("0 of 0 left: nobody was there to leave."));
}

fn approved(folder: &Path) -> Host {
    let host = Host::new().folder(folder).form(Answer::Accepted(choice("paid-customers", "fiscal-q4")));
    host.form(Answer::Accepted(json!({})))
}
