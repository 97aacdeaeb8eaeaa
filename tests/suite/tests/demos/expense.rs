//! The expense clerk: events that the client reads from an inbox, and an effect that happens once per key.

use super::{Seen, client, filled, through};
use serde_json::{Value, json};
use std::fs;
use std::net::SocketAddr;
use std::thread;
use std::time::Instant;
use suite::client::modern_meta;
use suite::http::{self, legacy, legacy_session};
use suite::{Called, Client, Era, Home, Server, paths, plugin_from};

const CHECK: &str = "expense__check_policies";
const SUBMIT: &str = "expense__submit_receipts";
const FOLDER: &str = "grants.filesystem = [{ host = \"work\", guest = \"/expenses\", access = \"write\" }]\n";
const INBOX: &str = "portcullis://inbox";

fn config(events: &str) -> String {
    let settings = format!("{FOLDER}grants.client.form = true\ngrants.events = [\"{events}\"]");
    plugin_from("expense", &paths::real_plugin("expense"), &settings)
}

/// A folder with receipts and policies.
fn home() -> Home {
    let home = Home::new();
    for table in ["receipts.csv", "policies.csv"] {
        fs::copy(paths::root().join("plugins/expense/data").join(table), home.work().join(table)).unwrap();
    }
    home
}

fn start(era: Era) -> Client {
    client(home(), &config("policy.*"), era, json!({"elicitation": {}}))
}

/// Calls the check tool, which asks no questions.
fn check(client: &mut Client) -> Called {
    let seen =
        through(client, CHECK, &json!({"now": "2026-11-30"}), |method, _| panic!("{method} was sent to the client"));
    assert!(seen.asked().is_empty());
    seen.called
}

fn submit(client: &mut Client, key: &str, answer: super::Answer) -> Seen {
    through(client, SUBMIT, &json!({"idempotencyKey": key}), answer)
}

/// The number of submissions, including drafts.
fn submissions(home: &Home) -> usize {
    let names = fs::read_dir(home.work()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".submission.json") || name.ends_with(".draft")).count()
}

fn inbox(client: &mut Client, uri: &str) -> Value {
    let read = client.request("resources/read", json!({"uri": uri}));
    serde_json::from_str(read.result()["contents"][0]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn each_event_enters_the_inbox_once() {
    for era in Era::ALL {
        let mut client = start(era);
        let updates = "notifications/resources/updated";
        if era == Era::Modern {
            client.begin("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": [INBOX]}}));
            assert_eq!(client.notified()["method"], "notifications/subscriptions/acknowledged");
        } else {
            client.request("resources/subscribe", json!({"uri": INBOX}));
        }
        assert_eq!(inbox(&mut client, INBOX)["events"], json!([]));
        let first = check(&mut client);
        assert_eq!(first.result()["structuredContent"], json!({"told": ["pol-7"], "known": [], "pending": 3}));
        assert_eq!(client.wait_for(updates)["params"]["uri"], INBOX, "{era:?}");
        let again = check(&mut client);
        assert_eq!(again.result()["structuredContent"], json!({"told": [], "known": ["pol-7"], "pending": 3}));

        let news = inbox(&mut client, INBOX);
        assert_eq!(news["events"].as_array().unwrap().len(), 1, "{news}");
        let event = &news["events"][0];
        assert_eq!((&event["name"], &event["plugin"]), (&json!("policy.effective"), &json!("expense")), "{news}");
        assert_eq!((&event["payload"]["pending"], &event["payload"]["policy"]), (&json!(3), &json!("pol-7")));
        let after = format!("{INBOX}?after={}", news["next"].as_str().unwrap());
        assert_eq!(inbox(&mut client, &after)["events"], json!([]), "nothing new since");

        // The client asks its user, who wants to submit now; the client then makes a separate call.
        let submitted = submit(&mut client, "december", |_, _| filled(json!({"receipts": ["r1", "r3"]})));
        assert_eq!(submitted.called.result()["structuredContent"]["cents"], 9695, "{}", submitted.called.result());
        assert_eq!(submitted.asked().len(), 1);
    }
}

#[test]
fn a_returning_client_continues_from_its_last_position() {
    let (server, address) = Server::start_http_in(home(), &config("policy.*"));
    let read = |uri: &str| {
        let response = http::modern(address, 3, "resources/read", json!({"uri": uri}), false);
        let answer = response.answer(3, Instant::now());
        serde_json::from_str::<Value>(answer.result()["contents"][0]["text"].as_str().unwrap()).unwrap()
    };
    let check = |now: &str| http::call(address, CHECK, json!({"now": now}), false).good();
    check("2026-11-30");
    let cursor = read(INBOX)["next"].as_str().unwrap().to_owned();
    // While the client is away, another policy is added.
    let policies = server.home.work().join("policies.csv");
    let text = fs::read_to_string(&policies).unwrap();
    fs::write(&policies, format!("{text}pol-8,2026-12-02,Lamps need oil\n")).unwrap();
    check("2026-12-01");
    let news = read(&format!("{INBOX}?after={cursor}"));
    let policies: Vec<_> = news["events"].as_array().unwrap().iter().map(|event| &event["payload"]["policy"]).collect();
    assert_eq!((policies, &news["dropped"]), (vec![&json!("pol-8")], &json!(0)));
}

