//! The travel agent: one booking per consent, and none otherwise.

use super::{all, answered, assert_progress, client, filled, progress, said, through};
use serde_json::{Value, json};
use std::fs;
use suite::{Called, Client, Era, Home, paths, plugin_from};

const TOOL: &str = "travel__travel_agent";
const GRANTS: &str = r#"grants.client = { form = true, sample = {} }
grants.filesystem = [{ host = "work", guest = "/bookings", access = "write" }]"#;
const BOOKED: &str = "Booked Paris for 1200: flight PC163, 9 weeks from now. Notes: a window seat";

pub(super) fn config() -> String {
    plugin_from("travel", &paths::real_plugin("travel"), GRANTS)
}

fn start(era: Era, abilities: Value) -> Client {
    client(Home::new(), &config(), era, abilities)
}

fn paris() -> Value {
    json!({"destination": "Paris"})
}

pub(super) fn bookings(home: &Home) -> usize {
    fs::read_to_string(home.work().join("bookings.jsonl")).map_or(0, |text| text.lines().count())
}

fn yes(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" => {
            assert_eq!(params["message"], "travel asks: Confirm 1200 for Paris?");
            filled(json!({"confirm": true, "notes": "a window seat"}))
        }
        _ => said("Have a good time in Paris."),
    }
}

#[test]
fn consent_books_once_in_both_eras() {
    let results = Era::ALL.map(|era| {
        let mut client = start(era, all());
        let seen = through(&mut client, TOOL, &paris(), yes);
        assert_eq!(seen.called.good(), format!("{BOOKED}\n\nHave a good time in Paris."), "{era:?}");
        assert_progress(&seen.progress, &[0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(seen.rounds.len(), if era == Era::Modern { 2 } else { 1 });
        let asked = seen.asked();
        assert_eq!((asked.len(), &asked[1]["maxTokens"]), (2, &json!(60)));
        let fields = &asked[0]["requestedSchema"]["properties"];
        assert_eq!((&fields["confirm"]["type"], &fields["notes"]["type"]), (&json!("boolean"), &json!("string")));
        assert_eq!(asked[0]["requestedSchema"]["required"], json!(["confirm"]));
        assert_eq!(bookings(&client.server.home), 1, "{era:?}");
        seen.substance()
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn without_a_model_the_booking_is_the_same() {
    for era in Era::ALL {
        let mut client = start(era, json!({"elicitation": {}}));
        let seen = through(&mut client, TOOL, &paris(), yes);
        assert_eq!((seen.called.good().as_str(), seen.asked().len()), (BOOKED, 1));
        assert_eq!(bookings(&client.server.home), 1);
    }
}

#[test]
fn a_model_that_refuses_undoes_nothing() {
    let mut client = start(Era::Legacy, all());
    let seen = through(&mut client, TOOL, &paris(), |method, params| match method {
        "elicitation/create" => yes(method, params),
        _ => json!({"error": {"code": -1, "message": "the user does not want this"}}),
    });
    assert_eq!((seen.called.good().as_str(), bookings(&client.server.home)), (BOOKED, 1));
    // A modern client cannot send a refusal; it retries without an answer until the host stops asking.
    let mut client = start(Era::Modern, all());
    let seen = through(&mut client, TOOL, &paris(), |method, params| match method {
        "elicitation/create" => yes(method, params),
        _ => Value::Null,
    });
    assert_eq!((seen.called.good().as_str(), bookings(&client.server.home)), (BOOKED, 1));
}

#[test]
fn without_consent_nothing_is_booked() {
    let cases: [(super::Answer, &str); 3] = [
        (|_, _| filled(json!({"confirm": false, "notes": "too far"})), "Booking cancelled: too far"),
        (|_, _| json!({"action": "decline"}), "Booking cancelled: the user declined."),
        (|_, _| json!({"action": "cancel"}), "Nothing is booked: nobody has answered the question."),
    ];
    for era in Era::ALL {
        for (no, expected) in cases {
            let mut client = start(era, all());
            let seen = through(&mut client, TOOL, &paris(), no);
            assert_eq!((seen.called.good().as_str(), seen.asked().len()), (expected, 1), "{era:?}");
            assert_progress(&seen.progress, &[0.0, 25.0, 50.0]);
            assert_eq!(bookings(&client.server.home), 0, "{era:?}");
        }
    }
}

#[test]
fn without_a_user_to_confirm_nothing_is_booked() {
    let only_a_model = json!({"sampling": {}});
    let mut modern = start(Era::Modern, only_a_model.clone());
    let answer = modern.request("tools/call", json!({"name": TOOL, "arguments": paris()}));
    assert_eq!(answer.error_code(), -32021);
    assert_eq!(answer.message["error"]["data"]["requiredCapabilities"], json!({"elicitation": {"form": {}}}));
    let mut legacy = start(Era::Legacy, only_a_model);
    let called = legacy.call(TOOL, paris());
    assert_eq!(called.code(), "unsupported");
    assert_eq!(bookings(&modern.server.home) + bookings(&legacy.server.home), 0);
}

#[test]
fn a_state_books_once_and_an_altered_state_never() {
    let mut client = start(Era::Modern, json!({"elicitation": {}}));
    let first = client.call(TOOL, paris());
    assert_progress(&progress(&first), &[0.0, 25.0, 50.0]);
    assert_eq!(bookings(&client.server.home), 0);
    let (retry, _) = answered(TOOL, &paris(), first.result(), yes);
    let refused = |client: &mut Client, params: &Value| {
        assert_eq!(client.request("tools/call", params.clone()).error_code(), -32602, "{params}");
    };
    for at in [0, 20, 40] {
        let mut state = retry["requestState"].as_str().unwrap().to_owned().into_bytes();
        state[at] = if state[at] == b'A' { b'B' } else { b'A' };
        let mut altered = retry.clone();
        altered["requestState"] = String::from_utf8(state).unwrap().into();
        refused(&mut client, &altered);
    }
    let mut elsewhere = retry.clone();
    elsewhere["arguments"]["destination"] = "Rome".into();
    refused(&mut client, &elsewhere);
    assert_eq!(bookings(&client.server.home), 0);

    let called = Called(client.request("tools/call", retry.clone()));
    assert_eq!(called.good(), BOOKED);
    assert_progress(&progress(&called), &[75.0, 100.0]);
    assert_eq!(bookings(&client.server.home), 1);
    refused(&mut client, &retry);
    assert_eq!(bookings(&client.server.home), 1);
}

#[test]
fn the_tool_declares_its_side_effects() {
    for era in Era::ALL {
        let tools = start(era, json!({})).tools();
        let expected = json!({"title": "Book a trip", "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false});
        for (hint, value) in expected.as_object().unwrap().iter().filter(|(hint, _)| hint.ends_with("Hint")) {
            assert_eq!(&tools[0]["annotations"][hint], value, "{hint}");
        }
    }
}
