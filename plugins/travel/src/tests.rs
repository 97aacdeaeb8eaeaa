//! All ways through a booking, on the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use portcullis_guest::client::{Answer, ClientError};
use portcullis_guest::testing::{self, AskedQuestion, Host};
use portcullis_guest::{ToolError, ToolResult};
use serde_json::{Value, json};

use crate::travel::PLUGIN;

fn call(host: &Host) -> Result<ToolResult, ToolError> {
    host.call(&PLUGIN, "travel_agent", json!({ "destination": " Paris\n" }))
}

fn confirmed() -> Answer<Value> {
    Answer::Accepted(json!({ "confirm": true, "notes": "a window seat" }))
}

fn bookings(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("bookings.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn percents(host: &Host) -> Vec<f64> {
    host.progress().iter().map(|report| report.done).collect()
}

#[test]
fn a_confirmed_trip_is_booked_once() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new().folder(folder.path()).form(confirmed());
    let text = call(&host).unwrap().all_text();
    assert_eq!(text, "Booked Paris for 1200: flight PC163, 9 weeks from now. Notes: a window seat");
    let booking = json!({
        "destination": "Paris", "flight": "PC163", "price": 1200, "notes": "a window seat",
        "call": "test-call", "principal": "local",
    });
    assert_eq!(bookings(folder.path()), [booking]);
    assert_eq!(percents(&host), [0.0, 25.0, 50.0, 75.0, 100.0]);
    let asked = host.asked();
    assert_eq!((asked.len(), asked[0].message()), (1, "Confirm 1200 for Paris?"));
    let AskedQuestion::Form { schema, .. } = &asked[0].question else { panic!("{:?}", asked[0]) };
    assert_eq!(schema["required"], json!(["confirm"]));
    assert_eq!(schema["properties"]["confirm"]["type"], "boolean");
}

#[test]
fn anything_but_a_yes_books_nothing() {
    let accepted = |content| Answer::Accepted(content);
    for (answer, expected) in [
        (accepted(json!({ "confirm": false, "notes": "too expensive" })), "Booking cancelled: too expensive"),
        (accepted(json!({ "confirm": false })), "Booking cancelled: not confirmed"),
        (Answer::Declined, "Booking cancelled: the user declined."),
        (Answer::Cancelled, "Nothing is booked: nobody has answered the question."),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::new().folder(folder.path()).form(answer).sample("not asked");
        assert_eq!(call(&host).unwrap().all_text(), expected);
        assert_eq!((bookings(folder.path()).len(), host.asked().len()), (0, 1));
        assert_eq!(percents(&host), [0.0, 25.0, 50.0]);
    }
}

#[test]
fn without_somebody_to_confirm_nothing_is_booked() {
    let folder = tempfile::tempdir().unwrap();
    let none = Host::new().folder(folder.path()).sample("a model is no user");
    assert_eq!(call(&none).unwrap_err(), ToolError::Unsupported("elicitation.form".into()));
    let denied = Host::new().folder(folder.path()).form(confirmed()).deny("client.form");
    assert!(matches!(call(&denied), Err(ToolError::Denied(denial)) if denial.capability == "client.form"));
    let silent = Host::new().folder(folder.path()).forms(|_| Err(ClientError::Timeout(std::time::Duration::ZERO)));
    assert!(matches!(call(&silent), Err(ToolError::Failed(_))));
    assert!(bookings(folder.path()).is_empty());
}

#[test]
fn nobody_is_asked_what_cannot_be_done() {
    let host = Host::new().form(confirmed());
    assert!(matches!(call(&host), Err(ToolError::Denied(denial)) if denial.target == "/bookings"));
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new().folder(folder.path()).form(confirmed());
    let blank = host.call(&PLUGIN, "travel_agent", json!({ "destination": " " })).unwrap_err();
    assert_eq!(blank, ToolError::InvalidArguments("destination is empty".into()));
    assert!(host.asked().is_empty());
}

#[test]
fn a_model_may_sum_it_up() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new().folder(folder.path()).form(confirmed()).sample("Enjoy Paris! ");
    assert!(call(&host).unwrap().all_text().ends_with("Notes: a window seat\n\nEnjoy Paris!"));
    let AskedQuestion::Sample(request) = &host.asked()[1].question else { panic!("{:?}", host.asked()) };
    assert_eq!((request.max_tokens, request.purpose.as_deref()), (60, Some("sum up the booking")));
    assert!(host.asked()[1].message().contains("Booked Paris for 1200"));
}

#[test]
fn what_the_model_does_undoes_nothing() {
    for error in [ClientError::Declined("no".into()), ClientError::Cancelled, ClientError::Failed("broken".into())] {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::new().folder(folder.path()).form(confirmed()).samples(move |_| Err(error.clone()));
        assert!(call(&host).unwrap().all_text().ends_with("Notes: a window seat"));
        assert_eq!(bookings(folder.path()).len(), 1);
    }
}

#[test]
fn says_what_it_does() {
    let annotations = testing::tool(&PLUGIN, "travel_agent").annotations;
    assert_eq!((annotations.read_only, annotations.destructive), (Some(false), Some(true)));
    assert_eq!((annotations.idempotent, annotations.open_world), (Some(false), Some(false)));
}