#[test]
fn a_key_submits_once_in_both_eras() {
    for era in Era::ALL {
        let mut client = start(era);
        let first = submit(&mut client, "k", |_, params| {
            let choices = params["requestedSchema"]["properties"]["receipts"]["items"]["anyOf"].as_array().unwrap();
            assert_eq!(choices.len(), 3, "{params}");
            filled(json!({"receipts": ["r2"]}))
        });
        assert_eq!(
            first.called.result()["structuredContent"]["status"],
            "submitted",
            "{era:?}: {}",
            first.called.text()
        );
        let again = submit(&mut client, "k", |method, _| panic!("{method} was asked again"));
        let told = &again.called.result()["structuredContent"];
        assert_eq!(told["status"], "submitted-before");
        assert_eq!(told["receipts"], first.called.result()["structuredContent"]["receipts"]);
        let no = submit(&mut client, "other", |_, _| json!({"action": "decline"}));
        let wanted = json!({"status": "not-submitted", "reason": "the user declined"});
        assert_eq!(no.called.result()["structuredContent"], wanted);
        assert_eq!(submissions(&client.server.home), 1, "{era:?}");
    }
}

/// Sends one request of a modern client that supports forms.
fn submitting(address: SocketAddr, more: Value) -> Value {
    let mut params = json!({"name": SUBMIT, "arguments": {"idempotencyKey": "k"}, "_meta": modern_meta(false)});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", SUBMIT)];
    http::request(address, "POST", &headers, &body.to_string()).answer(1, Instant::now()).result().clone()
}

/// Two calls race with the same key: both users are asked and answer, and one of them gets what the other submitted.
#[test]
fn a_key_submits_once_when_two_calls_race() {
    let (server, address) = Server::start_http_in(home(), &config("policy.*"));
    let retries = ["r1", "r2"].map(|receipt| {
        let asked = submitting(address, json!({}));
        let keys = asked["inputRequests"].as_object().unwrap().keys();
        let responses: Value = keys.map(|key| (key.clone(), filled(json!({"receipts": [receipt]})))).collect();
        json!({"requestState": asked["requestState"], "inputResponses": responses})
    });
    let answers = retries.map(|retry| thread::spawn(move || submitting(address, retry)));
    let outcomes = answers.map(|answer| answer.join().unwrap()["structuredContent"].clone());
    let mut statuses = outcomes.each_ref().map(|outcome| outcome["status"].as_str().unwrap());
    statuses.sort_unstable();
    assert_eq!(statuses, ["submitted", "submitted-before"]);
    assert_eq!(outcomes[0]["receipts"], outcomes[1]["receipts"]);
    assert_eq!(submissions(&server.home), 1);
}

#[test]
fn events_outside_the_grant_or_over_the_limit_are_refused() {
    let mut other = client(home(), &config("travel.*"), Era::Modern, json!({}));
    let denied = other.call(CHECK, json!({"now": "2026-11-30"}));
    assert_eq!(denied.code(), "denied", "{}", denied.result());
    assert!(denied.text().ends_with("Ask the user, who alone can allow it"), "{}", denied.text());
    other.server.wait_for_log(r#"events = ["policy.effective"]"#);
    assert_eq!(inbox(&mut other, INBOX)["events"], json!([]));

    let home = home();
    let many: String = (0..100).map(|n| format!("flood-{n},2026-12-01,Another one\n")).collect();
    home.write("work/policies.csv", format!("id,effective,what\n{many}"));
    let mut flooded = client(home, &config("policy.*"), Era::Modern, json!({}));
    let called = flooded.call(CHECK, json!({"now": "2026-11-30"}));
    assert!(called.is_error(), "{}", called.result());
    let kept = inbox(&mut flooded, INBOX)["events"].as_array().unwrap().len();
    assert!((30..40).contains(&kept), "30 at once and one a second: {kept}");
}

#[test]
fn a_legacy_client_without_forms_still_gets_events() {
    let (_server, address) = Server::start_http_in(home(), &config("policy.*"));
    let session = legacy_session(address, false);
    let request = |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params}).to_string();
        legacy(address, &session, "POST", &[], &body).answer(5, Instant::now())
    };
    let called = request("tools/call", json!({"name": CHECK, "arguments": {"now": "2026-11-30"}}));
    assert!(called.notifications.is_empty(), "nothing is sent but the result: {:?}", called.notifications);
    let read = request("resources/read", json!({"uri": INBOX}));
    assert!(read.result()["contents"][0]["text"].as_str().unwrap().contains("pol-7"));
    let submit = Called(request("tools/call", json!({"name": SUBMIT, "arguments": {"idempotencyKey": "k"}})));
    assert_eq!(submit.code(), "unsupported");
}
