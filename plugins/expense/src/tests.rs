//! News and submissions, on the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;

use portcullis_guest::client::Answer;
use portcullis_guest::testing::{self, AskedQuestion, Host};
use portcullis_guest::{Context, ToolError};
use serde_json::{Value, json};

use crate::expense::PLUGIN;

fn data() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("receipts.csv"), include_str!("../data/receipts.csv")).unwrap();
    fs::write(folder.path().join("policies.csv"), include_str!("../data/policies.csv")).unwrap();
    folder
}

fn call(host: &Host, tool: &str, arguments: Value) -> Result<Value, ToolError> {
    let result = host.call(&PLUGIN, tool, arguments)?;
    Ok(serde_json::from_str(&result.structured.unwrap()).unwrap())
}

fn submit(host: &Host, key: &str) -> Result<Value, ToolError> {
    call(host, "submit_receipts", json!({ "idempotencyKey": key }))
}

fn picking(folder: &tempfile::TempDir, receipts: Value) -> Host {
    Host::new().folder(folder.path()).form(Answer::Accepted(json!({ "receipts": receipts })))
}

#[test]
fn the_day_before_is_told_once() {
    let folder = data();
    let host = Host::new().folder(folder.path());
    let check = |now: &str| call(&host, "check_policies", json!({ "now": now })).unwrap();
    assert_eq!(check("2026-11-29"), json!({ "told": [], "known": [], "pending": 3 }));
    assert_eq!(check("2026-11-30"), json!({ "told": ["pol-7"], "known": [], "pending": 3 }));
    assert_eq!(check("2026-11-30"), json!({ "told": [], "known": ["pol-7"], "pending": 3 }));
    let events = host.events();
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].name.as_str(), events[0].dedupe_key.as_deref()), ("policy.effective", Some("pol-7")));
    assert_eq!((&events[0].payload["pending"], &events[0].payload["effective"]), (&json!(3), &json!("2026-12-01")));
    assert!(host.asked().is_empty(), "nobody is asked anything");
}

#[test]
fn news_needs_a_grant() {
    let folder = data();
    let host = Host::new().folder(folder.path()).deny("events");
    let denied = call(&host, "check_policies", json!({ "now": "2026-11-30" }));
    assert!(matches!(denied, Err(ToolError::Denied(denial)) if denial.target == "policy.effective"));
}

#[test]
fn picked_receipts_are_submitted_once_for_a_key() {
    let folder = data();
    let host = picking(&folder, json!(["r1", "r3"]));
    let submitted = submit(&host, "december").unwrap();
    assert_eq!((&submitted["status"], &submitted["cents"]), (&json!("submitted"), &json!(9695)));
    let AskedQuestion::Form { schema, .. } = &host.asked()[0].question else { panic!("{:?}", host.asked()) };
    let choices = &schema["properties"]["receipts"]["items"]["anyOf"];
    assert_eq!(choices[1], json!({ "const": "r2", "title": "2026-11-13: Lunch with the guild, 42.50" }));

    // Nobody is there to be asked any more.
    let host = Host::new().folder(folder.path());
    let again = submit(&host, "december").unwrap();
    assert_eq!((&again["status"], &again["receipts"]), (&json!("submitted-before"), &submitted["receipts"]));
    assert_eq!(submit(&host, "january"), Err(ToolError::Unsupported("elicitation.form".into())));

    let host = picking(&folder, json!(["r1", "r2"]));
    let rest = submit(&host, "january").unwrap();
    assert_eq!(rest["receipts"].as_array().unwrap().len(), 1, "r1 is not open any more: {rest}");
    let nothing = submit(&Host::new().folder(folder.path()), "february").unwrap();
    assert_eq!(nothing, json!({ "status": "not-submitted", "reason": "no receipt is open" }));
    let drafts = fs::read_dir(folder.path())
        .unwrap()
        .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "draft"));
    assert_eq!(drafts.count(), 0);
}

#[test]
fn two_calls_of_one_key_have_one_effect() {
    let folder = data();
    // While the user of one call thinks, the other one is through.
    let path = folder.path().to_path_buf();
    let host = Host::new().folder(folder.path()).forms(move |_| {
        let other = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let host = Host::new().folder(&path).form(Answer::Accepted(json!({ "receipts": ["r2"] })));
                let ctx = Context { id: "other-call".into(), ..testing::context() };
                testing::call_in(&ctx, &PLUGIN, "submit_receipts", json!({ "idempotencyKey": "k" })).map(|_| drop(host))
            });
            other.join().unwrap()
        });
        assert_eq!(other, Ok(()));
        Ok(Answer::Accepted(json!({ "receipts": ["r1"] })))
    });
    let mine = submit(&host, "k").unwrap();
    assert_eq!((&mine["status"], &mine["receipts"][0]["id"]), (&json!("submitted-before"), &json!("r2")));
}

#[test]
fn keys_are_their_principals() {
    let folder = data();
    submit(&picking(&folder, json!(["r1"])), "k").unwrap();
    let host = picking(&folder, json!(["r2"]));
    let ctx = Context { principal: "somebody else".into(), ..testing::context() };
    let other = testing::call_in(&ctx, &PLUGIN, "submit_receipts", json!({ "idempotencyKey": "k" })).unwrap();
    assert!(other.structured.unwrap().contains(r#""status":"submitted","#));
    drop(host);
}

#[test]
fn a_no_submits_nothing() {
    for no in [Answer::Declined, Answer::Cancelled] {
        let folder = data();
        let host = Host::new().folder(folder.path()).form(no);
        assert_eq!(submit(&host, "k").unwrap()["status"], "not-submitted");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "only the tables");
    }
    let denied = submit(&Host::new(), "k");
    assert!(matches!(denied, Err(ToolError::Denied(denial)) if denial.target == "/expenses"));
}

#[test]
fn odd_tables_are_refused_by_line() {
    let folder = data();
    fs::write(folder.path().join("receipts.csv"), "id,date,what,cents\na,b\n").unwrap();
    let host = Host::new().folder(folder.path());
    let refused = submit(&host, "k").unwrap_err().to_string();
    assert!(refused.ends_with("receipts.csv`, line 2: not 4 columns"), "{refused}");
    fs::write(folder.path().join("receipts.csv"), "id,date,what,cents\na,b,c,d\n").unwrap();
    assert!(submit(&host, "k").unwrap_err().to_string().contains("the amount of a is not"));
}
