//! With and without an account, on the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use portcullis_guest::client::{ClientError, Consent};
use portcullis_guest::connections::{ConnectionError, Response};
use portcullis_guest::testing::{self, AskedQuestion, Host};
use portcullis_guest::{ToolError, ToolResult};
use serde_json::json;

use crate::pulls::PLUGIN;

fn call(host: &Host) -> Result<ToolResult, ToolError> {
    host.call(&PLUGIN, "list_private_prs", json!({}))
}

/// A host with an account whose server always answers this.
fn github(status: u16, body: impl ToString) -> Host {
    let body = body.to_string();
    Host::new().connection("github", move |_| Ok(Response::new(status, body.clone())))
}

fn two() -> Host {
    github(200, json!([{ "title": "Raise the gate", "draft": true }, { "title": "Lower\n- the  gate" }]))
}

#[test]
fn a_connected_account_is_used_at_once() {
    let host = two().page(Consent::Declined);
    assert_eq!(call(&host).unwrap().all_text(), "- Raise the gate\n- Lower - the gate");
    assert!(host.asked().is_empty());
    let sent = host.sent();
    assert_eq!((sent.len(), sent[0].method.as_str(), sent[0].path.as_str()), (1, "GET", "/user/pulls"));
    assert_eq!((sent[0].connection.as_str(), sent[0].body.len()), ("github", 0));
    assert_eq!(call(&github(200, "[]")).unwrap().all_text(), "There are no pull requests.");
}

#[test]
fn whoever_agrees_is_asked_once() {
    let host = two().disconnected("github").page(Consent::Accepted);
    for _ in 0..2 {
        assert!(call(&host).unwrap().all_text().starts_with("- Raise the gate"));
    }
    let asked = host.asked();
    assert_eq!((asked.len(), asked[0].message(), asked[0].key.as_deref()), (1, "Authorize GitHub", Some("authorize")));
    let AskedQuestion::Connect { connection, .. } = &asked[0].question else { panic!("{:?}", asked[0]) };
    assert_eq!(connection, "github");
}

#[test]
fn without_a_yes_nothing_is_sent() {
    for (answer, why) in [(Consent::Declined, "declined"), (Consent::Cancelled, "closed the question")] {
        let host = two().disconnected("github").page(answer);
        let Err(ToolError::Failed(text)) = call(&host) else { panic!("no error") };
        assert!(text.contains("no access to GitHub") && text.contains(why), "{text}");
        assert!(host.sent().is_empty());
    }
    let nobody = two().disconnected("github");
    assert_eq!(call(&nobody).unwrap_err(), ToolError::Unsupported("elicitation.url".into()));
    let silent = two().disconnected("github").pages(|_| Err(ClientError::NotAnswered("not connected yet".into())));
    assert!(matches!(call(&silent), Err(ToolError::Failed(_))));
    assert!(nobody.sent().is_empty() && silent.sent().is_empty());
}

#[test]
fn without_a_grant_nobody_is_asked() {
    let host = Host::new().page(Consent::Accepted);
    assert!(matches!(call(&host), Err(ToolError::Denied(denial)) if denial.capability == "connections"));
    assert!(host.asked().is_empty());
}

#[test]
fn a_server_that_misbehaves_is_an_error() {
    for (status, body, expected) in [
        (500, "[]", "status 500"),
        (302, "[]", "status 302"),
        (200, "sorry", "not what was expected"),
        (200, "[{}]", "not what was expected"),
    ] {
        let Err(ToolError::Failed(text)) = call(&github(status, body)) else { panic!("no error for {status} {body}") };
        assert!(text.contains(expected), "{text}");
    }
    let gone = Host::new().connection("github", |_| Err(ConnectionError::NotConnected));
    assert!(matches!(call(&gone), Err(ToolError::Failed(text)) if text.contains("not connected")));
}

#[test]
fn says_what_it_does() {
    let tool = testing::tool(&PLUGIN, "list_private_prs");
    assert_eq!((tool.annotations.read_only, tool.annotations.open_world), (Some(true), Some(true)));
}
