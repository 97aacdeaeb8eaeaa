//! Notifications of changes, in both revisions and over both transports.

use crate::reload::{edition, home, replace};
use serde_json::{Value, json};
use std::time::Instant;
use suite::{Client, Era, PATIENCE, Server, eventually, http};

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

fn subscription(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

#[test]
fn subscribers_get_only_the_changes_they_subscribed_to() {
    let (home, path, config) = home();
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    let tools = client.begin("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let first = client.notified();
    assert_eq!((&first["method"], subscription(&first)), (&json!(ACKNOWLEDGED), &json!(tools)), "{first}");
    assert_eq!(first["params"]["notifications"], json!({"toolsListChanged": true}));
    let wanted = json!({"promptsListChanged": true, "resourceSubscriptions": ["edition://text", "other://x"]});
    let rest = client.begin("subscriptions/listen", json!({"notifications": wanted}));
    assert_eq!(client.notified()["params"]["notifications"], wanted);
    let mut next = |letters: &str, count: usize| {
        replace(&path, &edition(letters));
        let told: Vec<_> = (0..count).map(|_| client.notified()).collect();
        let mut told: Vec<_> = told
            .iter()
            .map(|message| (message["method"].as_str().unwrap().to_owned(), subscription(message).as_u64().unwrap()))
            .collect();
        told.sort();
        told
    };
    let (tool, prompt, updated) = ((TOOLS.to_owned(), tools), (PROMPTS.to_owned(), rest), (UPDATED.to_owned(), rest));
    assert_eq!(next("BAAA", 1), std::slice::from_ref(&updated), "other code, the same lists");
    assert_eq!(next("CBAA", 2), [updated.clone(), tool]);
    assert_eq!(next("DBBA", 2), [prompt, updated.clone()]);
    assert_eq!(next("EBBB", 1), [updated], "nobody asked for the list of resources");
    // Cancelling ends one of them.
    client.cancel(rest);
    client.run("edition", json!({}));
    replace(&path, &edition("FCCC"));
    let last = client.notified();
    assert_eq!((&last["method"], subscription(&last)), (&json!(TOOLS), &json!(tools)), "{last}");
}

#[test]
fn a_stream_over_http_gets_changes() {
    let (home, path, config) = home();
    let (_server, address) = Server::start_http_in(home, &config);
    let wanted = json!({"resourcesListChanged": true, "resourceSubscriptions": ["edition://text"]});
    let mut stream = http::modern(address, 9, "subscriptions/listen", json!({"notifications": wanted}), false);
    assert_eq!(stream.status, 200);
    assert_eq!(stream.message().unwrap()["method"], ACKNOWLEDGED);
    replace(&path, &edition("BBBB"));
    let told = [stream.message().unwrap(), stream.message().unwrap()];
    assert!(told.iter().all(|message| subscription(message) == 9), "{told:?}");
    assert_eq!((&told[0]["method"], &told[1]["method"]), (&json!(RESOURCES), &json!(UPDATED)));
    assert_eq!(told[1]["params"]["uri"], "edition://text");
    let sent = Instant::now();
    let read = http::modern(address, 10, "resources/read", json!({"uri": "edition://text"}), false).answer(10, sent);
    assert_eq!(read.result()["contents"][0]["text"], "edition=B");
}

#[test]
fn older_clients_get_changes_on_their_connection() {
    let (home, path, config) = home();
    let mut client = Client::new(Server::start_in(home, &config), Era::Legacy, false);
    let uri = json!({"uri": "edition://text"});
    assert_eq!(client.request("resources/subscribe", uri.clone()).result(), &json!({}));
    let told = |client: &mut Client, letters: &str, count: usize| {
        replace(&path, &edition(letters));
        let told: Vec<_> = (0..count).map(|_| client.notified()).collect();
        told.iter().map(|message| message["method"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&mut client, "BBBB", 4), [TOOLS, PROMPTS, RESOURCES, UPDATED]);
    assert_eq!(told(&mut client, "CBBC", 2), [RESOURCES, UPDATED]);
    assert_eq!(client.request("resources/unsubscribe", uri).result(), &json!({}));
    assert_eq!(told(&mut client, "DCBC", 1), [TOOLS]);
    assert_eq!(told(&mut client, "EDBC", 1), [TOOLS], "an update in between would have come first");
    for (method, code) in [("subscriptions/listen", -32601), ("resources/subscribe", -32602)] {
        let params = json!({"notifications": {}, "uri": "x:".to_owned() + &"y".repeat(3_000)});
        assert_eq!(client.request(method, params).error_code(), code, "{method}");
    }
}

#[test]
fn older_http_sessions_get_changes_on_their_stream() {
    let (home, path, config) = home();
    let (_server, address) = Server::start_http_in(home, &config);
    let session = http::legacy_session(address, false);
    let mut headers: Vec<_> = session.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "edition://text"}});
    let sent = Instant::now();
    assert_eq!(http::request(address, "POST", &headers, &body.to_string()).answer(1, sent).result(), &json!({}));
    headers.push(("Accept", "text/event-stream"));
    let mut stream = http::request(address, "GET", &headers, "");
    assert_eq!(stream.status, 200);
    replace(&path, &edition("BBAA"));
    assert_eq!(stream.message().unwrap()["method"], TOOLS);
    assert_eq!(stream.message().unwrap()["params"]["uri"], "edition://text");
}

#[test]
fn modern_clients_cannot_use_old_subscriptions_and_new_ones_are_limited() {
    let (home, _, config) = home();
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    assert_eq!(client.request("resources/subscribe", json!({"uri": "edition://text"})).error_code(), -32601);
    let uris: Vec<_> = (0..300).map(|n| format!("x:{n}")).collect();
    let first = client.begin("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}));
    let accepted = client.notified();
    assert_eq!(accepted["params"]["notifications"]["resourceSubscriptions"].as_array().unwrap().len(), 256);
    let mut open = vec![first];
    for _ in 0..255 {
        open.push(client.begin("subscriptions/listen", json!({"notifications": {}})));
        assert_eq!(client.notified()["method"], ACKNOWLEDGED);
    }
    open.push(client.begin("subscriptions/listen", json!({"notifications": {}})));
    // They are counted in tasks of their own, whose order nobody promises: one of them is refused, mostly the last.
    let refused = eventually(PATIENCE, || open.iter().copied().find(|id| client.is_answered(*id)));
    let refused = client.wait(refused.expect("one is refused"), Instant::now());
    assert_eq!(refused.error_code(), -32600, "{}", refused.message);
    client.run("edition", json!({})).good();
}
