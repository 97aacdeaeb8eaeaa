//! What stays after a call: published resources and prompts, events; and requests with connected accounts.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::time::Duration;

use portcullis_guest::client::{self, Consent};
use portcullis_guest::connections::{self, ConnectionError, Response};
use portcullis_guest::events::{self, EventError};
use portcullis_guest::publish::{self, PublishError};
use portcullis_guest::testing::Host;
use portcullis_guest::{ResourceBody, Role, ToolError};
use serde_json::{Value, json};

#[test]
fn resources_are_put_appended_and_removed() {
    let host = Host::new();
    let resource = publish::resource("notes/today").text("milk").title("Today").mime_type("text/markdown");
    let uri = resource.for_role(Role::User).priority(0.5).ttl(Duration::from_secs(2)).put().unwrap();
    assert_eq!(uri, "portcullis://published/test/notes/today");
    publish::resource("notes/today").text(", eggs").append().unwrap();
    assert_eq!(host.published_text("notes/today").as_deref(), Some("milk, eggs"));
    let attributes = host.published("notes/today").unwrap().attributes;
    assert_eq!((attributes.title.as_deref(), attributes.ttl_ms), (Some("Today"), Some(2_000)));
    assert_eq!((attributes.audience, attributes.priority), (vec![Role::User], Some(0.5)));

    let bytes = || publish::resource("notes/today").bytes(vec![1]);
    assert!(matches!(bytes().append(), Err(PublishError::Invalid(_))), "not of the same kind");
    publish::remove("notes/today").unwrap();
    assert_eq!(publish::remove("notes/today"), Err(PublishError::NotFound));
    bytes().append().unwrap();
    assert_eq!(host.published("notes/today").unwrap().body, ResourceBody::Blob(vec![1]));
    for path in ["", "/a", "a//b", "../a", "a b"] {
        assert!(matches!(publish::resource(path).text("").put(), Err(PublishError::Invalid(_))), "{path}");
    }
}

#[test]
fn prompts_are_put_and_removed() {
    let host = Host::new();
    let prompt = publish::prompt("daily").title("Daily").argument("day").user("Sum up {{day}}.");
    prompt.assistant("Gladly.").ttl(Duration::from_millis(5)).put().unwrap();
    let prompt = host.published_prompt("daily").unwrap();
    assert_eq!((prompt.arguments, prompt.ttl_ms), (vec!["day".to_owned()], Some(5)));
    assert_eq!((prompt.messages[0].role, prompt.messages[1].text.as_str()), (Role::User, "Gladly."));
    publish::remove_prompt("daily").unwrap();
    assert_eq!(publish::remove_prompt("daily"), Err(PublishError::NotFound));
    assert!(matches!(publish::prompt("a.b").put(), Err(PublishError::Invalid(_))));
}

#[test]
fn events_are_added_once_per_key() {
    let host = Host::new();
    let payload = json!({ "version": 2 });
    assert_eq!(events::emit_once("policy.effective", "v2", &payload), Ok(true));
    assert_eq!(events::emit_once("policy.effective", "v2", &payload), Ok(false));
    events::emit("policy.effective", &payload).unwrap();
    events::emit("policy.effective", &payload).unwrap();
    let events = host.events();
    assert_eq!((events.len(), events[0].dedupe_key.as_deref(), &events[0].payload), (3, Some("v2"), &payload));
    assert!(matches!(events::emit("a..b", &payload), Err(EventError::Invalid(_))));
}

#[test]
fn without_a_grant_nothing_stays() {
    let host = Host::new().deny("publish").deny("events");
    let denied = publish::resource("a").text("").put().unwrap_err();
    assert!(matches!(ToolError::from(denied), ToolError::Denied(denial) if denial.capability == "publish"));
    assert!(matches!(publish::remove_prompt("a"), Err(PublishError::Denied(_))));
    let denied = events::emit("policy.effective", &()).unwrap_err();
    assert_eq!(
        denied.to_string(),
        "denied: events does not allow `policy.effective`. Ask the user, who alone can allow it"
    );
    assert_eq!((host.published("a"), host.events().len()), (None, 0));
}

#[test]
fn accounts_are_used_once_connected() {
    let host = Host::new().page(Consent::Accepted).disconnected("github").connection("github", |sent| {
        match sent.path.as_str() {
            "/user" => Ok(Response::new(200, r#"{"login":"ada"}"#)),
            _ => Ok(Response { headers: vec![("Retry-After".into(), "1".into())], ..Response::new(503, "") }),
        }
    });
    assert_eq!(connections::connected("github"), Ok(false));
    assert_eq!(connections::get("github", "/user").send(), Err(ConnectionError::NotConnected));
    client::connect("Connect GitHub.", "github").ask().unwrap().or_stop().unwrap();
    assert_eq!(connections::connected("github"), Ok(true));

    let user = connections::get("github", "/user").header("accept", "application/json").send().unwrap();
    assert_eq!(user.error_for_status().unwrap().json::<Value>(), Ok(json!({ "login": "ada" })));
    let busy = connections::post("github", "/issues").json(&json!({ "title": "a" })).send().unwrap();
    assert_eq!((busy.header("retry-after"), busy.text().as_ref()), (Some("1"), ""));
    assert!(matches!(busy.json::<Value>(), Err(ConnectionError::UnexpectedResponse(_))));
    assert_eq!(busy.error_for_status(), Err(ConnectionError::Status(503)));
    let sent = host.sent();
    assert_eq!(
        (sent.len(), sent[1].method.as_str(), sent[1].body.as_slice()),
        (2, "POST", br#"{"title":"a"}"#.as_slice())
    );
    assert_eq!(sent[1].headers, [("content-type".to_owned(), "application/json".to_owned())]);
}

#[test]
fn accounts_need_a_grant_and_no_credentials_of_the_plugins() {
    let _host = Host::new().connection("github", |_| Ok(Response::new(200, "")));
    let denied = connections::delete("gitlab", "/user").send().unwrap_err();
    assert!(matches!(ToolError::from(denied), ToolError::Denied(denial) if denial.target == "gitlab"));
    let forged = connections::put("github", "/").header("Authorization", "Bearer x").body("x").send();
    assert!(matches!(forged, Err(ConnectionError::Invalid(_))));
    let map = std::collections::BTreeMap::from([((1, 2), 3)]);
    let unwritable = connections::patch("github", "/").json(&map).send().unwrap_err();
    assert!(unwritable.to_string().starts_with("the request cannot be sent: the body cannot be written as JSON"));
}
